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
        .filter(|(mount_point, _)| ledger.starts_with(mount_point))
        .max_by_key(|(mount_point, _)| mount_point.len());
    if let Some((mount_point, kind)) = mount.filter(|(_, kind)| ["tmpfs", "ramfs", "overlay"].contains(kind)) {
        super::remark(&format!(
            "warning: {} is on {mount_point}, a {kind}: answers are lost when the machine or the container stops\n  \
             use --ledger with a path on a disk",
            ledger.display()
        ));
    }
}
