//! The findings of a part.

use querist_report::Figure;

use crate::claim::PaperClaim;

/// Claims, figures, tables and remarks, in reading order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// The statements and their verdicts.
    pub claims: Vec<PaperClaim>,
    /// The figures.
    pub plates: Vec<Plate>,
    /// Tables of numbers.
    pub tables: Vec<FindingsTable>,
    /// Further notes for the reader, in sentences.
    pub remarks: Vec<String>,
}

/// A figure and the name of its files.
#[derive(Clone, Debug, PartialEq)]
pub struct Plate {
    /// The name in lower case with hyphens, unique among all plates.
    pub name: String,
    /// The figure; its series are the underlying numbers.
    pub figure: Figure,
}

/// A table of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingsTable {
    /// The name in lower case with hyphens, unique among all tables.
    pub name: String,
    /// The caption.
    pub caption: String,
    /// The column names.
    pub header: Vec<String>,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
}

impl Findings {
    /// Adds a claim.
    pub fn claim(&mut self, claim: PaperClaim) {
        self.claims.push(claim);
    }

    /// Adds a figure.
    pub fn plate(&mut self, name: impl Into<String>, figure: Figure) {
        self.plates.push(Plate { name: name.into(), figure });
    }
}
