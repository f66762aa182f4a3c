//! Draws by the probabilities that another model wrote into a column.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use querist_data::pool::{PoolEncoder, PoolFiles, PoolVisitor};
use querist_data::{Batch, DataError, DataFault};
use serde_json::json;

use crate::model::Model;

/// The largest accepted deviation from 1 of the sum of a row's probabilities.
const SLACK: f64 = 1e-3;

impl Model {
    /// Returns the model whose only features are probabilities: a number, that of the second of two classes, or a list of
    /// `width` numbers, one for each class.
    ///
    /// # Errors
    /// If there are no classes.
    pub fn of_probabilities(width: usize) -> Result<Self, DataFault> {
        let outputs = if width <= 2 { 1 } else { width };
        // Scores are the numbers themselves; of two, the second.
        let mut parameters = vec![0.0; (width + 1) * outputs];
        match width {
            0 => return Err(DataFault::new("lists without probabilities", "one for each class")),
            1 | 2 => parameters[width - 1] = 1.0,
            _ => (0..width).for_each(|class| parameters[class * outputs + class] = 1.0),
        }
        let loss = if outputs == 1 { "logistic" } else { "cross-entropy" };
        let header = json!({"loss": loss, "rule": "boundary", "outputs": outputs, "encoder": null});
        let arrays = [("mean".to_owned(), parameters)];
        Model::new(&header.to_string(), &arrays).map_err(|error| DataFault::new(error.to_string(), ""))
    }
}

/// Computes scores from probabilities: logarithms, or the logit of one.
///
/// # Errors
/// If a row has no probabilities; it has the index of the row.
pub(super) fn to_scores(values: &[f64], outputs: usize, out: &mut Vec<f64>) -> Result<(), (usize, DataFault)> {
    out.clear();
    for (row, values) in values.chunks_exact(outputs).enumerate() {
        let sum: f64 = values.iter().sum();
        let is_distribution = outputs == 1 || (1.0 - SLACK..=1.0 + SLACK).contains(&sum);
        // NaN fails these comparisons.
        let most = if outputs == 1 { 1.0 } else { 1.0 + SLACK };
        if !(is_distribution && values.iter().all(|p| (0.0..=most).contains(p))) {
            let expected = "numbers from 0 to 1; those of a list add up to 1";
            return Err((row, DataFault::new("no probabilities", expected)));
        }
        match values {
            [p] => out.push(p.ln() - (1.0 - p).ln()),
            _ => out.extend(values.iter().map(|p| p.ln())),
        }
    }
    Ok(())
}

/// Returns the number of probabilities in each row of a column, if its type or its first row has it: 1 for numbers.
pub fn probability_width(kind: &DataType, first: Option<&ArrayRef>) -> Option<usize> {
    match kind {
        DataType::FixedSizeList(_, width) => usize::try_from(*width).ok(),
        DataType::List(_) => {
            let lists = first?.as_list::<i32>();
            (0..lists.len()).find(|row| lists.is_valid(*row)).map(|row| lists.value(row).len())
        }
        DataType::LargeList(_) => {
            let lists = first?.as_list::<i64>();
            (0..lists.len()).find(|row| lists.is_valid(*row)).map(|row| lists.value(row).len())
        }
        _ => Some(1),
    }
}

/// Returns the number of probabilities in each row of a column of files.
pub fn probability_width_of_files(pool: &PoolFiles, column: &str) -> Result<usize, DataError> {
    let recipe = PoolEncoder::of_columns(&[column.to_owned()], None).map_err(|fault| fault.of_file(&pool.name()))?;
    let mut peek = WidthPeek { column, width: None };
    for unit in pool.units()? {
        let read = unit.read(pool, &recipe, &mut peek);
        match (peek.width, read) {
            (Some(width), _) => return Ok(width),
            (None, Err(error)) => return Err(error),
            (None, Ok(())) => {}
        }
    }
    Err(DataFault::new(format!("no row has a value in the column `{column}`"), "probabilities").of_file(&pool.name()))
}

/// A visitor that reads until it knows the number of probabilities, and then stops by an error.
struct WidthPeek<'a> {
    column: &'a str,
    width: Option<usize>,
}

impl PoolVisitor for WidthPeek<'_> {
    fn begin(&mut self, name: &str, schema: &SchemaRef) -> Result<Vec<usize>, DataError> {
        let position = schema.fields().iter().position(|field| field.name() == self.column);
        let Some(position) = position else {
            let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            let expected = format!("one of {}", names.join(", "));
            return Err(DataFault::new(format!("no column `{}`", self.column), expected).of_file(name));
        };
        self.width = probability_width(schema.field(position).data_type(), None);
        if self.width.is_some() { Err(DataFault::new("found", "").of_file(name)) } else { Ok(vec![position]) }
    }

    fn batch(&mut self, batch: &RecordBatch, _before: u64, _position: u64) -> Result<(), DataError> {
        let array = batch.column_by_name(self.column);
        self.width = array.and_then(|array| probability_width(array.data_type(), Some(array)));
        if self.width.is_some() { Err(DataFault::new("found", "").of_file(self.column)) } else { Ok(()) }
    }

    fn rows(&mut self, name: &str, _rows: &Batch, _before: u64, _position: u64) -> Result<(), DataError> {
        // Formats that are not columnar have no lists.
        self.width = Some(1);
        Err(DataFault::new("found", "").of_file(name))
    }
}
