//! Connection admission: separate budgets for authenticated and unauthenticated connections.
//!
//! Every connection starts unauthenticated. Its latest request decides: one with a valid credential moves the
//! connection to the authenticated budget, any other moves it back. Unauthenticated connections beyond their budget are
//! evicted, so they can never block an authenticated one. Authenticated connections are never evicted.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::credentials::CallerIdentity;

/// The maximum numbers of connections that a server keeps open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Authenticated connections; a request beyond the limit gets the status 503.
    pub authenticated: usize,
    /// Unauthenticated connections; beyond the limit, one from the address with the most connections is closed.
    pub unauthenticated: usize,
    /// Unauthenticated connections from one address; beyond the limit, its oldest one is closed.
    pub unauthenticated_per_address: usize,
}

impl Limits {
    /// The smallest possible total.
    pub const SMALLEST: usize = 24;

    /// Splits a total: an eighth, 12 to 1,024, is for unauthenticated connections, and half of that for one address.
    /// That suffices, since a browser opens up to six connections before it is signed in.
    pub fn of_total(total: usize) -> Self {
        let total = total.max(Self::SMALLEST);
        let unauthenticated = (total / 8).clamp(12, 1024);
        Self {
            authenticated: total - unauthenticated,
            unauthenticated,
            unauthenticated_per_address: unauthenticated / 2,
        }
    }

    /// Returns the total number of connections.
    pub fn total(&self) -> usize {
        self.authenticated + self.unauthenticated
    }
}

/// The counts of connections that were rejected or closed since the last report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overload {
    /// Unauthenticated connections that were closed.
    pub evicted: u64,
    /// Authenticated requests that were answered with 503.
    pub rejected: u64,
    /// Connections that the operating system could not accept, for lack of open files or memory.
    pub failed: u64,
}

/// The address that an unauthenticated connection counts against; `None` for a trusted proxy that has not named a
/// client.
pub(crate) type ClientSource = Option<IpAddr>;

/// Returns the address that a peer counts as: for IPv6 its /64 network, since one machine has all addresses in it.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// The open connections and their limits.
pub(crate) struct Connections {
    pub(crate) limits: Limits,
    open: Mutex<OpenConnections>,
}

/// The entries of the open connections.
#[derive(Default)]
struct OpenConnections {
    next: u64,
    /// The unauthenticated connections by number, in the order in which they became unauthenticated.
    unauthenticated: BTreeMap<u64, (ClientSource, Arc<Notify>)>,
    per_source: BTreeMap<ClientSource, usize>,
    authenticated: BTreeMap<u64, (CallerIdentity, Arc<Notify>)>,
    overload: Overload,
}

/// A connection's entry among the open connections; dropping it removes the entry.
pub(crate) struct Ticket {
    connections: Arc<Connections>,
    number: Mutex<u64>,
    evicted: Arc<Notify>,
}

/// The error when the limit of authenticated connections is reached.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConnectionLimitReached;

impl Connections {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, open: Mutex::default() }
    }

    /// Registers a new connection, and evicts others if there are too many.
    pub(crate) fn admit(self: &Arc<Self>, source: ClientSource) -> Ticket {
        let evicted = Arc::new(Notify::new());
        let number = self.open().add(source, &evicted, self.limits);
        Ticket { connections: Arc::clone(self), number: Mutex::new(number), evicted }
    }

    /// Evicts an unauthenticated connection, because the operating system could not accept another.
    pub(crate) fn accept_failed(&self) {
        let mut open = self.open();
        open.overload.failed += 1;
        open.evict(None);
    }

    /// Closes the connections of sessions that are no longer valid, and returns their number.
    pub(crate) fn close_sessions(&self, is_valid: impl Fn(&CallerIdentity) -> bool) -> usize {
        let open = self.open();
        let invalid = open.authenticated.values().filter(|(identity, _)| !is_valid(identity));
        invalid.map(|(_, evicted)| evicted.notify_one()).count()
    }

    /// Returns the overload since the last call, and resets it.
    pub(crate) fn take_overload(&self) -> Overload {
        std::mem::take(&mut self.open().overload)
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnections {
    fn add(&mut self, source: ClientSource, evicted: &Arc<Notify>, limits: Limits) -> u64 {
        self.next += 1;
        self.unauthenticated.insert(self.next, (source, Arc::clone(evicted)));
        let of_source = self.per_source.entry(source).or_default();
        *of_source += 1;
        if source.is_some() && limits.unauthenticated_per_address < *of_source {
            self.evict(Some(source));
        } else if limits.unauthenticated < self.unauthenticated.len() {
            self.evict(None);
        }
        self.next
    }

    /// Closes the oldest unauthenticated connection of a source, by default the one with the most connections.
    fn evict(&mut self, source: Option<ClientSource>) {
        let largest = || self.per_source.iter().max_by_key(|(_, count)| **count).map(|(source, _)| *source);
        let Some(source) = source.or_else(largest) else { return };
        let oldest = self.unauthenticated.iter().find(|(_, (of, _))| *of == source).map(|(number, _)| *number);
        if let Some((_, evicted)) = oldest.and_then(|number| self.remove_unauthenticated(number)) {
            evicted.notify_one();
            self.overload.evicted += 1;
        }
    }

    fn remove_unauthenticated(&mut self, number: u64) -> Option<(ClientSource, Arc<Notify>)> {
        let removed = self.unauthenticated.remove(&number)?;
        if let Some(count) = self.per_source.get_mut(&removed.0) {
            *count -= 1;
            if *count == 0 {
                self.per_source.remove(&removed.0);
            }
        }
        Some(removed)
    }
}

impl Ticket {
    /// Moves the connection to the authenticated ones, before its request is processed.
    pub(crate) fn authenticated(&self, identity: CallerIdentity) -> Result<(), ConnectionLimitReached> {
        let mut open = self.connections.open();
        let number = self.number();
        if let Some(entry) = open.authenticated.get_mut(&number) {
            entry.0 = identity;
            return Ok(());
        }
        if self.connections.limits.authenticated <= open.authenticated.len() {
            open.overload.rejected += 1;
            return Err(ConnectionLimitReached);
        }
        open.remove_unauthenticated(*number);
        open.authenticated.insert(*number, (identity, Arc::clone(&self.evicted)));
        Ok(())
    }

    /// Moves the connection to the unauthenticated ones of a source, as the newest of them unless it was there already.
    pub(crate) fn unauthenticated(&self, source: ClientSource) {
        let mut open = self.connections.open();
        let mut number = self.number();
        if open.unauthenticated.get(&number).is_some_and(|(of, _)| *of == source) {
            return;
        }
        let was_open = open.remove_unauthenticated(*number).is_some() | open.authenticated.remove(&number).is_some();
        // An evicted connection has no entry and is about to be closed.
        if was_open {
            *number = open.add(source, &self.evicted, self.connections.limits);
        }
    }

    /// Resolves when the connection must be closed: it was evicted, or its session was revoked.
    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    fn number(&self) -> MutexGuard<'_, u64> {
        self.number.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut open = self.connections.open();
        let number = *self.number();
        open.remove_unauthenticated(number);
        open.authenticated.remove(&number);
    }
}
