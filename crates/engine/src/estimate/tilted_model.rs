//! Tilted models: a model whose odds are raised to a power, so that it is wrong more often or less often.

use super::LossMatrix;
use super::score_test::Count;

/// A normalizing constant: probabilities are e^{−b·(loss − likeliest)}/total, so that no power overflows.
#[derive(Clone, Copy)]
pub(super) struct Normalizer {
    likeliest: f64,
    total: f64,
}

impl Normalizer {
    fn of(losses: &[f64], b: f64) -> Self {
        let likeliest = losses.iter().copied().reduce(|a, c| if b * c < b * a { c } else { a }).unwrap_or(0.0);
        let unit = Self { likeliest, total: 1.0 };
        Self { total: losses.iter().map(|loss| unit.probability(*loss, b)).sum(), ..unit }
    }

    pub(super) fn probability(self, loss: f64, b: f64) -> f64 {
        (-b * (loss - self.likeliest)).exp() / self.total
    }
}

/// A model whose probabilities are raised to a power and normalized.
pub(super) struct TiltedModel {
    /// b, the exponent of the odds.
    pub(super) sharpness: f64,
    /// The normalizing constant of each draw's class probabilities e^{−b·loss}.
    pub(super) totals: Vec<Normalizer>,
    classes: Vec<ClassMeans>,
    /// The variance of the predicted accuracy of an item.
    accuracy_variance: f64,
}

/// Means over the pool of what a tilted model predicts of a class.
#[derive(Clone, Copy, Default)]
struct ClassMeans {
    /// Whether the class is predicted and true.
    found: f64,
    /// Whether it is predicted.
    predicted: f64,
    /// Whether it is true.
    actual: f64,
    /// Of items that are predicted as the class, and of the others: the deviation and the variance of whether it is true.
    spread: [ItemSpread; 2],
}

/// The deviation and the variance of a value of an item, added up or averaged over items.
#[derive(Clone, Copy, Default)]
pub(super) struct ItemSpread {
    pub(super) deviation: f64,
    pub(super) variance: f64,
}

impl ItemSpread {
    /// Returns the spread of a yes-or-no value with this probability.
    fn of_probability(p: f64) -> Self {
        let variance = (p * (1.0 - p)).max(0.0);
        Self { deviation: variance.sqrt(), variance }
    }

    /// Adds `factor` times a value.
    fn add(&mut self, other: Self, factor: f64) {
        self.deviation += factor.abs() * other.deviation;
        self.variance += factor * factor * other.variance;
    }

    /// Removes an item of this variance.
    pub(super) fn remove(&mut self, variance: f64) {
        self.deviation = (self.deviation - variance.sqrt()).max(0.0);
        self.variance = (self.variance - variance).max(0.0);
    }
}

/// A function (predicted, true) ↦ value of an item.
type ItemValue<'a> = &'a dyn Fn(bool, bool) -> f64;

impl TiltedModel {
    /// Creates the tilted model with exponent `b` for the draws of a matrix, before its pool is added.
    fn new(matrix: &LossMatrix<'_>, b: f64) -> Self {
        Self {
            sharpness: b,
            totals: matrix.drawn.chunks_exact(matrix.classes).map(|losses| Normalizer::of(losses, b)).collect(),
            classes: vec![ClassMeans::default(); matrix.classes],
            accuracy_variance: 0.0,
        }
    }

    /// Adds an item of the pool, which the model predicts as the class `likeliest`.
    fn add(&mut self, losses: &[f64], likeliest: usize) {
        let total = Normalizer::of(losses, self.sharpness);
        for (class, (means, loss)) in self.classes.iter_mut().zip(losses).enumerate() {
            let p = total.probability(*loss, self.sharpness);
            means.actual += p;
            means.spread[usize::from(class != likeliest)].add(ItemSpread::of_probability(p), 1.0);
        }
        let right = total.probability(losses[likeliest], self.sharpness);
        self.classes[likeliest].found += right;
        self.classes[likeliest].predicted += 1.0;
        // The sum of squares, until all items are added.
        self.accuracy_variance += right * right;
    }

