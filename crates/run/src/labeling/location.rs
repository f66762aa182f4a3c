//! The location of a ledger's data. Paths are stored relative to the ledger's folder, so that a project can be moved.

use std::path::{Component, Path, PathBuf};

use crate::error::{Context, Result};

/// The new location of the data, if they were moved.
#[derive(Clone, Debug, Default)]
pub struct Moved {
    /// The data of a labeling session, if they are not where its ledger says
    pub data: Option<PathBuf>,
    /// The images of a labeling session, if they are not where its ledger says
    pub images: Option<PathBuf>,
}

/// Returns the full path of a ledger's folder; the ledger need not exist.
pub fn folder(ledger: &Path) -> Result<PathBuf> {
    let parent = ledger.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    parent.canonicalize().with_context(|| format!("{}: cannot find its folder", ledger.display()))
}

/// Returns a full path in the form that a ledger in `folder` stores: relative if it is inside the folder or the
/// folder's parent.
pub fn stored(path: &Path, folder: &Path) -> PathBuf {
    if let Ok(inside) = path.strip_prefix(folder) {
        return inside.to_owned();
    }
    let parent = folder.parent().filter(|parent| parent.components().any(|part| matches!(part, Component::Normal(_))));
    match parent.and_then(|parent| path.strip_prefix(parent).ok()) {
        Some(beside) => Path::new("..").join(beside),
        None => path.to_owned(),
    }
}

/// Returns the full path of a stored one; ledgers before version 3 store full paths.
pub fn resolved(stored: &Path, folder: &Path) -> PathBuf {
    let joined = folder.join(stored);
    joined.canonicalize().unwrap_or(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_near_the_ledger_are_relative() {
        let table = [
            ("/users/ada/project/data.csv", "data.csv"),
            ("/users/ada/project/raw/data.csv", "raw/data.csv"),
            ("/users/ada/data/data.csv", "../data/data.csv"),
            ("/mnt/data.csv", "/mnt/data.csv"),
        ];
        for (path, wanted) in table {
            assert_eq!(stored(Path::new(path), Path::new("/users/ada/project")), Path::new(wanted), "{path}");
        }
        // A folder directly below the root shares nothing with its neighbors.
        assert_eq!(stored(Path::new("/mnt/data.csv"), Path::new("/project")), Path::new("/mnt/data.csv"));
        assert_eq!(resolved(Path::new("/nowhere/x"), Path::new("/also/nowhere")), Path::new("/nowhere/x"));
    }
}
