//! Growable arrays of numbers. Large ones use large pages, because random reads and full scans otherwise also wait for
//! the page tables of small pages.

use std::fmt;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;

/// A growable array of numbers that is never in memory twice.
pub struct Numbers<T = f32>(NumberStorage<T>);

enum NumberStorage<T> {
    Heap(Vec<T>),
    /// A large reserved address range. Memory is committed page by page, when it is written.
    Mapped {
        map: MmapMut,
        len: usize,
    },
}

/// The number of 4-byte values, 32 MB, from which large pages are used. The last large page of 2 MB may be nearly
/// empty.
const LARGE: usize = 8 << 20;
/// The number of values per piece when values move from the heap, which frees memory piece by piece.
const PIECE: usize = 512 << 10;
/// The reserved address range in bytes, one tebibyte. It uses only addresses, and there are a hundred times as many.
const ROOM: u64 = 1 << 40;

impl<T: Pod> Numbers<T> {
    /// Makes an empty array.
    pub const fn new() -> Self {
        Self(NumberStorage::Heap(Vec::new()))
    }

    /// Appends these values.
    pub fn extend_from_slice(&mut self, more: &[T]) {
        self.grow(more.len());
        match &mut self.0 {
            NumberStorage::Heap(values) => values.extend_from_slice(more),
            NumberStorage::Mapped { map, len } => {
                numbers_mut(map)[*len..*len + more.len()].copy_from_slice(more);
                *len += more.len();
            }
        }
    }

    /// Reserves space for exactly this many more values.
    pub fn reserve(&mut self, more: usize) {
        self.map_if_large(more);
        if let NumberStorage::Heap(values) = &mut self.0 {
            values.reserve_exact(more);
        }
    }

    /// Removes all values and keeps the space.
    pub fn clear(&mut self) {
        match &mut self.0 {
            NumberStorage::Heap(values) => values.clear(),
            NumberStorage::Mapped { len, .. } => *len = 0,
        }
    }

    /// Returns the values on the heap, copied there if necessary.
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            NumberStorage::Heap(values) => values,
            NumberStorage::Mapped { .. } => self.to_vec(),
        }
    }

    /// Makes space for more values. Space on the heap doubles up to a million values and then grows by a sixteenth. So
    /// an array that fills the memory does not need it twice, and a block of a stream is not copied repeatedly.
    #[inline]
    fn grow(&mut self, more: usize) {
        if let NumberStorage::Heap(values) = &self.0
            && values.capacity() - values.len() < more
        {
            let len = values.len();
            self.reserve(more.max(len / 16).max(len.min(1 << 20)));
        }
    }

    #[cold]
    fn map_if_large(&mut self, more: usize) {
        let NumberStorage::Heap(values) = &mut self.0 else { return };
        if values.len() + more < LARGE {
            return;
        }
        // Systems that count address space as memory refuse this; the heap then serves.
        let Some(mut map) = address_space() else { return };
        let (len, room) = (values.len(), numbers_mut(&mut map));
        while !values.is_empty() {
            let from = (values.len() - 1) / PIECE * PIECE;
            room[from..values.len()].copy_from_slice(&values[from..]);
            values.truncate(from);
            values.shrink_to_fit();
        }
        self.0 = NumberStorage::Mapped { map, len };
    }
}

/// A fixed number of values, initially zero. Large arrays use large pages.
pub struct Zeros(ZeroStorage);

enum ZeroStorage {
    Heap(Vec<f64>),
    Mapped(MmapMut),
}

impl Zeros {
    /// The number of values, 2 MB, from which large pages are used.
    const LARGE: usize = 256 << 10;

    /// Makes an array of this many zeros.
    pub fn new(len: usize) -> Self {
        let mapped = if len < Self::LARGE { None } else { large_pages(len.next_multiple_of(Self::LARGE)) };
        Self(mapped.map_or_else(|| ZeroStorage::Heap(vec![0.0; len]), ZeroStorage::Mapped))
    }
}

