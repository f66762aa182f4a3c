//! The header of an npy array: a dictionary in the syntax of Python.

use std::io::Read;

use super::super::fault;
use crate::error::DataFault;

/// The maximum length of a header in bytes.
const MOST_HEADER: usize = 1 << 16;

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) enum ElementType {
    /// Floats of 2, 4 or 8 bytes.
    Float(usize),
    /// Integers of 1, 2, 4 or 8 bytes.
    Signed(usize),
    /// Unsigned integers of 1, 2, 4 or 8 bytes.
    Unsigned(usize),
    /// One byte, zero or nonzero.
    Boolean,
    /// Texts of this many characters of 4 bytes each, padded with zeros.
    Text(usize),
    /// Texts of this many bytes, padded with zeros.
    Bytes(usize),
}

impl ElementType {
    /// Returns the size of an element in bytes; `None` if it overflows.
    pub(super) fn size(self) -> Option<usize> {
        match self {
            ElementType::Float(size)
            | ElementType::Signed(size)
            | ElementType::Unsigned(size)
            | ElementType::Bytes(size) => Some(size),
            ElementType::Boolean => Some(1),
            ElementType::Text(chars) => chars.checked_mul(4),
        }
    }
}

/// The contents of a header, and its length in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct NpyHeader {
    pub(super) element: ElementType,
    pub(super) big_endian: bool,
    pub(super) n_rows: u64,
    /// The length of a row of a table; `None` for a one-dimensional array.
    pub(super) dim: Option<usize>,
    /// True if a table is stored in column-major order.
    pub(super) by_columns: bool,
    pub(super) len: u64,
}

/// Reads the magic string, the version and the header.
pub(super) fn read(read: &mut dyn Read) -> Result<NpyHeader, DataFault> {
    let magic = exact::<8>(read)?;
    let [b'\x93', b'N', b'U', b'M', b'P', b'Y', version, _] = magic else {
        return Err(fault("the first bytes are not those of npy", "\\x93NUMPY", ""));
    };
    let (text_len, prefix) = match version {
        1 => (usize::from(u16::from_le_bytes(exact(read)?)), 10),
        2 | 3 => (u32::from_le_bytes(exact(read)?) as usize, 12),
        _ => return Err(fault(format!("npy version {version}"), "version 1, 2 or 3", "")),
    };
    if MOST_HEADER < text_len {
        return Err(fault(format!("a header of {text_len} bytes"), "at most 64 kB", ""));
    }
    let mut text = vec![0; text_len];
    read.read_exact(&mut text).map_err(|_| cut())?;
    let text = String::from_utf8(text).map_err(|_| fault("the header is not text", "", ""))?;
    parse(&text, prefix + text_len as u64)
}

fn exact<const N: usize>(read: &mut dyn Read) -> Result<[u8; N], DataFault> {
    let mut bytes = [0; N];
    read.read_exact(&mut bytes).map_err(|_| cut())?;
    Ok(bytes)
}

fn cut() -> DataFault {
    fault("the file ends within its header", "", "")
}

fn parse(text: &str, len: u64) -> Result<NpyHeader, DataFault> {
    let text = text.trim();
    let unclear =
        || fault(format!("the header `{}` cannot be parsed", text.escape_debug()), "descr, fortran_order, shape", "");
    let mut rest = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).ok_or_else(unclear)?;
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if rest.is_empty() {
            break;
        }
        let (key, after) = quoted(rest).ok_or_else(unclear)?;
        let after = after.trim_start().strip_prefix(':').ok_or_else(unclear)?.trim_start();
        rest = match key {
            "descr" if after.starts_with('[') => {
                return Err(fault("the array is structured", "numbers", "save each field as a separate array"));
            }
            "descr" => {
                let (value, after) = quoted(after).ok_or_else(unclear)?;
                descr = Some(value);
                after
            }
            "fortran_order" => {
                let after_true = after.strip_prefix("True");
                fortran = Some(after_true.is_some());
                after_true.or_else(|| after.strip_prefix("False")).ok_or_else(unclear)?
            }
            "shape" => {
                let (value, after) =
                    after.strip_prefix('(').and_then(|text| text.split_once(')')).ok_or_else(unclear)?;
                shape = Some(value);
                after
            }
            _ => return Err(unclear()),
        };
    }
    let (Some(descr), Some(fortran), Some(shape)) = (descr, fortran, shape) else {
        return Err(unclear());
    };
    let (element, big_endian) = element(descr)?;
    let (n_rows, dim) = rows(shape)?;
    if dim.is_some() && matches!(element, ElementType::Text(_) | ElementType::Bytes(_)) {
        return Err(fault("a table of texts", "a table of numbers, or texts in one dimension", ""));
    }
    Ok(NpyHeader { element, big_endian, n_rows, dim, by_columns: fortran && dim.is_some(), len })
}

