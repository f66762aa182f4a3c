//! Images that items name, from one folder: those that were there at the start, by their names, and nothing else.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hyper::header::{self, HeaderValue};

use crate::reply::{Reply, SANDBOX, Trouble, bytes};

/// Names and where they are.
#[derive(Debug, Default)]
pub struct Images {
    files: HashMap<String, (PathBuf, &'static str)>,
}

/// No SVG: it is a program as much as an image.
const KINDS: [(&str, &str); 6] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
];
const LARGEST: u64 = 64 << 20;

impl Images {
    /// The images of a folder and the folders in it. What a link leads to must be inside, too.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let root = folder.canonicalize()?;
        let mut images = Self::default();
        images.walk(&root, &root, 0)?;
        Ok(images)
    }

    fn walk(&mut self, root: &Path, folder: &Path, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let Ok(real) = path.canonicalize() else { continue };
            if !real.starts_with(root) {
                continue;
            }
            if real.is_dir() {
                if depth < 8 && !path.is_symlink() {
                    self.walk(root, &path, depth + 1)?;
                }
                continue;
            }
            let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
            let kind = KINDS.iter().find(|(known, _)| *known == ending);
            let name = path.strip_prefix(root).ok().and_then(Path::to_str);
            if let (Some((_, kind)), Some(name), true) = (kind, name, real.is_file()) {
                self.files.insert(name.to_owned(), (real, kind));
            }
        }
        Ok(())
    }

    /// Whether there is an image of this name.
    pub fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    pub(crate) fn reply(&self, name: &str) -> Result<Reply, Trouble> {
        let (path, kind) = self.files.get(name).ok_or_else(Trouble::missing)?;
        let small = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST);
        let content =
            if small { fs::read(path).map_err(|_| Trouble::missing())? } else { return Err(Trouble::missing()) };
        let mut reply = bytes(kind, content);
        let headers = reply.headers_mut();
        headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(SANDBOX));
        Ok(reply)
    }
}
