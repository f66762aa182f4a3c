//! Settings of an execution, chosen by the first bytes of an input.

use querist_data::{Format, Missing, ReadOptions, RequiredLabels, TableLocation};

/// A group of properties. An execution checks only one of them, which keeps executions cheap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Properties of the reader alone: records and faults.
    Reading,
    /// Properties of rows: encoders, blocks, the fast path.
    Loading,
}

/// A property of rows that an execution of [`Group::Loading`] checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// The fast path and the path cell by cell agree.
    Paths,
    /// The fitted encoder survives a round trip through JSON and reads the same rows again.
    Encoder,
    /// Blocks of any size give the same rows.
    Blocks,
    /// Other spellings of the same rows load the same, in formats that have any.
    Spelling,
}

/// The settings for reading the bytes after the header.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent")]
pub struct Settings {
    /// The properties to check.
    pub group: Group,
    /// The property of rows to check.
    pub property: Property,
    /// Skips rows with faults.
    pub skip_bad_rows: bool,
    /// Allows rows without a label.
    pub unlabeled: bool,
    /// Standardizes numbers.
    pub standardize: bool,
    /// The treatment of missing cells.
    pub missing: Missing,
    /// The kind of labels.
    pub required_labels: RequiredLabels,
    /// True if the first line is a record, in formats that have the choice.
    pub no_header: bool,
    /// The number of bytes that one read returns in the second pass.
    pub chunk_bytes: usize,
    /// The number of rows requested at once in the second pass.
    pub block_rows: usize,
}

impl Settings {
    /// Splits an input into settings and content; `None` if it is too short.
    pub fn split(data: &[u8]) -> Option<(Self, &[u8])> {
        let ([flags, sizes], content) = data.split_first_chunk()?;
        let set = |bit: u32| flags >> bit & 1 == 1;
        let settings = Self {
            group: if set(0) { Group::Loading } else { Group::Reading },
            property: [Property::Paths, Property::Encoder, Property::Blocks, Property::Spelling]
                [usize::from(sizes & 3)],
            skip_bad_rows: set(1),
            unlabeled: set(2),
            standardize: set(3),
            missing: [Missing::Error, Missing::Zero, Missing::Mean, Missing::Error][usize::from(flags >> 4 & 3)],
            required_labels: [
                RequiredLabels::Any,
                RequiredLabels::Number,
                RequiredLabels::Classes,
                RequiredLabels::Binary,
            ][usize::from(flags >> 6)],
            no_header: sizes >> 3 & 1 == 1,
            chunk_bytes: 1 + usize::from(sizes & 7),
            block_rows: 1 + usize::from(sizes >> 4),
        };
        Some((settings, content))
    }

    /// Returns the location of the table in a file of this format.
    pub fn table(&self, format: &str) -> TableLocation {
        TableLocation { no_header: self.no_header && matches!(format, "csv" | "xlsx"), sheet: None }
    }

    /// Returns the options of the data crate for a format.
    pub fn options(&self, format: &str) -> ReadOptions {
        ReadOptions {
            format: Format::named(format).ok(),
            table: self.table(format),
            required_labels: self.required_labels,
            missing: self.missing,
            standardize: self.standardize,
            hash_bits: 6,
            skip_bad_rows: self.skip_bad_rows,
            unlabeled: self.unlabeled,
            ..ReadOptions::default()
        }
    }
}
