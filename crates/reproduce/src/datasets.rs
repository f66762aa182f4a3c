//! The data of the experiments, embedded in the program, so that a run needs no file.

use std::sync::Arc;

use querist_data::{Input, ReadOptions, RequiredLabels};
use querist_engine::coin::{Coin, shuffled};
use querist_engine::stats::mean;
use querist_rows::Features;
use querist_rows::{DenseRows, Rows};

/// Rows as in the file, with one-hot categories, and labels: 0 … K−1, or numbers.
pub(crate) struct Dataset {
    rows: DenseRows,
    labels: Vec<f64>,
    /// The number of classes K, or 0 for regression.
    pub classes: usize,
}

/// Rows with their labels.
pub(crate) struct Labeled {
    pub rows: Rows,
    pub labels: Vec<f64>,
}

/// A training part of four fifths and a test part of one fifth.
pub(crate) struct DataSplit {
    pub train: Labeled,
    pub test: Labeled,
}

impl Dataset {
    pub(crate) fn dry_bean() -> Self {
        Self::read("dry_bean.csv.gz", querist_datasets::DRY_BEAN_CSV_GZ, "label")
    }

    pub(crate) fn waveform() -> Self {
        Self::read("waveform.csv", querist_datasets::WAVEFORM_CSV, "label")
    }

    pub(crate) fn toxicity() -> Self {
        Self::read("qsar_aquatic_toxicity.csv", querist_datasets::QSAR_AQUATIC_TOXICITY_CSV, "target")
    }

    /// Loads the forest fires with the target log(1 + area): half of the fires burnt nothing and a few burnt nearly
    /// everything.
    pub(crate) fn forest_fires() -> Self {
        let fires = Self::read("forest_fires.csv", querist_datasets::FOREST_FIRES_CSV, "target");
        Self { labels: fires.labels.iter().map(|area| area.ln_1p()).collect(), ..fires }
    }

    /// Reproduces the data of the authors' code: the columns of categories came after the burnt area, and the last
    /// column, "the day is Wednesday", became the target.
    pub(crate) fn forest_wednesdays() -> Self {
        let fires = Self::forest_fires();
        let dim = fires.rows.dim();
        let count = |j: &usize| (0..fires.len()).filter(|index| fires.rows.row(*index)[*j] == 1.0).count();
        // The days are the last seven features. Of 517 fires, 54 were on a Wednesday, a count no other day has.
        let wednesday = (dim - 7..dim).find(|j| count(j) == 54).expect("54 fires on Wednesdays");
        let mut rows = DenseRows::new(dim);
        for (index, area) in fires.labels.iter().enumerate() {
            let mut row = fires.rows.row(index).to_vec();
            row[wednesday] = *area as f32;
            rows.push(&row);
        }
        let labels = (0..fires.len()).map(|index| f64::from(fires.rows.row(index)[wednesday])).collect();
        Self { rows, labels, classes: 0 }
    }