    /// Divides the sums over the pool by its number of items.
    fn divide(&mut self, items: f64) {
        for means in &mut self.classes {
            for sum in [&mut means.found, &mut means.predicted, &mut means.actual] {
                *sum /= items;
            }
            for spread in &mut means.spread {
                spread.deviation /= items;
                spread.variance /= items;
            }
        }
        self.accuracy_variance = (self.accuracy_variance / items - self.accuracy().powi(2)).max(0.0);
    }

    /// Returns the predicted accuracy on the pool.
    pub(super) fn accuracy(&self) -> f64 {
        self.classes.iter().map(|means| means.found).sum()
    }

    /// Returns the variance of the predicted accuracy, between the items of the pool.
    pub(super) fn accuracy_variance(&self) -> f64 {
        self.accuracy_variance
    }

    /// Returns the ratio under this tilted model; `None` if its denominator is 0.
    pub(super) fn ratio(&self, count: Count) -> Option<f64> {
        let [found, predicted, actual] = match count.class {
            Some(class) => [self.classes[class].found, self.classes[class].predicted, self.classes[class].actual],
            None => [self.accuracy(), 1.0, self.accuracy()],
        };
        let shares = [(true, true, found), (true, false, predicted - found), (false, true, actual - found)];
        let (mut numerators, mut denominators) = (0.0, 0.0);
        for (predicted, actual, share) in shares {
            let term = (count.term)(predicted, actual);
            numerators += share * term.numerator;
            denominators += share * term.denominator;
        }
        (0.0 < denominators).then_some(numerators / denominators)
    }

    /// Returns the mean spread of a value over the pool.
    pub(super) fn mean_spread(&self, class: Option<usize>, value: ItemValue<'_>) -> ItemSpread {
        let factor = |predicted: bool| value(predicted, true) - value(predicted, false);
        let mut spread = ItemSpread::default();
        match class {
            Some(class) => {
                let [predicted, other] = self.classes[class].spread;
                spread.add(predicted, factor(true));
                spread.add(other, factor(false));
            }
            None => self.classes.iter().for_each(|means| spread.add(means.spread[0], factor(true))),
        }
        spread
    }
}

/// Returns b of the tilted models to test, from the most errors to the fewest, dense around the original model, b = 1.
/// Ends between two of them are interpolated.
fn sharpnesses() -> Vec<f64> {
    let power = |third: i32| (f64::from(third) / 3.0).exp2();
    // Models that hardly separate the classes need a large b to expect more or fewer errors.
    let far = [90, 60, 45, 36, 30, 24, 18];
    let worse = far.into_iter().chain([12, 6, 3, 0, -3, -6]).map(|third| -power(third));
    let better = (-15..=15).chain(far.into_iter().rev()).map(power);
    worse.chain([0.0]).chain(better).collect()
}

/// Returns the tilted models of a pool, and the error probability of each visited item under the original model.
pub(super) fn tilted_models(matrix: &LossMatrix<'_>) -> (Vec<TiltedModel>, Vec<f64>) {
    let mut tilted_models: Vec<TiltedModel> = sharpnesses().iter().map(|b| TiltedModel::new(matrix, *b)).collect();
    let mut errors = vec![];
    (matrix.pool)(&mut |losses| {
        let likeliest =
            (1..matrix.classes).fold(0, |least, class| if losses[class] < losses[least] { class } else { least });
        errors.push(1.0 - Normalizer::of(losses, 1.0).probability(losses[likeliest], 1.0));
        for tilted in &mut tilted_models {
            tilted.add(losses, likeliest);
        }
    });
    for tilted in &mut tilted_models {
        tilted.divide(errors.len() as f64);
    }
    (tilted_models, errors)
}
