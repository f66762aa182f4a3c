//! The encoding of a pool's rows as features, the same as that of the model even if columns have other names.

use crate::encoder::{Coding, EncodedColumn, Encoder, absent};
use crate::error::{DataError, DataFault};
use crate::format::Opener;
use crate::input::Input;
use crate::options::{Missing, ReadOptions};
use crate::roles::Roles;
use crate::scaling::ColumnScale;
use crate::source::Column;
use crate::text::Frequencies;

use super::PoolFiles;

/// The columns of a pool that are read, and the encoding of their cells.
#[derive(Clone, Debug)]
pub struct PoolEncoder {
    pub(super) encoder: Encoder,
}

impl PoolEncoder {
    /// Uses a model's encoder. `id` names another column of ids, `features` a column of vectors that holds all
    /// features in the model's order.
    pub fn new(encoder: &Encoder, id: Option<&str>, features: Option<&str>) -> Result<Self, DataFault> {
        let mut encoder = encoder.clone();
        // A pool has no labels.
        encoder.labels = None;
        if let Some(column) = features {
            let coding = Coding::Scaled(scales(&encoder)?);
            encoder.fields = vec![EncodedColumn { column: column.to_owned(), coding }];
        }
        if let Some(id) = id {
            encoder.id = Some(id.to_owned());
        }
        match encoder.fields.iter().find(|field| encoder.id.as_ref() == Some(&field.column)) {
            Some(field) => Err(DataFault::new(format!("`{}` holds features and ids", field.column), "a column of ids")),
            None => Ok(Self { encoder }),
        }
    }

    /// Reads a column of vectors of length `dim` without scaling, for a model without named columns.
    pub fn of_vectors(column: &str, dim: usize, id: Option<&str>) -> Result<Self, DataFault> {
        Self::plain(vec![EncodedColumn { column: column.to_owned(), coding: Coding::Vector(dim) }], dim, id)
    }

    /// Reads a column for each feature without scaling, for a model without named columns.
    pub fn of_columns(columns: &[String], id: Option<&str>) -> Result<Self, DataFault> {
        let field = |column: &String| EncodedColumn { column: column.clone(), coding: Coding::Part };
        Self::plain(columns.iter().map(field).collect(), columns.len(), id)
    }

    fn plain(fields: Vec<EncodedColumn>, dim: usize, id: Option<&str>) -> Result<Self, DataFault> {
        let options = ReadOptions { standardize: false, missing: Missing::Error, ..ReadOptions::default() };
        let roles = Roles { columns: vec![] };
        let mut encoder = Encoder::bare(&roles, &options, String::new());
        (encoder.fields, encoder.dim, encoder.frequencies) = (fields, dim, Frequencies::default());
        Self::new(&encoder, id, None)
    }

    /// Chooses the ids of a pool if none were specified: a column `id`, or the row numbers of a single file.
    pub fn with_ids_of(mut self, pool: &PoolFiles) -> Result<Self, DataError> {
        if self.encoder.id.is_some() {
            return Ok(self);
        }
        let Some(first) = pool.files().first() else { return Ok(self) };
        let opener = Opener::new(&Input::File(first.clone()), None, self.encoder.hash_bits, &self.encoder.table)?;
        let names: Vec<String> =
            opener.look(&self.encoder.columns())?.columns().iter().map(|column| column.name.clone()).collect();
        self.guess_id(names.iter().map(String::as_str));
        if self.encoder.id.is_none() && 1 < pool.files().len() {
            let fault = DataFault::new(
                "rows of several files without ids",
                "a column of ids that does not depend on the \
                     row's position",
            );
            return Err(fault.hint("name it with --id COLUMN").of_file(opener.file()));
        }
        Ok(self)
    }

    /// Uses the column `id` for the ids if it exists and none was named.
    pub fn guess_id<'n>(&mut self, mut names: impl Iterator<Item = &'n str>) {
        let is_free = |name: &str| self.encoder.fields.iter().all(|field| field.column != name);
        if self.encoder.id.is_none() && is_free("id") && names.any(|name| name == "id") {
            self.encoder.id = Some("id".to_owned());
        }
    }

    /// Returns the column of ids, if there is one.
    pub fn id(&self) -> Option<&str> {
        self.encoder.id.as_deref()
    }

    /// Returns the number of features of a row.
    pub fn dim(&self) -> usize {
        self.encoder.dim
    }

    /// Returns the names of the columns that are read.
    pub fn columns(&self) -> Vec<String> {
        self.encoder.columns()
    }

    /// Returns the positions of the columns that are read, in ascending order.
    pub(super) fn positions(&self, columns: &[Column]) -> Result<Vec<usize>, DataFault> {
        let find = |name: &String| {
            let position = columns.iter().position(|column| column.name == *name);
            position.ok_or_else(|| absent(name, columns))
        };
        let positions: Result<Vec<usize>, DataFault> = self.encoder.columns().iter().map(find).collect();
        let mut positions = positions?;
        positions.sort_unstable();
        Ok(positions)
    }
}

/// Returns the scale of each feature if all of them are numbers.
fn scales(encoder: &Encoder) -> Result<Vec<ColumnScale>, DataFault> {
    let mut scales = vec![];
    for field in &encoder.fields {
        match &field.coding {
            Coding::Number(scale) => scales.push(scale.of_whole_numbers()),
            Coding::Part => scales.push(ColumnScale::PLAIN),
            Coding::Vector(length) => scales.resize(scales.len() + length, ColumnScale::PLAIN),
            Coding::Scaled(more) => scales.extend(more),
            Coding::OneHot(_) | Coding::Hashed | Coding::Text | Coding::Features => {
                let found = format!("the model learned from the column `{}`, which holds no numbers", field.column);
                return Err(DataFault::new(found, "a model of numbers, for a column of vectors"));
            }
        }
    }
    Ok(scales)
}
