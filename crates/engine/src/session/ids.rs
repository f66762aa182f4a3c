//! Ids of asks and answers, rows of the pool, and values of labels.

use std::fmt::{self, Debug, Display};
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
use std::slice;

use serde::{Deserialize, Serialize};

use crate::exact;

/// An id that counts from 1 without gaps.
pub(super) trait SequentialId: Copy {
    /// Creates the id with this number.
    fn from_number(number: u64) -> Self;

    /// Returns the number.
    fn number(self) -> u64;
}

macro_rules! sequential_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            /// Creates the id with this number.
            pub const fn new(number: u64) -> Self {
                Self(number)
            }

            /// Returns the number.
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl SequentialId for $name {
            fn from_number(number: u64) -> Self {
                Self(number)
            }

            fn number(self) -> u64 {
                self.0
            }
        }

        impl Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Debug::fmt(&self.0, f)
            }
        }

        impl Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Display::fmt(&self.0, f)
            }
        }
    };
}

sequential_id! {
    /// The number of an ask, from 1 without gaps.
    AskId
}

sequential_id! {
    /// The number of an answer or of a withdrawal, which are counted together, from 1 without gaps.
    AnswerId
}

/// The index of a row of the pool, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(pub usize);

/// The value of a label: −1 or +1 for two classes, the index of one of K classes, or a number.
///
/// ```
/// use querist_engine::session::LabelValue;
/// use querist_engine::task::Labels;
///
/// let label = LabelValue(Labels::Binary.label(0));
/// assert_eq!(label, LabelValue(-1.0));
/// assert_eq!(label.to_string(), "-1");
/// ```
#[derive(Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct LabelValue(#[serde(with = "exact")] pub f64);

impl Debug for LabelValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.0, f)
    }
}

impl Display for LabelValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

/// A list of elements with consecutive ids, from 1.
#[derive(Clone, Debug)]
pub(super) struct IdVec<I, T> {
    elements: Vec<T>,
    ids: PhantomData<I>,
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self { elements: vec![], ids: PhantomData }
    }
}

impl<I: SequentialId, T> IdVec<I, T> {
    /// Reserves capacity for this many more elements.
    pub(super) fn reserve(&mut self, additional: usize) {
        self.elements.reserve(additional);
    }

    /// Returns the number of elements.
    pub(super) fn len(&self) -> usize {
        self.elements.len()
    }

    /// Returns the id of the element that [`Self::push`] adds next.
    pub(super) fn next_id(&self) -> I {
        I::from_number(self.elements.len() as u64 + 1)
    }

    /// Adds an element and returns its id.
    pub(super) fn push(&mut self, element: T) -> I {
        let id = self.next_id();
        self.elements.push(element);
        id
    }

    /// Returns the element with this id, if there is one.
    pub(super) fn get(&self, id: I) -> Option<&T> {
        self.elements.get(index(id)?)
    }

    /// Returns whether there is an element with this id.
    pub(super) fn contains(&self, id: I) -> bool {
        self.get(id).is_some()
    }

    /// Iterates over the elements in the order of their ids.
    pub(super) fn iter(&self) -> slice::Iter<'_, T> {
        self.elements.iter()
    }
}

/// Returns the index of the element with this id. Clients can send any number, so an id can be 0 or too large.
fn index(id: impl SequentialId) -> Option<usize> {
    usize::try_from(id.number()).ok()?.checked_sub(1)
}

impl<I: SequentialId, T> Index<I> for IdVec<I, T> {
    type Output = T;

    fn index(&self, id: I) -> &T {
        &self.elements[index(id).expect("ids start at 1")]
    }
}

impl<I: SequentialId, T> IndexMut<I> for IdVec<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.elements[index(id).expect("ids start at 1")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_labels_print_as_numbers() {
        let printed = format!("{:?} {} {:?}", AskId::new(7), AnswerId::new(8), LabelValue(1.0));
        assert_eq!(printed, "7 8 1.0");
    }

    #[test]
    fn an_id_of_zero_or_beyond_the_end_has_no_element() {
        let mut list: IdVec<AskId, &str> = IdVec::default();
        assert_eq!(list.push("first"), AskId::new(1));
        assert_eq!((list[AskId::new(1)], list.next_id()), ("first", AskId::new(2)));
        for missing in [0, 2, u64::MAX] {
            assert_eq!(list.get(AskId::new(missing)), None);
        }
    }
}
