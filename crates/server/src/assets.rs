//! The page: its files are part of the program.

/// Path, type, content.
const ASSETS: [(&str, &str, &[u8]); 1] = [("/", "text/html; charset=utf-8", include_bytes!("../page/index.html"))];

/// The file at a path.
pub(crate) fn find(path: &str) -> Option<(&'static str, &'static [u8])> {
    ASSETS.iter().find(|(known, _, _)| *known == path).map(|(_, kind, content)| (*kind, *content))
}
