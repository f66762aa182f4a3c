//! What a part has found.

use querist_report::Figure;

use crate::claim::Claim;

/// Claims, figures, tables and remarks, in the order they are to be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// The statements and their verdicts.
    pub claims: Vec<Claim>,
    /// The figures.
    pub plates: Vec<Plate>,
    /// Tables of numbers.
    pub tables: Vec<Table>,
    /// What a reader should know besides, in sentences.
    pub remarks: Vec<String>,
}

/// A figure and the name of its files.
#[derive(Clone, Debug, PartialEq)]
pub struct Plate {
    /// Lower case with hyphens, different from all other plates'.
    pub name: String,
    /// The figure; the numbers behind it are its series.
    pub figure: Figure,
}

/// A table of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Lower case with hyphens, different from all other tables'.
    pub name: String,
    /// What the table shows.
    pub caption: String,
    /// The names of the columns.
    pub header: Vec<String>,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
}

impl Findings {
    /// Adds a claim.
    pub fn claim(&mut self, claim: Claim) {
        self.claims.push(claim);
    }

    /// Adds a figure.
    pub fn plate(&mut self, name: impl Into<String>, figure: Figure) {
        self.plates.push(Plate { name: name.into(), figure });
    }
}
