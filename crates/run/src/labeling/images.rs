//! Images that items name, from one folder. Only images that were there at the start are served, by their names.
//!
//! An image is served only while its bytes match the digest that was recorded when its item was asked.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use querist_engine::session::name_ids;
use querist_rows::Digest;

/// The image files of a folder, by their names.
#[derive(Debug, Default)]
pub struct Images {
    root: Option<Root>,
    files: HashMap<String, ImageFile>,
    /// Items whose images are not in the folder; they are not asked.
    missing: Vec<Arc<str>>,
    /// Images whose bytes did not match the recorded digest when they were requested.
    changed: Mutex<BTreeSet<String>>,
}

/// The result of a request for an image.
#[derive(Debug)]
pub enum Served {
    /// There is no such image, or it cannot be read.
    Missing,
    /// The bytes do not match the digest that was recorded when the item was asked.
    Changed,
    /// The image.
    Image {
        /// The media type, such as `image/png`.
        media_type: &'static str,
        /// The bytes.
        content: Vec<u8>,
    },
}

#[derive(Debug)]
struct ImageFile {
    /// The path below the root, without links at the start.
    path: PathBuf,
    media_type: &'static str,
    /// The digest, computed on first use, since images may be large; `None` if the image could not be read.
    digest: OnceLock<Option<Digest>>,
}

/// The file extensions that are served, with their media types. SVG is not among them, because it can contain scripts.
const KINDS: [(&str, &str); 6] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
];
/// Other file extensions of images, which are not served.
const OTHER_ENDINGS: [&str; 6] = ["svg", "bmp", "tif", "tiff", "heic", "ico"];
const LARGEST_BYTES: u64 = 64 << 20;

impl Images {
    /// Lists the images of a folder and its subfolders. A link counts if its target is inside the folder, too.
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
            let ending = ending(&path);
            let kind = KINDS.iter().find(|(known, _)| *known == ending);
            let name = path.strip_prefix(root).ok().and_then(Path::to_str);
            let is_served = fs::metadata(&real).is_ok_and(|found| found.is_file() && found.len() <= LARGEST_BYTES);
            if let (Some((_, media_type)), Some(name), true) = (kind, name, is_served) {
                let image = ImageFile { path: below.to_owned(), media_type, digest: OnceLock::new() };
                self.files.insert(name.to_owned(), image);
            }
        }
        Ok(())
    }

    /// Returns whether there are no images.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns whether there is an image with this name.
    pub fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Reads the image with this name.
    ///
    /// # Errors
    /// If there is none, or it is no longer a regular file of at most 64 MiB.
    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        match (self.files.get(name), &self.root) {
            (Some(image), Some(root)) => root.read(&image.path),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Returns the SHA-256 digest of the image with this name as it was first read; `None` if it could not be read.
    pub fn digest(&self, name: &str) -> Option<Digest> {
        let image = self.files.get(name)?;
        *image.digest.get_or_init(|| self.read(name).ok().map(|content| Digest::of(&content)))
    }

    /// Returns whether a name has the extension of an image, served or not.
    pub fn is_image_name(name: &str) -> bool {
        let ending = ending(Path::new(name));
        KINDS.iter().map(|(known, _)| *known).chain(OTHER_ENDINGS).any(|known| known == ending)
    }

    /// Stores the items whose images are not in the folder, for [`Self::problems`].
    pub fn set_missing(&mut self, ids: Vec<Arc<str>>) {
        self.missing = ids;
    }

    /// Describes items without their images, and images that have changed, in one sentence per reason.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = vec![];
        if !self.missing.is_empty() {
            let (count, ids) = (self.missing.len(), name_ids(&self.missing));
            let are = if count == 1 {
                "item is not asked, because its image is"
            } else {
                "items are not asked, because their images are"
            };
            problems.push(format!("{count} {are} missing from the folder or cannot be shown: {ids}"));
        }
        let changed: Vec<String> = self.changed().iter().cloned().collect();
        if !changed.is_empty() {
            let (count, names) = (changed.len(), name_ids(&changed));
            let have = if count == 1 { "image has" } else { "images have" };
            problems.push(format!("{count} {have} changed since being asked, and answers are refused: {names}"));
        }
        problems
    }

    /// Returns whether the image with this name differed from its record when it was last requested.
    pub fn is_changed(&self, name: &str) -> bool {
        self.changed().contains(name)
    }

    /// Returns whether any image differed from its record when it was last requested.
    pub fn has_changes(&self) -> bool {
        !self.changed().is_empty()
    }

    fn changed(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads an image to serve if its bytes match the recorded digest, and stores whether they do.
    pub fn serve(&self, name: &str) -> Served {
        let Some(image) = self.files.get(name) else { return Served::Missing };
        let content = self.read(name).ok();
        let digest = content.as_ref().map(|content| Digest::of(content));
        // The first bytes read are the reference.
        let recorded = match digest {
            Some(_) => *image.digest.get_or_init(|| digest),
            None => image.digest.get().copied().flatten(),
        };
        let is_same = recorded == digest;
        if is_same {
            self.changed().remove(name);
        } else {
            self.changed().insert(name.to_owned());
        }
        match content {
            None => Served::Missing,
            Some(_) if !is_same => Served::Changed,
            Some(content) => Served::Image { media_type: image.media_type, content },
        }
    }
}

/// Returns the extension of a name in lower case.
fn ending(path: &Path) -> String {
    path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// The folder of the images, by the handle that was opened at the start. A folder that replaces it later is not used.
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

    /// Opens component by component, each relative to the handle before, so that no component can be replaced in
    /// between.
    fn open_below(&self, below: &Path) -> io::Result<File> {
        use rustix::fs::{Mode, OFlags, openat};

        let mut handle = self.0.try_clone()?;
        let mut components = below.components().peekable();
        while let Some(component) = components.next() {
            // A pipe in place of an image must not block.
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
