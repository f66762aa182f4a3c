//! Prints the address of the server, its links and its events.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use querist_run::text::counted;
use querist_server::{Credential, OperatorEvent};
use serde_json::json;

use super::access::Network;
use super::browser::Redirect;
use super::remark;

/// Prints links and events of one server.
pub(super) struct Announcer {
    /// Addresses at which others can reach the server, the best one first: `http://192.0.2.7:8417`.
    addresses: Vec<String>,
    /// The address for a browser on this machine.
    local: String,
    json: bool,
    redirect: Mutex<Option<Redirect>>,
}

/// Options of the announcement.
#[derive(Clone, Copy)]
pub(super) struct AnnounceOptions {
    pub(super) json: bool,
    pub(super) browser: bool,
}

fn link(address: &str, token: &str) -> String {
    format!("{address}/?link={token}")
}

impl Announcer {
    pub(super) fn new(network: &Network, bound: SocketAddr, json: bool) -> Self {
        let http = |ip: IpAddr| format!("http://{}", SocketAddr::new(ip, bound.port()));
        let public = network.public_name().map(|name| format!("https://{name}"));
        let own = if bound.ip().is_unspecified() { own_addresses(bound.ip()) } else { vec![bound.ip()] };
        let addresses: Vec<String> = public.into_iter().chain(own.into_iter().map(http)).collect();
        let local = if network.public_name().is_none() && bound.ip().is_unspecified() {
            http(Ipv4Addr::LOCALHOST.into())
        } else {
            addresses[0].clone()
        };
        Self { addresses, local, json, redirect: Mutex::new(None) }
    }

    /// Prints the first links and opens the browser.
    pub(super) fn start(
        &self,
        credentials: &[Credential],
        links: &[String],
        ledger: &Path,
        options: AnnounceOptions,
    ) -> Result<()> {
        if options.json {
            self.print_json(credentials, links, ledger)?;
        } else {
            self.print(credentials, links, ledger)?;
        }
        let is_shared = credentials[0].name.is_none();
        if options.browser && is_shared {
            match Redirect::new(&link(&self.local, &links[0]), ledger) {
                Ok(redirect) => {
                    redirect.open();
                    *self.redirect.lock().unwrap_or_else(PoisonError::into_inner) = Some(redirect);
                }
                Err(error) => remark(&format!("cannot open the browser: {error}\n  open the link above yourself")),
            }
        }
        Ok(())
    }

    fn print(&self, credentials: &[Credential], links: &[String], ledger: &Path) -> Result<()> {
        let mut out = io::stdout().lock();
        for (credential, token) in credentials.iter().zip(links) {
            let whom = credential.name.as_deref().map(|name| format!(" for {name}")).unwrap_or_default();
            writeln!(out, "Label here{whom}: {}", link(&self.addresses[0], token))?;
        }
        if 1 < self.addresses.len() {
            writeln!(out, "The server is also at {}.", self.addresses[1..].join(", "))?;
        }
        writeln!(
            out,
            "Answers are saved in {}. Press Ctrl-C to stop; run the same command to resume.",
            ledger.display()
        )?;
        Ok(out.flush()?)
    }

    fn print_json(&self, credentials: &[Credential], links: &[String], ledger: &Path) -> Result<()> {
        let mut out = io::stdout().lock();
        let url = |token: &str| link(&self.addresses[0], token);
        let mut line = json!({"url": url(&links[0]), "token": credentials[0].token, "ledger": ledger});
        if 1 < self.addresses.len() {
            line["addresses"] = json!(self.addresses);
        }
        if credentials[0].name.is_some() {
            let each = credentials.iter().zip(links);
            let each = each.map(|(known, token)| json!({"name": known.name, "url": url(token), "token": known.token}));
            line["annotators"] = each.collect();
        }
        writeln!(out, "{line}")?;
        Ok(out.flush()?)
    }

    /// Prints an event of the server.
    pub(super) fn print_event(&self, event: &OperatorEvent<'_>) {
        match event {
            OperatorEvent::LinkUsed { next, annotator } => {
                self.remove_redirect();
                self.print_link("a link was used; the next one", next, *annotator);
            }
            OperatorEvent::LinkReplaced { next, annotator } => {
                self.remove_redirect();
                self.print_link("the link printed before no longer works; the new one", next, *annotator);
            }
            OperatorEvent::Revoked { connections } => {
                remark(&format!("sessions were revoked; {} closed", counted(*connections as u64, "connection")));
            }
            OperatorEvent::KeyUnreadable(error) => {
                remark(&format!("warning: {error}\n  until this is repaired, revoked sessions stay valid"));
            }
            OperatorEvent::StoreProblem(words) => remark(&format!("warning: answers cannot be saved: {words}")),
            OperatorEvent::Overload { counts, within, limits } => remark(&format!(
                "warning: in {} s, closed {} without a credential (at most {} are kept, {} of one address), \
                 rejected {} with 503 (at most {} are open), and failed to accept {}",
                within.as_secs(),
                counted(counts.evicted, "connection"),
                limits.unauthenticated,
                limits.unauthenticated_per_address,
                counted(counts.rejected, "request"),
                limits.authenticated,
                counted(counts.failed, "connection")
            )),
        }
    }

    fn print_link(&self, words: &str, token: &str, annotator: Option<&str>) {
        if self.json {
            let line = json!({"url": link(&self.addresses[0], token), "annotator": annotator});
            let mut out = io::stdout().lock();
            // The program that started the server may have closed its end after the first line.
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        }
        let whom = annotator.map_or("another browser".to_owned(), |name| format!("{name}, in another browser"));
        remark(&format!("{words}, for {whom}: {}", link(&self.addresses[0], token)));
    }

    /// Removes the redirect file that the browser opened.
    pub(super) fn remove_redirect(&self) {
        drop(self.redirect.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Returns the addresses of this machine's interfaces, that of the default route first and loopback last.
fn own_addresses(unspecified: IpAddr) -> Vec<IpAddr> {
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    let is_usable = |ip: &IpAddr| match ip {
        IpAddr::V4(ip) => !ip.is_link_local(),
        IpAddr::V6(ip) => unspecified.is_ipv6() && !ip.is_unicast_link_local() && !ip.is_loopback(),
    };
    let mut addresses: Vec<IpAddr> = interfaces.into_iter().map(|interface| interface.ip()).filter(is_usable).collect();
    let route = default_route();
    addresses.sort_by_key(|ip| (ip.is_loopback(), Some(*ip) != route, ip.is_ipv6()));
    addresses.dedup();
    if addresses.is_empty() {
        addresses.push(Ipv4Addr::LOCALHOST.into());
    }
    addresses
}

/// Returns the address from which this machine would reach the internet. Nothing is sent: a UDP socket only picks a route.
fn default_route() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // An address reserved for documentation, RFC 5737.
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}
