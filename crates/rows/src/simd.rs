//! Loops compiled twice: for every machine, and for those with wide registers. Both give the same bits.
//!
//! Nothing here reorders sums, and a·b + c is rounded once only where it says so (`mul_add`): by one instruction in wide
//! registers, by a call elsewhere. So what is chosen at run time is speed alone.

use std::sync::LazyLock;

use pulp::Arch;

/// Asked of the machine once.
pub static ARCH: LazyLock<Arch> = LazyLock::new(Arch::new);

/// Runs a loop with the widest registers there are.
///
/// The closure must be `#[inline(always)] move`, and so must be all it calls: what is not inlined into it stays narrow, and
/// what it only borrows may, for all the compiler knows, be changed by the loop itself.
#[inline]
pub fn dispatch<R>(work: impl FnOnce() -> R) -> R {
    ARCH.dispatch(work)
}

/// Below this length wide registers do not pay for the call.
const SHORT: usize = 24;

/// Runs a loop over this many numbers as [`dispatch`] does, where that pays.
#[inline(always)]
#[allow(clippy::inline_always, reason = "what it runs must be inlined")]
pub fn wide<R>(len: usize, work: impl FnOnce() -> R) -> R {
    if len < SHORT { work() } else { dispatch(work) }
}
