//! Work that compilers do not find wide instructions for: it names them itself, for each machine there is.

/// Any machine.
#[derive(Clone, Copy)]
pub(crate) struct Narrow;

/// Does work with the widest registers there are. What it calls must be inlined: what is not stays narrow.
macro_rules! on_widest {
    (|$machine:ident| $work:expr) => {
        match *querist_rows::simd::ARCH {
            #[cfg(target_arch = "x86_64")]
            pulp::Arch::V4($machine) => $machine.vectorize(
                #[inline(always)]
                || $work,
            ),
            #[cfg(target_arch = "x86_64")]
            pulp::Arch::V3($machine) => $machine.vectorize(
                #[inline(always)]
                || $work,
            ),
            _ => {
                let $machine = $crate::machine::Narrow;
                $work
            }
        }
    };
}

pub(crate) use on_widest;
