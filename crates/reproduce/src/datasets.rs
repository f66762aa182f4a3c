//! The data of the experiments; they are in the program, so that a run needs no file.

use std::sync::Arc;

use querist_data::{Input, Options, Wanted};
use querist_engine::coin::{Coin, shuffled};
use querist_rows::Features;
use querist_rows::{DenseRows, Rows};

/// Rows as they are in the file, categories one-hot, and the labels: 0 … K−1, or numbers.
pub(crate) struct Dataset {
    rows: DenseRows,
    labels: Vec<f64>,
    /// K; 0 for numbers.
    pub classes: usize,
}

/// Rows with their labels.
pub(crate) struct Labeled {
    pub rows: Rows,
    pub labels: Vec<f64>,
}

/// Four parts to learn from and one to be judged on.
pub(crate) struct Split {
    pub train: Labeled,
    pub test: Labeled,
}

impl Dataset {
    pub(crate) fn dry_bean() -> Self {
        Self::read("dry_bean.csv.gz", include_bytes!("../../../data/dry_bean.csv.gz"), "label")
    }

    pub(crate) fn waveform() -> Self {
        Self::read("waveform.csv", include_bytes!("../../../data/waveform.csv"), "label")
    }

    pub(crate) fn toxicity() -> Self {
        Self::read("qsar_aquatic_toxicity.csv", include_bytes!("../../../data/qsar_aquatic_toxicity.csv"), "target")
    }

    /// With log(1 + area) to be predicted, as half of the fires burnt nothing and a few burnt nearly everything.
    pub(crate) fn forest_fires() -> Self {
        let fires = Self::read("forest_fires.csv", include_bytes!("../../../data/forest_fires.csv"), "target");
        Self { labels: fires.labels.iter().map(|area| area.ln_1p()).collect(), ..fires }
    }

    /// What the authors' code made of the fires: columns of categories were put behind the burnt area, and the last column,
    /// "the day is Wednesday", was taken for the target.
    pub(crate) fn forest_wednesdays() -> Self {
        let fires = Self::forest_fires();
        let dim = fires.rows.dim();
        let count = |j: &usize| (0..fires.len()).filter(|place| fires.rows.row(*place)[*j] == 1.0).count();
        // The days are the last seven features; of 517 fires 54 were on a Wednesday, and on no other day as many.
        let wednesday = (dim - 7..dim).find(|j| count(j) == 54).expect("54 fires on Wednesdays");
        let mut rows = DenseRows::new(dim);
        for (place, area) in fires.labels.iter().enumerate() {
            let mut row = fires.rows.row(place).to_vec();
            row[wednesday] = *area as f32;
            rows.push(&row);
        }
        let labels = (0..fires.len()).map(|place| f64::from(fires.rows.row(place)[wednesday])).collect();
        Self { rows, labels, classes: 0 }
    }

    fn read(name: &str, bytes: &[u8], label: &str) -> Self {
        let options = Options {
            id: Some("id".to_owned()),
            label: Some(label.to_owned()),
            wanted: if label == "target" { Wanted::Number } else { Wanted::Classes },
            standardize: false,
            ..Options::default()
        };
        let input = Input::Bytes { name: name.to_owned(), bytes: Arc::from(bytes) };
        let loaded = querist_data::load(&input, &options).expect("the data in the program can be read");
        let Rows::Dense(rows) = loaded.batch.rows else { unreachable!("numbers and a few categories are dense") };
        Self { rows, labels: loaded.batch.labels, classes: loaded.encoder.classes().len() }
    }

    /// How many rows.
    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    /// A random split, of `most` rows at most. Features are scaled to [0, 1] by what the training part says.
    pub(crate) fn split(&self, coin: Coin, most: usize) -> Split {
        let order: Vec<usize> = shuffled(coin, self.len()).into_iter().take(most).map(|row| row as usize).collect();
        let (test, train) = order.split_at(order.len() / 5);
        let scale = MinMax::of(&self.rows, train);
        let labeled = |places: &[usize]| {
            let mut rows = DenseRows::new(self.rows.dim());
            for place in places {
                rows.push(self.rows.row(*place));
            }
            Labeled {
                rows: Rows::Dense(scale.scaled(&rows)),
                labels: places.iter().map(|place| self.labels[*place]).collect(),
            }
        };
        Split { train: labeled(train), test: labeled(test) }
    }
}

impl Split {
    /// Every feature, and every product of two: what a polynomial kernel of degree 2 is linear in.
    pub(crate) fn with_products(self) -> Self {
        let widened = |part: Labeled| {
            let Rows::Dense(rows) = part.rows else { unreachable!("splits are dense") };
            let dim = rows.dim();
            let mut wide = DenseRows::new(dim + dim * (dim + 1) / 2);
            for place in 0..rows.len() {
                let x = rows.row(place);
                let products = (0..dim).flat_map(|i| (0..=i).map(move |j| x[i] * x[j]));
                wide.push(&x.iter().copied().chain(products).collect::<Vec<f32>>());
            }
            Labeled { rows: Rows::Dense(wide), labels: part.labels }
        };
        Self { train: widened(self.train), test: widened(self.test) }
    }

    /// With the mean target of the training part taken from all targets.
    pub(crate) fn centered(&self) -> Self {
        let mean = self.train.labels.iter().sum::<f64>() / self.train.labels.len() as f64;
        let shifted = |part: &Labeled| Labeled {
            rows: part.rows.clone(),
            labels: part.labels.iter().map(|label| label - mean).collect(),
        };
        Self { train: shifted(&self.train), test: shifted(&self.test) }
    }
}

/// The least value of each feature, and how far the others reach beyond.
struct MinMax {
    ends: Vec<(f32, f32)>,
}

impl MinMax {
    fn of(rows: &DenseRows, places: &[usize]) -> Self {
        let mut ends = vec![(f32::INFINITY, f32::NEG_INFINITY); rows.dim()];
        for place in places {
            rows.row(*place).each(|j, x| ends[j] = (ends[j].0.min(x as f32), ends[j].1.max(x as f32)));
        }
        Self { ends }
    }

    fn scaled(&self, rows: &DenseRows) -> DenseRows {
        let scaled = rows.values().iter().zip(self.ends.iter().cycle()).map(|(x, (low, high))| {
            // A feature that is the same in all of the training part says nothing.
            if low < high { (x - low) / (high - low) } else { 0.0 }
        });
        DenseRows::from_values(rows.dim(), scaled.collect()).expect("as many values as before")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_as_described() {
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
            let column = || (0..train.len()).map(|place| train.row(place)[j]);
            assert_eq!((column().fold(f32::MAX, f32::min), column().fold(f32::MIN, f32::max)), (0.0, 1.0));
        }
    }
}
