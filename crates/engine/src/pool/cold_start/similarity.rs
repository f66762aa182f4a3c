//! The similarity of rows: k(x, z) = e^(−‖x − z‖²/w), with a width w that fits the pool.
//!
//! w is four times the median squared distance within which the nearest 2 % of rows lie. Sparse rows of many features, such as texts,
//! hardly share any feature. Their distances are those of their projections on the main directions of a sample (latent
//! semantic analysis), scaled to length 1.

use crate::coin::Coin;
use crate::features::Features;
use crate::fit::dot;
use crate::rows::Rows;

/// Sparse rows with more features than this are projected.
const MANY_FEATURES: usize = 256;
/// The number of directions of a projection.
const DIRECTIONS: usize = 50;
/// The number of rounds of subspace iteration. Directions need not be exact.
const ROUNDS: usize = 6;
/// The fraction of rows that count as near.
const NEAR: f64 = 0.02;
/// The least number of rows that count as near.
const LEAST_NEAR: usize = 5;
/// The width in units of the median squared distance to the near rows.
const WIDTH: f64 = 4.0;

/// The similarities of a sample of rows, the *candidates*, to each other and to any row.
#[derive(Clone, Debug)]
pub(super) struct Similarity {
    candidates: Vec<usize>,
    /// k of every two candidates, row by row.
    kernel: Vec<f64>,
    /// ‖x‖² of each candidate.
    norms: Vec<f64>,
    width: f64,
    projection: Option<Projection>,
}

/// A projection on the main directions of the candidates.
#[derive(Clone, Debug)]
struct Projection {
    /// For each direction, the weights of the candidates whose sum it is.
    directions: Vec<Vec<f64>>,
    /// The projected candidates, of length 1.
    points: Vec<Vec<f64>>,
}

impl Similarity {
    pub(super) fn new(rows: &Rows, candidates: Vec<usize>) -> Self {
        let count = candidates.len();
        let mut products = vec![0.0; count * count];
        for (index, row) in candidates.iter().enumerate() {
            let of_row = products_with(rows, &candidates, *row);
            products[index * count..][..count].copy_from_slice(&of_row);
        }
        let norms: Vec<f64> = (0..count).map(|index| products[index * count + index]).collect();
        let is_projected = matches!(rows, Rows::Sparse(_)) && MANY_FEATURES < rows.dim();
        let projection = is_projected.then(|| Projection::new(&products, count));
        let mut similarity = Self { candidates, kernel: vec![], norms, width: 1.0, projection };
        let mut distances: Vec<f64> = Vec::with_capacity(count * count);
        for index in 0..count {
            let of_row = &products[index * count..][..count];
            distances.extend(similarity.distances(of_row, similarity.norms[index]));
        }
        similarity.width = width(&distances, count);
        similarity.kernel = distances.into_iter().map(|distance| similarity.kernel_at(distance)).collect();
        similarity
    }

    /// Returns the indices of the candidates in the pool.
    pub(super) fn candidates(&self) -> &[usize] {
        &self.candidates
    }

    /// Returns Δ of a candidate: the mean of max(0, k − covered) over all candidates.
    pub(super) fn gain(&self, candidate: usize, covered: &[f64]) -> f64 {
        let count = covered.len();
        let kernel = &self.kernel[candidate * count..][..count];
        kernel.iter().zip(covered).map(|(k, covered)| (k - covered).max(0.0)).sum::<f64>() / count as f64
    }

    /// Returns the similarity of a row of the pool to each candidate.
    pub(super) fn to_row(&self, rows: &Rows, row: usize) -> Vec<f64> {
        let products = products_with(rows, &self.candidates, row);
        let distances = self.distances(&products, rows.row(row).norm_squared());
        distances.into_iter().map(|distance| self.kernel_at(distance)).collect()
    }

    fn kernel_at(&self, distance: f64) -> f64 {
        (-distance / self.width).exp()
    }

    /// Returns the squared distances of a row from the candidates, from its products with them and its ‖x‖².
    fn distances(&self, products: &[f64], norm: f64) -> Vec<f64> {
        match &self.projection {
            Some(projection) => projection.distances(products),
            None => products.iter().zip(&self.norms).map(|(dot, other)| (norm + other - 2.0 * dot).max(0.0)).collect(),
        }
    }
}

