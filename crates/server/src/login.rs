//! Who may do what: a link that works once, a cookie that a restart does not end, a token for programs.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

/// What opens the door.
pub struct Access {
    /// A token for everybody, who then say their names; or one for each name.
    pub doors: Vec<Door>,
    /// Cookies are signed with it; it outlives the process, so that pages stay signed in.
    pub secret: [u8; 32],
    /// The values of `Host` that are ours, `127.0.0.1:8080`.
    pub hosts: Vec<String>,
    /// Any address in numbers is ours too: no name server can make another's page ours then.
    pub numeric_hosts: bool,
    /// The port.
    pub port: u16,
}

/// A way in.
#[derive(Clone, Debug)]
pub struct Door {
    /// Whose it is; `None` for whoever has the link.
    pub name: Option<String>,
    /// For programs, and in the first link.
    pub token: String,
}

/// Somebody who is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Who they are, where that is fixed.
    pub(crate) name: Option<String>,
}

/// The links that still work, one for each door.
pub(crate) struct Links {
    open: Mutex<Vec<String>>,
}

/// A token of 128 random bits.
pub fn new_token() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random numbers: {error}"))?;
    Ok(hex(&bytes))
}

/// A secret of 256 random bits.
pub fn new_secret() -> Result<[u8; 32], String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random numbers: {error}"))?;
    Ok(bytes)
}

impl Links {
    pub(crate) fn new(access: &Access) -> Self {
        Self { open: Mutex::new(access.doors.iter().map(|door| door.token.clone()).collect()) }
    }

    /// Uses a link up. Gives the door's place and the link for the next who comes.
    pub(crate) fn take(&self, token: &str) -> Option<(usize, String)> {
        let next = new_token().ok()?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let place = open.iter().position(|link| same(link.as_bytes(), token.as_bytes()))?;
        open[place].clone_from(&next);
        Some((place, next))
    }
}

impl Access {
    /// Who sent this token.
    pub(crate) fn bearer(&self, token: &str) -> Option<Identity> {
        let door = self.doors.iter().find(|door| same(door.token.as_bytes(), token.as_bytes()))?;
        Some(Identity { name: door.name.clone() })
    }

    /// A new cookie for a door.
    pub(crate) fn cookie(&self, door: usize) -> Option<String> {
        let name = self.doors.get(door)?.name.as_deref().unwrap_or_default();
        let body = format!("{}.{}", new_token().ok()?, hex(name.as_bytes()));
        let sign = hex(&self.sign(body.as_bytes()));
        Some(format!("{body}.{sign}"))
    }

    /// Who has this cookie.
    pub(crate) fn bearer_of_cookie(&self, cookie: &str) -> Option<Identity> {
        let (body, sign) = cookie.rsplit_once('.')?;
        if !same(hex(&self.sign(body.as_bytes())).as_bytes(), sign.as_bytes()) {
            return None;
        }
        let (_, name) = body.split_once('.')?;
        let name = String::from_utf8(unhex(name)?).ok()?;
        // Somebody who is no longer one of those who label is out.
        let known = self.doors.iter().find(|door| door.name.as_deref().unwrap_or_default() == name)?;
        Some(Identity { name: known.name.clone() })
    }

    /// A name for this ledger that no other has, and that tells nothing: what a page still has to send must not reach the
    /// ledger that is served at the same address on another day.
    pub(crate) fn run(&self) -> String {
        hex(&self.sign(b"run")[..16])
    }

    /// HMAC with SHA-256.
    fn sign(&self, message: &[u8]) -> [u8; 32] {
        let pad = |byte: u8| -> Vec<u8> {
            let key = self.secret.iter().copied().chain(std::iter::repeat(0)).take(64);
            key.map(|key| key ^ byte).collect()
        };
        let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
        Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
    }
}

/// Compares in a time that does not tell where the difference is.
fn same(a: &[u8], b: &[u8]) -> bool {
    let difference = a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b));
    a.len() == b.len() && std::hint::black_box(difference) == 0
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

#[cfg(test)]
mod tests {
    //! Cookies are signed as RFC 4231 signs, and no other is taken.

    use super::*;

    fn access(secret: [u8; 32]) -> Access {
        let doors = vec![Door { name: Some("Ada".to_owned()), token: "t".repeat(32) }];
        Access { doors, secret, hosts: vec![], numeric_hosts: false, port: 0 }
    }

    #[test]
    fn signs_as_the_standard_says() {
        let mut secret = [0; 32];
        secret[..4].copy_from_slice(b"Jefe");
        let sign = hex(&access(secret).sign(b"what do ya want for nothing?"));
        assert_eq!(sign, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn a_changed_cookie_is_none() {
        let access = access([7; 32]);
        let cookie = access.cookie(0).unwrap();
        assert_eq!(access.bearer_of_cookie(&cookie).unwrap().name.as_deref(), Some("Ada"));
        for place in 0..cookie.len() {
            let mut bytes = cookie.clone().into_bytes();
            bytes[place] ^= 1;
            assert_eq!(access.bearer_of_cookie(&String::from_utf8(bytes).unwrap()), None, "{place}");
        }
        assert_eq!(Access { secret: [8; 32], ..self::access([0; 32]) }.bearer_of_cookie(&cookie), None);
        assert_ne!(access.cookie(0), access.cookie(0), "a new one at every login");
    }

    #[test]
    fn a_link_works_once() {
        let access = access([7; 32]);
        let links = Links::new(&access);
        let (door, next) = links.take(&"t".repeat(32)).unwrap();
        assert_eq!(door, 0);
        assert!(links.take(&"t".repeat(32)).is_none());
        assert!(links.take(&next).is_some());
        assert!(access.bearer(&"t".repeat(32)).is_some(), "programs go on with theirs");
        assert!(access.bearer(&next).is_none());
    }
}
