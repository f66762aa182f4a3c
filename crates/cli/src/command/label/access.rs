//! Who may come in, and from where.

use std::fs::{self, OpenOptions};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use querist_ledger::write_atomic;
use querist_server::{Access, Door, new_secret, new_token};

/// The network.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Network")]
pub(crate) struct Network {
    /// The port [default: 8417, or another if that is taken]; 0 takes any
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// The address to listen at; others than this machine's own need --token-file
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = address)]
    pub(crate) host: IpAddr,
    /// Another name this server is reached by, NAME:PORT
    #[arg(long, value_name = "NAME:PORT")]
    pub(crate) allow_host: Vec<String>,
    /// A file with the token, at least 128 bits, that only you can read [default: a new token each time]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// The people who label: each gets a link of their own, and nobody can answer for another
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) annotators: Vec<String>,
}

fn address(text: &str) -> Result<IpAddr, String> {
    let text = if text == "localhost" { "127.0.0.1" } else { text };
    text.parse().map_err(|_| "need an address such as 127.0.0.1 or 0.0.0.0".to_owned())
}

/// Letters in a token: 22 of 64 kinds are 132 bits.
const LEAST: usize = 22;

impl Network {
    /// Where to listen, if that is allowed.
    pub(super) fn check(&self) -> Result<IpAddr> {
        if !self.host.is_loopback() && self.token_file.is_none() {
            bail!(
                "--host {}: others could reach it, so it needs a token that you have made\n  \
                 (umask 077; head -c 24 /dev/urandom | base64 > token), then --token-file token",
                self.host
            );
        }
        let mut names = self.annotators.clone();
        names.sort();
        names.dedup();
        let bad = |name: &String| name.trim() != name || name.is_empty() || name.chars().any(char::is_control);
        if names.len() < self.annotators.len() || names.iter().any(bad) {
            bail!("--annotators: need different names, without spaces around them");
        }
        Ok(self.host)
    }

    /// Tokens, the secret that signs cookies, and the names of this server.
    pub(super) fn access(&self, ledger: &Path, address: SocketAddr) -> Result<Access> {
        let given = self.token_file.as_deref().map(token).transpose()?;
        let token = || given.clone().map_or_else(|| new_token().map_err(|error| anyhow!(error)), Ok);
        let doors = if self.annotators.is_empty() {
            vec![Door { name: None, token: token()? }]
        } else {
            let door = |name: &String| -> Result<Door> {
                Ok(Door { name: Some(name.clone()), token: new_token().map_err(|error| anyhow!(error))? })
            };
            self.annotators.iter().map(door).collect::<Result<_>>()?
        };
        let port = address.port();
        let mut hosts = self.allow_host.clone();
        for name in ["127.0.0.1", "localhost", "[::1]"] {
            hosts.push(format!("{name}:{port}"));
            if port == 80 {
                hosts.push(name.to_owned());
            }
        }
        let ip = address.ip();
        hosts.push(SocketAddr::new(ip, port).to_string());
        Ok(Access { doors, secret: secret(ledger)?, hosts, numeric_hosts: !ip.is_loopback(), port })
    }
}

/// A token from a file that nobody else can read.
fn token(path: &Path) -> Result<String> {
    let told = || format!("--token-file {}", path.display());
    if super::is_open_to_others(path).with_context(told)? {
        bail!("{}: others can read it\n  chmod 600 {}", told(), path.display());
    }
    let token = fs::read_to_string(path).with_context(told)?.trim().to_owned();
    let fine = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte));
    let mut kinds: Vec<u8> = token.bytes().collect();
    kinds.sort_unstable();
    kinds.dedup();
    if !fine || token.len() < LEAST || kinds.len() < 8 {
        bail!(
            "{}: need at least {LEAST} random letters and digits\n  (umask 077; head -c 24 /dev/urandom | base64 > {})",
            told(),
            path.display()
        );
    }
    Ok(token)
}

/// The secret beside a ledger: pages stay signed in when the server is started again.
fn secret(ledger: &Path) -> Result<[u8; 32]> {
    let mut name = ledger.as_os_str().to_owned();
    name.push("-key");
    let path = PathBuf::from(name);
    let told = || format!("the key file {}", path.display());
    if !path.exists() {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&path).with_context(told)?;
    }
    // It is empty until the secret takes its place whole, also where a server ended in between.
    if fs::metadata(&path).with_context(told)?.len() == 0 {
        write_atomic(&path, &new_secret().map_err(|error| anyhow!(error))?)?;
    }
    if super::is_open_to_others(&path).with_context(told)? {
        bail!("{}: others can read it\n  remove it; everybody then signs in again", told());
    }
    let bytes = fs::read(&path).with_context(told)?;
    bytes.try_into().map_err(|_| anyhow!("{}: not 32 bytes\n  remove it; everybody then signs in again", told()))
}

/// Opens the page, where there is a browser to do it.
pub(super) fn open_browser(url: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    // The address has been printed; whoever has no browser here uses that.
    let _ = Command::new(opener).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}
