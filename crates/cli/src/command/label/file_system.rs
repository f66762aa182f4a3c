//! A warning about ledgers on temporary file systems.

use std::fs;
use std::path::Path;

/// Prints a warning if the ledger is on a file system that is lost with the machine or the container.
pub(super) fn warn(ledger: &Path) {
    let Ok(mounts) = fs::read_to_string("/proc/self/mounts") else { return };
    let mount = mounts
        .lines()
        .filter_map(|line| {
            let mut parts = line.split(' ').skip(1);
            Some((parts.next()?, parts.next()?))
        })
        .filter(|(place, _)| ledger.starts_with(place))
        .max_by_key(|(place, _)| place.len());
    if let Some((place, kind)) = mount.filter(|(_, kind)| ["tmpfs", "ramfs", "overlay"].contains(kind)) {
        super::remark(&format!(
            "warning: {} is on {place}, a {kind}: answers may be gone with the machine or the container\n  \
             say --ledger with a place on a disk",
            ledger.display()
        ));
    }
}