/// Returns the inner products of a row with each candidate.
fn products_with(rows: &Rows, candidates: &[usize], row: usize) -> Vec<f64> {
    let mut dense = vec![0.0; rows.dim()];
    rows.row(row).each(|feature, value| dense[feature] = value);
    candidates.iter().map(|candidate| rows.row(*candidate).dot(&dense)).collect()
}

/// Returns the width for these squared distances of `count` rows from each other.
fn width(distances: &[f64], count: usize) -> f64 {
    let near = ((NEAR * count as f64) as usize).max(LEAST_NEAR);
    let mut nearest: Vec<f64> = distances
        .chunks_exact(count.max(1))
        .map(|row| {
            let mut row = row.to_vec();
            let at = near.min(count - 1);
            *row.select_nth_unstable_by(at, f64::total_cmp).1
        })
        .collect();
    nearest.sort_by(f64::total_cmp);
    // If half of the rows have many copies, any distance above 0 will do.
    let positive =
        &nearest[nearest.partition_point(|distance| *distance <= 0.0).max(nearest.len() / 2).min(nearest.len())..];
    WIDTH * positive.first().copied().unwrap_or(1.0)
}

impl Projection {
    /// Finds the main directions of `count` rows by subspace iteration on the matrix of their products.
    fn new(products: &[f64], count: usize) -> Self {
        let size = DIRECTIONS.min(count);
        let coin = Coin::new(0, "directions");
        let mut basis: Vec<Vec<f64>> =
            (0..size).map(|k| (0..count).map(|row| coin.unit((k * count + row) as u64) - 0.5).collect()).collect();
        for _ in 0..ROUNDS {
            orthonormalize(&mut basis);
            basis = basis.iter().map(|vector| apply(products, vector)).collect();
        }
        let images = std::mem::take(&mut basis);
        // An image is G·v with v of length 1 and nearly an eigenvector, so its length is the eigenvalue λ. The coordinate
        // of a row x along the direction is Σ vᵢ⟨xᵢ, x⟩/√λ.
        let directions = images
            .into_iter()
            .filter_map(|image| {
                let length = image.iter().map(|x| x * x).sum::<f64>().sqrt();
                (1e-9 < length).then(|| image.iter().map(|x| x / length / length.sqrt()).collect())
            })
            .collect();
        let mut projection = Self { directions, points: vec![] };
        projection.points = products.chunks_exact(count.max(1)).map(|products| projection.point(products)).collect();
        projection
    }

    /// Returns the coordinates of a row, scaled to length 1, from its products with the candidates.
    fn point(&self, products: &[f64]) -> Vec<f64> {
        let mut point: Vec<f64> = self.directions.iter().map(|direction| dot(direction, products)).collect();
        let length = dot(&point, &point).sqrt();
        if 0.0 < length {
            for x in &mut point {
                *x /= length;
            }
        }
        point
    }

    fn distances(&self, products: &[f64]) -> Vec<f64> {
        let point = self.point(products);
        self.points.iter().map(|other| (2.0 - 2.0 * dot(&point, other)).max(0.0)).collect()
    }
}

/// Returns the product of a symmetric matrix with a vector.
fn apply(matrix: &[f64], vector: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(vector.len()).map(|row| dot(row, vector)).collect()
}

/// Makes vectors orthogonal and of length 1, by the modified Gram–Schmidt process; dependent ones become 0.
fn orthonormalize(vectors: &mut [Vec<f64>]) {
    for index in 0..vectors.len() {
        let (done, rest) = vectors.split_at_mut(index);
        let vector = &mut rest[0];
        for other in done {
            let along = dot(other, vector);
            vector.iter_mut().zip(other).for_each(|(x, other)| *x -= along * *other);
        }
        let length = dot(vector, vector).sqrt();
        let scale = if 1e-12 < length { 1.0 / length } else { 0.0 };
        for x in vector.iter_mut() {
            *x *= scale;
        }
    }
}
