//! Sums, products, quotients and roots rounded toward a chosen side.
//!
//! Each operation is first done to the nearest double; the sign of what
//! was rounded away then tells whether that double already lies on the
//! wanted side. An exact result is therefore never widened, which is what
//! keeps `1 / (1 + 0)` at exactly one.

/// Below this size the remainder of a product or a quotient may itself
/// underflow, so its sign proves nothing.
const REMAINDER_TRUSTED_ABOVE: f64 = 1e-290;

/// The largest double not above `left + right`.
pub(crate) fn sum_down(left: f64, right: f64) -> f64 {
    let sum = left + right;
    if left.is_infinite() || right.is_infinite() {
        return sum;
    }
    let right_part = sum - left;
    let remainder = (left - (sum - right_part)) + (right - right_part);
    settle_down(sum, remainder)
}

/// The smallest double not below `left + right`.
pub(crate) fn sum_up(left: f64, right: f64) -> f64 {
    opposite(sum_down(-left, -right))
}

/// A double not above `left * right`, where zero times infinity is zero.
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

/// A double not below `left * right`, where zero times infinity is zero.
pub(crate) fn product_up(left: f64, right: f64) -> f64 {
    opposite(product_down(-left, right))
}

/// A double not above `top / bottom`, for `bottom` other than zero; an
/// infinite `bottom` stands for its limit.
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

/// A double not below `top / bottom`, with the same conventions.
pub(crate) fn quotient_up(top: f64, bottom: f64) -> f64 {
    opposite(quotient_down(-top, bottom))
}

/// A double not above the root of `value`, for `value` at least zero.
pub(crate) fn root_down(value: f64) -> f64 {
    let root = value.sqrt();
    if value == 0.0 || value.is_infinite() {
        return root;
    }
    settle_down(root, root_remainder(value, root)).max(0.0)
}

/// A double not below the root of `value`, for `value` at least zero.
pub(crate) fn root_up(value: f64) -> f64 {
    let root = value.sqrt();
    if value == 0.0 || value.is_infinite() {
        return root;
    }
    opposite(settle_down(-root, -root_remainder(value, root)))
}

/// `value` moved down by `count` neighboring doubles.
pub(crate) fn steps_down(value: f64, count: u32) -> f64 {
    (0..count).fold(value, |moved, _| moved.next_down())
}

/// `value` moved up by `count` neighboring doubles.
pub(crate) fn steps_up(value: f64, count: u32) -> f64 {
    opposite(steps_down(-value, count))
}

/// A number with the sign of `sqrt(value) - root`, or NaN when unknown.
fn root_remainder(value: f64, root: f64) -> f64 {
    if value > REMAINDER_TRUSTED_ABOVE { (-root).mul_add(root, value) } else { f64::NAN }
}

/// A lower bound from the nearest double and the sign of what it misses;
/// a NaN remainder means that nothing is known about the miss.
fn settle_down(nearest: f64, remainder: f64) -> f64 {
    if remainder >= 0.0 { nearest } else { nearest.next_down() }
}

/// A product or quotient of equal signs is never below zero, even where
/// underflow made the rounding step cross it.
fn keep_sign(left: f64, right: f64, bound: f64) -> f64 {
    if (left > 0.0) == (right > 0.0) { bound.max(0.0) } else { bound }
}

/// The negative, without a negative zero.
fn opposite(value: f64) -> f64 {
    0.0 - value
}
