//! Directed rounding of sums, products, quotients and roots.
//!
//! Each operation is first rounded to the nearest double. The sign of the rounding error then
//! shows whether that double already lies on the requested side. An exact result is therefore
//! never widened, which keeps `1 / (1 + 0)` at exactly one.

/// The magnitude below which the remainder of a product or a quotient may itself underflow,
/// so that its sign proves nothing.
const REMAINDER_TRUSTED_ABOVE: f64 = 1e-290;

/// Returns the largest double not above `left + right`.
pub(crate) fn sum_down(left: f64, right: f64) -> f64 {
    let sum = left + right;
    if left.is_infinite() || right.is_infinite() {
        return sum;
    }
    let right_part = sum - left;
    let remainder = (left - (sum - right_part)) + (right - right_part);
    settle_down(sum, remainder)
}

/// Returns the smallest double not below `left + right`.
pub(crate) fn sum_up(left: f64, right: f64) -> f64 {
    opposite(sum_down(-left, -right))
}

/// Returns a double not above `left * right`, where zero times infinity is zero.
pub(crate) fn product_down(left: f64, right: f64) -> f64 {
    if left == 0.0 || right == 0.0 {
        return 0.0;
    }
    let product = left * right;
    if left.is_infinite() || right.is_infinite() {
        return product;
    }
    let remainder = if product.abs() > REMAINDER_TRUSTED_ABOVE { left.mul_add(right, -product) } else { f64::NAN };
    keep_sign(left, right, settle_down(product, remainder))
}

/// Returns a double not below `left * right`, where zero times infinity is zero.
pub(crate) fn product_up(left: f64, right: f64) -> f64 {
    opposite(product_down(-left, right))
}

/// Returns a double not above `top / bottom`, for nonzero `bottom`; an infinite `bottom` gives
/// the limit.
pub(crate) fn quotient_down(top: f64, bottom: f64) -> f64 {
    if top == 0.0 || bottom.is_infinite() {
        return 0.0;
    }
    let quotient = top / bottom;
    if top.is_infinite() {
        return quotient;
    }
    let trusted = top.abs() > REMAINDER_TRUSTED_ABOVE && quotient.abs() > REMAINDER_TRUSTED_ABOVE;
    let remainder = if trusted { (-quotient).mul_add(bottom, top) * bottom.signum() } else { f64::NAN };
    keep_sign(top, bottom, settle_down(quotient, remainder))
}

/// Returns a double not below `top / bottom`, with the same conventions.
pub(crate) fn quotient_up(top: f64, bottom: f64) -> f64 {
    opposite(quotient_down(-top, bottom))
}

/// Returns a double not above the root of `value`, for `value` at least zero.
pub(crate) fn root_down(value: f64) -> f64 {
    let root = value.sqrt();
    if value == 0.0 || value.is_infinite() {
        return root;
    }
    settle_down(root, root_remainder(value, root)).max(0.0)
}

/// Returns a double not below the root of `value`, for `value` at least zero.
pub(crate) fn root_up(value: f64) -> f64 {
    let root = value.sqrt();
    if value == 0.0 || value.is_infinite() {
        return root;
    }
    opposite(settle_down(-root, -root_remainder(value, root)))
}

/// Returns `value` moved down by `count` neighboring doubles.
pub(crate) fn steps_down(value: f64, count: u32) -> f64 {
    (0..count).fold(value, |moved, _| moved.next_down())
}

/// Returns `value` moved up by `count` neighboring doubles.
pub(crate) fn steps_up(value: f64, count: u32) -> f64 {
    opposite(steps_down(-value, count))
}

/// Returns a number with the sign of `sqrt(value) - root`, or NaN when unknown.
fn root_remainder(value: f64, root: f64) -> f64 {
    if value > REMAINDER_TRUSTED_ABOVE { (-root).mul_add(root, value) } else { f64::NAN }
}

/// Returns a lower bound from the nearest double and the sign of its rounding error;
/// a NaN remainder means that the sign is unknown.
fn settle_down(nearest: f64, remainder: f64) -> f64 {
    if remainder >= 0.0 { nearest } else { nearest.next_down() }
}

/// Clamps a product or quotient of equal signs at zero, which an underflowing rounding step
/// could cross.
fn keep_sign(left: f64, right: f64, bound: f64) -> f64 {
    if (left > 0.0) == (right > 0.0) { bound.max(0.0) } else { bound }
}

/// Returns the negative, without a negative zero.
fn opposite(value: f64) -> f64 {
    0.0 - value
}
