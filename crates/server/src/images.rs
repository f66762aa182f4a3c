//! Images that items name, from one folder: those that were there at the start, by their names, and nothing else.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use hyper::header::{self, HeaderValue};

use crate::reply::{Reply, SANDBOX, Trouble, bytes};

/// The image files of a folder, by their names.
#[derive(Debug, Default)]
pub struct Images {
    root: Option<Root>,
    /// The path below the root, free of links at the start, and the media type.
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
const LARGEST_BYTES: u64 = 64 << 20;

impl Images {
    /// Lists the images of a folder and of the folders in it. A link counts if its target is inside, too.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let root = folder.canonicalize()?;
        let mut images = Self { root: Some(Root::open(&root)?), ..Self::default() };
        images.walk(&root, &root, 0)?;
        Ok(images)
    }

    fn walk(&mut self, root: &Path, folder: &Path, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let Ok(real) = path.canonicalize() else { continue };
            let Ok(below) = real.strip_prefix(root) else { continue };
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
                self.files.insert(name.to_owned(), (below.to_owned(), kind));
            }
        }
        Ok(())
    }

    /// Whether there is an image of this name.
    pub fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Reads the image of this name.
    ///
    /// # Errors
    /// If there is none, or it is not a regular file of at most 64 MiB any more.
    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        match (self.files.get(name), &self.root) {
            (Some((path, _)), Some(root)) => root.read(path),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(crate) fn reply(&self, name: &str) -> Result<Reply, Trouble> {
        let (_, kind) = self.files.get(name).ok_or_else(Trouble::missing)?;
        let content = self.read(name).map_err(|_| Trouble::missing())?;
        let mut reply = bytes(kind, content);
        let headers = reply.headers_mut();
        headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(SANDBOX));
        Ok(reply)
    }
}

/// The folder of the images, by the handle that was opened at the start: a folder put in its place later is another one.
#[derive(Debug)]
struct Root(#[cfg(unix)] File, #[cfg(not(unix))] PathBuf);

impl Root {
    /// Reads a regular file below the root. No component of the path may have become a link since the start.
    fn read(&self, below: &Path) -> io::Result<Vec<u8>> {
        let file = self.open_below(below)?;
        let found = file.metadata()?;
        if !found.is_file() || LARGEST_BYTES < found.len() {
            return Err(io::Error::other("not a regular file of at most 64 MiB"));
        }
        let mut content = Vec::with_capacity(found.len() as usize);
        file.take(LARGEST_BYTES).read_to_end(&mut content)?;
        Ok(content)
    }
}

#[cfg(unix)]
impl Root {
    fn open(root: &Path) -> io::Result<Self> {
        File::open(root).map(Self)
    }

    /// Opens component by component, each relative to the handle before, so that nothing can be exchanged in between.
    fn open_below(&self, below: &Path) -> io::Result<File> {
        use rustix::fs::{Mode, OFlags, openat};

        let mut handle = self.0.try_clone()?;
        let mut components = below.components().peekable();
        while let Some(component) = components.next() {
            // A pipe in the place of an image must not block either.
            let kind = if components.peek().is_some() { OFlags::DIRECTORY } else { OFlags::NONBLOCK };
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | kind;
            handle = File::from(openat(&handle, component.as_os_str(), flags, Mode::empty())?);
        }
        Ok(handle)
    }
}

#[cfg(not(unix))]
impl Root {
    fn open(root: &Path) -> io::Result<Self> {
        Ok(Self(root.to_owned()))
    }

    fn open_below(&self, below: &Path) -> io::Result<File> {
        let path = self.0.join(below);
        if path.canonicalize()? != path {
            return Err(io::Error::other("a link has taken the place of the image"));
        }
        File::open(path)
    }
}
