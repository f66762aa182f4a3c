//! Small vectors and matrices of fixed size.

/// A square matrix, row by row.
pub(crate) type Matrix<const N: usize> = [[f64; N]; N];

/// Returns ‖a‖.
pub(crate) fn norm<const N: usize>(a: [f64; N]) -> f64 {
    dot(a, a).sqrt()
}

/// Returns a·b.
pub(crate) fn dot<const N: usize>(a: [f64; N], b: [f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns ‖a − b‖.
pub(crate) fn distance<const N: usize>(a: [f64; N], b: [f64; N]) -> f64 {
    norm::<N>(std::array::from_fn(|i| a[i] - b[i]))
}

/// Returns the matrix product a·b.
pub(crate) fn product<const N: usize>(a: &Matrix<N>, b: &Matrix<N>) -> Matrix<N> {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..N).map(|k| a[i][k] * b[k][j]).sum()))
}

/// Returns a descent direction for this Hessian and gradient; near a minimum it leads to the minimum.
///
/// It is Newton's step with a multiple of the identity added to make the Hessian positive definite.
pub(crate) fn newton_direction<const N: usize>(hessian: Matrix<N>, gradient: [f64; N]) -> [f64; N] {
    let mut added = 0.0;
    loop {
        let mut shifted = hessian;
        (0..N).for_each(|i| shifted[i][i] += added);
        if let Some(step) = solve_definite(&shifted, gradient) {
            return step.map(|x| -x);
        }
        added = f64::max(1e-6, 4.0 * added);
    }
}

/// Returns the x with a·x = b by Cholesky factorization, or `None` if a is not positive definite.
fn solve_definite<const N: usize>(a: &Matrix<N>, b: [f64; N]) -> Option<[f64; N]> {
    let mut factor = [[0.0; N]; N];
    for i in 0..N {
        for j in 0..=i {
            let rest = a[i][j] - (0..j).map(|k| factor[i][k] * factor[j][k]).sum::<f64>();
            if i == j && rest <= 0.0 {
                return None;
            }
            factor[i][j] = if i == j { rest.sqrt() } else { rest / factor[j][j] };
        }
    }
    let mut x = b;
    for i in 0..N {
        x[i] = (x[i] - (0..i).map(|k| factor[i][k] * x[k]).sum::<f64>()) / factor[i][i];
    }
    for i in (0..N).rev() {
        x[i] = (x[i] - (i + 1..N).map(|k| factor[k][i] * x[k]).sum::<f64>()) / factor[i][i];
    }
    Some(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definite_system_is_solved_and_an_indefinite_one_is_not() {
        let a = [[4.0, 1.0, 0.5], [1.0, 3.0, -0.2], [0.5, -0.2, 2.0]];
        let x = solve_definite(&a, [1.0, -2.0, 0.3]).unwrap();
        for (row, right) in a.iter().zip([1.0, -2.0, 0.3]) {
            assert!((dot(*row, x) - right).abs() < 1e-14);
        }
        let saddle = [[1.0, 0.0], [0.0, -1.0]];
        assert_eq!(solve_definite(&saddle, [1.0, 1.0]), None);
        let down = newton_direction(saddle, [1.0, 1.0]);
        assert!(dot(down, [1.0, 1.0]) < 0.0);
    }
}
