//! Credentials, names and limits of the server, from the command line.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use querist_server::{AccessSettings, Credential, KeyFile, Limits, is_private, new_token};

use crate::run::output::whole;

/// The network.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Network")]
pub(crate) struct Network {
    /// The port; 0 for any free port [default: 8417, or another if it is in use]
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// The address to listen on; an address that other machines can reach needs --token-file
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = address)]
    pub(crate) host: IpAddr,
    /// Another name of this server in the address of the page: NAME:PORT, or NAME for ports 80 and 443
    #[arg(long, value_name = "NAME:PORT")]
    pub(crate) allow_host: Vec<String>,
    /// A file with the API token for programs, at least 128 bits, which only you can read [default: a new token each
    /// time]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Mark cookies as Secure, for a server behind a TLS proxy; needs --allow-host
    #[arg(long, requires = "allow_host")]
    pub(crate) secure_cookie: bool,
    /// The address of a proxy whose X-Forwarded-For header is trusted
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) trusted_proxy: Vec<IpAddr>,
    /// The maximum number of open connections; a page has about two [default: 8192, or as many as the limit on open
    /// files allows]
    #[arg(long, value_name = "N", value_parser = connections)]
    pub(crate) max_connections: Option<u64>,
    /// The names of the annotators; each one gets a personal link and can answer only as themselves
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) annotators: Vec<String>,
}

fn connections(text: &str) -> Result<u64, String> {
    let (least, most) = (Limits::SMALLEST as u64, 1 << 20);
    match whole::<u64>(text)? {
        number if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("need {least} to {most}")),
    }
}

fn address(text: &str) -> Result<IpAddr, String> {
    let text = if text == "localhost" { "127.0.0.1" } else { text };
    text.parse().map_err(|_| "need an address such as 127.0.0.1 or 0.0.0.0".to_owned())
}

/// The smallest number of characters in a token: 22 characters of a 64-letter alphabet have 132 bits.
const MIN_CHARS: usize = 22;

impl Network {
    /// Checks the arguments and returns the address to listen at.
    pub(super) fn check(&self) -> Result<IpAddr> {
        if !self.host.is_loopback() && self.token_file.is_none() {
            bail!(
                "--host {}: other machines can reach it, so it needs a token that you have created\n  (umask 077; \
                 head -c 24 /dev/urandom | base64 > token), then --token-file token",
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

    /// Returns the credentials and names of a server that listens at `address`.
    pub(super) fn access(&self, ledger: &Path, address: SocketAddr) -> Result<AccessSettings> {
        let given = self.token_file.as_deref().map(token).transpose()?;
        let new = || new_token().map_err(anyhow::Error::from);
        let credentials = if self.annotators.is_empty() {
            vec![Credential { name: None, token: given.map_or_else(new, Ok)? }]
        } else {
            let credential = |name: &String| Ok(Credential { name: Some(name.clone()), token: new()? });
            self.annotators.iter().map(credential).collect::<Result<_>>()?
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
        let key = KeyFile::open_or_create(ledger)?;
        key.add_annotators(&self.annotators)?;
        Ok(AccessSettings {
            credentials,
            key,
            hosts,
            numeric_hosts: !ip.is_loopback(),
            port,
            secure_cookie: self.secure_cookie,
            trusted_proxies: self.trusted_proxy.clone(),
        })
    }

    /// Returns the name under which a TLS proxy serves the page.
    pub(super) fn public_name(&self) -> Option<&str> {
        self.allow_host.first().filter(|_| self.secure_cookie).map(String::as_str)
    }

    /// Raises the limit on open files as far as needed and allowed, and returns the limits on connections.
    pub(super) fn limits(&self) -> Result<Limits> {
        let wanted = self.max_connections.unwrap_or(DEFAULT_CONNECTIONS);
        let files = rlimit::increase_nofile_limit(wanted + OTHER_FILES).context("the limit on open files")?;
        let available = files.saturating_sub(OTHER_FILES);
        if self.max_connections.is_some() && available < wanted {
            bail!(
                "--max-connections {wanted}: the limit of {files} open files leaves {available}\n  \
                 raise it with `ulimit -Hn {}`, or use fewer",
                wanted + OTHER_FILES
            );
        }
        Ok(Limits::of_total(wanted.min(available) as usize))
    }
}

/// The default limit on open connections.
const DEFAULT_CONNECTIONS: u64 = 8192;
/// The number of open files reserved for the ledger, images and the event loop.
const OTHER_FILES: u64 = 64;

/// Reads a token from a file that only its owner can read.
fn token(path: &Path) -> Result<String> {
    let flag = || format!("--token-file {}", path.display());
    if !is_private(path).with_context(flag)? {
        bail!("{}: others can read it\n  chmod 600 {}", flag(), path.display());
    }
    let token = fs::read_to_string(path).with_context(flag)?.trim().to_owned();
    let fine = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte));
    let mut kinds: Vec<u8> = token.bytes().collect();
    kinds.sort_unstable();
    kinds.dedup();
    if !fine || token.len() < MIN_CHARS || kinds.len() < 8 {
        bail!(
            "{}: need at least {MIN_CHARS} random letters and digits\n  (umask 077; head -c 24 /dev/urandom | base64 > {})",
            flag(),
            path.display()
        );
    }
    Ok(token)
}