/// Returns a quoted string and the text after it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|char| *char == '\'' || *char == '"')?;
    text[1..].split_once(quote)
}

fn element(descr: &str) -> Result<(ElementType, bool), DataFault> {
    let expected = "f2, f4, f8, i1 to i8, u1 to u8, b1, U or S";
    let unknown = || fault(format!("an array of type `{}`", descr.escape_debug()), expected, "convert it with astype");
    if descr.ends_with('O') {
        return Err(fault("an array of Python objects", expected, "convert it with astype before saving"));
    }
    let mut chars = descr.chars();
    let order = chars.next().filter(|char| "<>|=".contains(*char)).ok_or_else(unknown)?;
    let letter = chars.next().ok_or_else(unknown)?;
    let size: usize = chars.as_str().parse().map_err(|_| unknown())?;
    let element = match (letter, size) {
        ('f', 2 | 4 | 8) => ElementType::Float(size),
        ('i', 1 | 2 | 4 | 8) => ElementType::Signed(size),
        ('u', 1 | 2 | 4 | 8) => ElementType::Unsigned(size),
        ('b', 1) => ElementType::Boolean,
        ('U', 1..) => ElementType::Text(size),
        ('S', 1..) => ElementType::Bytes(size),
        _ => return Err(unknown()),
    };
    Ok((element, order == '>'))
}

/// Parses a shape into the number of rows and, if there are two dimensions, the length of each.
fn rows(shape: &str) -> Result<(u64, Option<usize>), DataFault> {
    let unusual = |hint| fault(format!("an array of shape ({})", shape.escape_debug()), "one or two dimensions", hint);
    let mut sizes = Vec::new();
    for size in shape.split(',').map(str::trim).filter(|size| !size.is_empty()) {
        // Python 2 wrote long integers with an L.
        let size: u64 = size.trim_end_matches('L').parse().map_err(|_| unusual(""))?;
        sizes.push(size);
    }
    match sizes[..] {
        [n_rows] => Ok((n_rows, None)),
        [_, dim] if dim == 0 || u64::from(u32::MAX) < dim => Err(unusual("")),
        [n_rows, dim] => Ok((n_rows, Some(dim as usize))),
        _ => Err(unusual("convert it to rows with reshape")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Headers as `NumPy` writes them, and their contents.
    #[test]
    fn headers_are_parsed() {
        let header = |element, big_endian, n_rows, dim| NpyHeader {
            element,
            big_endian,
            n_rows,
            dim,
            by_columns: false,
            len: 7,
        };
        let table = [
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  \n",
                header(ElementType::Float(4), false, 3, Some(4)),
            ),
            (
                "{'descr': '>i8', 'fortran_order': True, 'shape': (5,), }\n",
                header(ElementType::Signed(8), true, 5, None),
            ),
            (
                "{\"shape\": (7L,), 'fortran_order': False, 'descr': '|b1'}",
                header(ElementType::Boolean, false, 7, None),
            ),
            ("{'descr': '<U3', 'fortran_order': False, 'shape': (0,), }", header(ElementType::Text(3), false, 0, None)),
            (
                "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1)}",
                header(ElementType::Unsigned(1), false, 2, Some(1)),
            ),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text, 7), Ok(expected), "{text}");
        }
    }

    /// Headers that are rejected, and part of the reason.
    #[test]
    fn invalid_headers_are_rejected_with_a_reason() {
        let table = [
            ("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", "Python objects"),
            ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }", "structured"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }", "shape (-3,)"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0), }", "shape (3, 0)"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "shape ()"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }", "shape (1, 2, 3)"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "shape (9"),
            ("{'descr': '<f3', 'fortran_order': False, 'shape': (3,), }", "`<f3`"),
            ("{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }", "`<c8`"),
            ("{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (3,), }", "`<M8[ns]`"),
            ("{'descr': '<U3', 'fortran_order': False, 'shape': (3, 2), }", "table of texts"),
            ("{'descr': '<f4', 'shape': (3,), }", "cannot be parsed"),
            ("{'descr': '<f4', 'fortran_order': maybe, 'shape': (3,), }", "cannot be parsed"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}", "cannot be parsed"),
            ("'descr'", "cannot be parsed"),
            ("", "cannot be parsed"),
        ];
        for (text, reason) in table {
            let result = parse(text, 7);
            assert!(result.as_ref().is_err_and(|fault| fault.found.contains(reason)), "{text}: {result:?}");
        }
    }
}