    fn read(name: &str, bytes: &[u8], label: &str) -> Self {
        let options = ReadOptions {
            id: Some("id".to_owned()),
            label: Some(label.to_owned()),
            required_labels: if label == "target" { RequiredLabels::Number } else { RequiredLabels::Classes },
            standardize: false,
            ..ReadOptions::default()
        };
        let input = Input::Bytes { name: name.to_owned(), bytes: Arc::from(bytes) };
        let loaded = querist_data::load(&input, &options).expect("the data in the program can be read");
        let Rows::Dense(rows) = loaded.batch.rows else { unreachable!("numbers and a few categories are dense") };
        Self { rows, labels: loaded.batch.labels, classes: loaded.encoder.classes().len() }
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    /// Draws a random split of at most `most` rows. Features are scaled to [0, 1] by the range of the training part.
    pub(crate) fn split(&self, coin: Coin, most: usize) -> DataSplit {
        let order: Vec<usize> = shuffled(coin, self.len()).into_iter().take(most).map(|row| row as usize).collect();
        let (test, train) = order.split_at(order.len() / 5);
        let scale = MinMax::of(&self.rows, train);
        let labeled = |indices: &[usize]| {
            let mut rows = DenseRows::new(self.rows.dim());
            for index in indices {
                rows.push(self.rows.row(*index));
            }
            Labeled {
                rows: Rows::Dense(scale.scaled(&rows)),
                labels: indices.iter().map(|index| self.labels[*index]).collect(),
            }
        };
        DataSplit { train: labeled(train), test: labeled(test) }
    }
}

impl DataSplit {
    /// Appends every product of two features, in which a polynomial kernel of degree 2 is linear.
    pub(crate) fn with_products(self) -> Self {
        let widened = |part: Labeled| {
            let Rows::Dense(rows) = part.rows else { unreachable!("splits are dense") };
            let dim = rows.dim();
            let mut wide = DenseRows::new(dim + dim * (dim + 1) / 2);
            for row in 0..rows.len() {
                let x = rows.row(row);
                let products = (0..dim).flat_map(|i| (0..=i).map(move |j| x[i] * x[j]));
                wide.push(&x.iter().copied().chain(products).collect::<Vec<f32>>());
            }
            Labeled { rows: Rows::Dense(wide), labels: part.labels }
        };
        Self { train: widened(self.train), test: widened(self.test) }
    }

    /// Subtracts the mean target of the training part from all targets.
    pub(crate) fn centered(&self) -> Self {
        let mean = mean(&self.train.labels);
        let shifted = |part: &Labeled| Labeled {
            rows: part.rows.clone(),
            labels: part.labels.iter().map(|label| label - mean).collect(),
        };
        Self { train: shifted(&self.train), test: shifted(&self.test) }
    }
}

/// The minimum and maximum of each feature.
struct MinMax {
    ends: Vec<(f32, f32)>,
}

impl MinMax {
    fn of(rows: &DenseRows, indices: &[usize]) -> Self {
        let mut ends = vec![(f32::INFINITY, f32::NEG_INFINITY); rows.dim()];
        for index in indices {
            rows.row(*index).each(|j, x| ends[j] = (ends[j].0.min(x as f32), ends[j].1.max(x as f32)));
        }
        Self { ends }
    }

    fn scaled(&self, rows: &DenseRows) -> DenseRows {
        let scaled = rows.values().iter().zip(self.ends.iter().cycle()).map(|(x, (low, high))| {
            // A feature that is constant in the training part carries no information.
            if low < high { (x - low) / (high - low) } else { 0.0 }
        });
        DenseRows::from_values(rows.dim(), scaled.collect()).expect("as many values as before")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datasets_have_the_documented_shape() {
        for (data, rows, features, classes) in [
            (Dataset::dry_bean(), 13_611, 16, 7),
            (Dataset::waveform(), 5_000, 21, 3),
            (Dataset::toxicity(), 546, 8, 0),
            // Ten numbers, twelve months, seven days.
            (Dataset::forest_fires(), 517, 29, 0),
        ] {
            assert_eq!((data.len(), data.rows.dim(), data.classes), (rows, features, classes));
        }
        let fires = Dataset::forest_fires();
        let untouched = fires.labels.iter().filter(|area| **area == 0.0).count();
        assert_eq!(untouched, 247, "the target is the burnt area");
    }

    #[test]
    fn splits_are_scaled_by_their_training_part() {
        let split = Dataset::toxicity().split(Coin::new(1, "split"), usize::MAX);
        assert_eq!((split.train.rows.len(), split.test.rows.len()), (437, 109));
        let Rows::Dense(train) = &split.train.rows else { panic!("dense") };
        for j in 0..train.dim() {
            let column = || (0..train.len()).map(|row| train.row(row)[j]);
            assert_eq!((column().fold(f32::MAX, f32::min), column().fold(f32::MIN, f32::max)), (0.0, 1.0));
        }
    }
}