impl Deref for Zeros {
    type Target = [f64];

    #[inline]
    fn deref(&self) -> &[f64] {
        match &self.0 {
            ZeroStorage::Heap(values) => values,
            ZeroStorage::Mapped(map) => bytemuck::cast_slice(map),
        }
    }
}

impl DerefMut for Zeros {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f64] {
        match &mut self.0 {
            ZeroStorage::Heap(values) => values,
            ZeroStorage::Mapped(map) => bytemuck::cast_slice_mut(map),
        }
    }
}

impl fmt::Debug for Zeros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Allocates zeros in large pages.
#[cfg(target_os = "linux")]
fn large_pages(len: usize) -> Option<MmapMut> {
    let map = MmapMut::map_anon(len * size_of::<f64>()).ok()?;
    map.advise(memmap2::Advice::HugePage).ok()?;
    Some(map)
}

#[cfg(not(target_os = "linux"))]
fn large_pages(_len: usize) -> Option<MmapMut> {
    None
}

#[cfg(target_os = "linux")]
fn address_space() -> Option<MmapMut> {
    let room = usize::try_from(ROOM).ok()?;
    let map = memmap2::MmapOptions::new().len(room).no_reserve_swap().map_anon().ok()?;
    map.advise(memmap2::Advice::HugePage).ok()?;
    Some(map)
}

/// Returns `None`: other systems may count reserved space as used, and offer no way to request large pages.
#[cfg(not(target_os = "linux"))]
fn address_space() -> Option<MmapMut> {
    None
}

fn numbers_mut<T: Pod>(map: &mut MmapMut) -> &mut [T] {
    bytemuck::cast_slice_mut(map)
}

impl<T: Pod> Deref for Numbers<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            NumberStorage::Heap(values) => values,
            NumberStorage::Mapped { map, len } => &bytemuck::cast_slice(map)[..*len],
        }
    }
}

impl<T: Pod> DerefMut for Numbers<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            NumberStorage::Heap(values) => values,
            NumberStorage::Mapped { map, len } => &mut numbers_mut(map)[..*len],
        }
    }
}

impl<T> From<Vec<T>> for Numbers<T> {
    fn from(values: Vec<T>) -> Self {
        Self(NumberStorage::Heap(values))
    }
}

impl<T: Pod> Default for Numbers<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Pod> Clone for Numbers<T> {
    fn clone(&self) -> Self {
        let mut same = Self::new();
        same.reserve(self.len());
        same.extend_from_slice(self);
        same
    }
}

impl<T: Pod + PartialEq> PartialEq for Numbers<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Numbers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_mapped(numbers: &Numbers) -> bool {
        matches!(numbers.0, NumberStorage::Mapped { .. })
    }

    #[test]
    fn large_arrays_keep_their_values() {
        let piece: Vec<f32> = (0..100_003_u32).map(|i| i as f32).collect();
        let mut grown = Numbers::new();
        while grown.len() < LARGE + LARGE / 2 {
            grown.extend_from_slice(&piece);
        }
        assert!(grown.chunks_exact(piece.len()).all(|part| part == piece));
        let mut reserved = Numbers::new();
        reserved.reserve(LARGE);
        assert_eq!(is_mapped(&grown), is_mapped(&reserved));
        reserved.extend_from_slice(&grown);
        assert!(reserved == grown && grown.clone() == grown);
        reserved[3] = 0.5;
        assert!(reserved != grown && reserved[3] == 0.5);
        reserved.clear();
        assert!(reserved.is_empty());
        reserved.extend_from_slice(&piece);
        assert_eq!(reserved.into_vec(), piece);
    }

    #[test]
    fn few_numbers_stay_on_the_heap() {
        let mut few = Numbers::from(vec![1.0]);
        few.extend_from_slice(&[2.0, 3.0]);
        assert!(!is_mapped(&few));
        assert_eq!((few.into_vec(), Numbers::<u32>::default().len()), (vec![1.0, 2.0, 3.0], 0));
    }
}
