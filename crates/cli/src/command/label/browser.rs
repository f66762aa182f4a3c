//! Opens the labeling page in a browser.
//!
//! Every user of a machine can read the arguments of its processes, so the link must not be one of them. Instead, the
//! browser gets a file that redirects to the page and that only its owner can read.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use querist_server::is_private;
use tempfile::TempDir;

/// A file that redirects a browser. Dropping it removes the file.
pub(super) struct Redirect(TempDir);

impl Redirect {
    /// Writes a file that redirects to `url`, in a folder beside the ledger: sandboxed browsers cannot read the
    /// system's temporary folder. That folder is the fallback if the ledger's file system does not keep permissions.
    pub(super) fn new(url: &str, ledger: &Path) -> io::Result<Self> {
        let beside = ledger.parent().map(private_folder).and_then(Result::ok).flatten();
        let folder = match beside {
            Some(folder) => folder,
            None => private_folder(&std::env::temp_dir())?.ok_or(io::ErrorKind::PermissionDenied)?,
        };
        let redirect = Self(folder);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(redirect.0.path().join(FILE))?.write_all(page(url).as_bytes())?;
        Ok(redirect)
    }

    /// Starts the browser. The link was printed, so a failure needs no message.
    pub(super) fn open(&self) {
        let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let (input, output, errors) = (Stdio::null(), Stdio::null(), Stdio::null());
        let _ = Command::new(opener).arg(self.0.path().join(FILE)).stdin(input).stdout(output).stderr(errors).spawn();
    }
}

const FILE: &str = "open.html";

/// Creates a folder that only its owner can enter; `None` if the file system does not keep the permissions.
fn private_folder(parent: &Path) -> io::Result<Option<TempDir>> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let folder = builder.prefix("querist-open-").tempdir_in(parent)?;
    Ok(is_private(folder.path())?.then_some(folder))
}

fn page(url: &str) -> String {
    let url = url.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n<title>Querist</title>\n\
         <p><a href=\"{url}\">Open the labeling page</a></p>\n</html>\n"
    )
}
