//! Credentials: one-time links for browsers, cookies that survive a restart, API tokens for programs.

use std::fmt::{self, Write as _};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use crate::key_file::KeyFile;

/// The credentials of a server, and the host names under which it is reached.
pub struct AccessSettings {
    /// One shared credential, with which annotators enter their own names, or one credential for each annotator.
    pub credentials: Vec<Credential>,
    /// The secret that signs cookies, and the revoked sessions.
    pub key: KeyFile,
    /// The accepted values of the `Host` header, such as `127.0.0.1:8080`.
    pub hosts: Vec<String>,
    /// If `true`, any numeric address is accepted as `Host`. That is safe, because DNS rebinding needs a name.
    pub numeric_hosts: bool,
    /// The port of the server.
    pub port: u16,
    /// If `true`, cookies are `Secure`, because the browser reaches the server through a TLS proxy.
    pub secure_cookie: bool,
    /// The proxies whose `X-Forwarded-For` header is trusted.
    pub trusted_proxies: Vec<IpAddr>,
}

/// An API token and its annotator.
#[derive(Clone, Debug)]
pub struct Credential {
    /// The annotator; `None` for anyone who has the token.
    pub name: Option<String>,
    /// The API token, for the `Authorization: Bearer` header only.
    pub token: String,
}

/// An authenticated caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallerIdentity {
    /// The annotator, if the credential belongs to one.
    pub(crate) name: Option<String>,
    /// The generation of the browser session; `None` for an API token.
    pub(crate) generation: Option<u64>,
}

/// The unused sign-in links, one for each credential. A link token is valid for one sign-in and nothing else.
pub(crate) struct SignInLinks {
    open: Mutex<Vec<String>>,
}

/// The error when the operating system supplies no random numbers.
#[derive(Debug)]
pub struct RandomnessError(getrandom::Error);

impl fmt::Display for RandomnessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no random numbers: {}", self.0)
    }
}

impl std::error::Error for RandomnessError {}

/// Returns a token of 128 random bits.
///
/// # Errors
/// If the operating system supplies no random numbers.
pub fn new_token() -> Result<String, RandomnessError> {
    random_bytes::<16>().map(|bytes| hex(&bytes))
}

/// Returns a secret of 256 random bits.
pub(crate) fn new_secret() -> Result<[u8; 32], RandomnessError> {
    random_bytes()
}

fn random_bytes<const N: usize>() -> Result<[u8; N], RandomnessError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(RandomnessError)?;
    Ok(bytes)
}

impl SignInLinks {
    pub(crate) fn new(access: &AccessSettings) -> Result<Self, RandomnessError> {
        let open: Result<Vec<String>, RandomnessError> = access.credentials.iter().map(|_| new_token()).collect();
        Ok(Self { open: Mutex::new(open?) })
    }

    /// Invalidates a link. Returns the index of its credential and the link that replaces it.
    pub(crate) fn take(&self, token: &str) -> Option<(usize, String)> {
        let next = new_token().ok()?;
        let mut open = self.open();
        let index = open.iter().position(|link| constant_time_eq(link.as_bytes(), token.as_bytes()))?;
        open[index].clone_from(&next);
        Some((index, next))
    }

    /// Replaces the link of a credential and returns the new one.
    pub(crate) fn replace(&self, index: usize) -> Result<String, RandomnessError> {
        let next = new_token()?;
        self.open()[index].clone_from(&next);
        Ok(next)
    }

    /// Returns the links, in the order of the credentials.
    pub(crate) fn all(&self) -> Vec<String> {
        self.open().clone()
    }

    fn open(&self) -> MutexGuard<'_, Vec<String>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AccessSettings {
    /// Returns the caller with this API token.
    pub(crate) fn caller_of_token(&self, token: &str) -> Option<CallerIdentity> {
        let found = self.credentials.iter().find(|known| constant_time_eq(known.token.as_bytes(), token.as_bytes()))?;
        Some(CallerIdentity { name: found.name.clone(), generation: None })
    }

    /// Returns a new session cookie for a credential, as `name=value`.
    pub(crate) fn new_cookie(&self, credential: usize) -> Option<String> {
        let name = self.credentials.get(credential)?.name.as_deref();
        let generation = self.key.generation(name);
        let body = format!("{}.{generation}.{}", new_token().ok()?, hex(name.unwrap_or_default().as_bytes()));
        let sign = hex(&sign(self.key.secret(), body.as_bytes()));
        Some(format!("{}={body}.{sign}", self.cookie_name()))
    }

    /// Returns the caller with this value of the session cookie, unless the session was revoked.
    pub(crate) fn caller_of_cookie(&self, value: &str) -> Option<CallerIdentity> {
        let (body, signature) = value.rsplit_once('.')?;
        if !constant_time_eq(hex(&sign(self.key.secret(), body.as_bytes())).as_bytes(), signature.as_bytes()) {
            return None;
        }
        let mut parts = body.split('.').skip(1);
        let generation = parts.next()?.parse().ok()?;
        let name = String::from_utf8(unhex(parts.next()?)?).ok()?;
        // An annotator who was removed from the list is signed out.
        let found = self.credentials.iter().find(|known| known.name.as_deref().unwrap_or_default() == name)?;
        let identity = CallerIdentity { name: found.name.clone(), generation: Some(generation) };
        self.is_current(&identity).then_some(identity)
    }

    /// Returns whether a session has not been revoked. API tokens are always current.
    pub(crate) fn is_current(&self, identity: &CallerIdentity) -> bool {
        identity.generation.is_none_or(|generation| generation == self.key.generation(identity.name.as_deref()))
    }

    /// Returns the name of the session cookie. Cookies are shared between ports, so the name contains the run.
    pub(crate) fn cookie_name(&self) -> String {
        // Browsers accept this prefix only from the host itself, over TLS.
        let prefix = if self.secure_cookie { "__Host-" } else { "" };
        format!("{prefix}querist-{}", &self.run()[..16])
    }

    /// Returns whether an address is one of the trusted proxies.
    pub(crate) fn is_trusted_proxy(&self, address: IpAddr) -> bool {
        self.trusted_proxies.iter().any(|proxy| proxy.to_canonical() == address.to_canonical())
    }

    /// Returns a public identifier of this ledger. Pages use it so that unsent answers never reach another ledger that
    /// is later served at the same address.
    pub(crate) fn run(&self) -> String {
        hex(&sign(self.key.secret(), b"run")[..16])
    }
}

/// Computes HMAC with SHA-256, for keys of at most 64 bytes.
fn sign(key: &[u8], message: &[u8]) -> [u8; 32] {
    let pad = |byte: u8| -> Vec<u8> {
        let key = key.iter().copied().chain(std::iter::repeat(0)).take(64);
        key.map(|key| key ^ byte).collect()
    };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
}

/// Returns whether two byte strings are equal, in time that does not depend on their content.
fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
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
    use super::*;

    fn access() -> (tempfile::TempDir, AccessSettings) {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyFile::open_or_create(&folder.path().join("run.ledger")).unwrap();
        let credentials = vec![Credential { name: Some("Ada".to_owned()), token: "t".repeat(32) }];
        let (secure_cookie, trusted_proxies) = (false, vec![]);
        let access = AccessSettings {
            credentials,
            key,
            hosts: vec![],
            numeric_hosts: false,
            port: 0,
            secure_cookie,
            trusted_proxies,
        };
        (folder, access)
    }

    fn value(access: &AccessSettings) -> String {
        access.new_cookie(0).unwrap().split_once('=').unwrap().1.to_owned()
    }

    #[test]
    fn signatures_match_the_vector_of_rfc_4231() {
        let signature = hex(&sign(b"Jefe", b"what do ya want for nothing?"));
        assert_eq!(signature, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn a_changed_cookie_is_rejected() {
        let (_folder, access) = access();
        let cookie = value(&access);
        assert_eq!(access.caller_of_cookie(&cookie).unwrap().name.as_deref(), Some("Ada"));
        for position in 0..cookie.len() {
            let mut bytes = cookie.clone().into_bytes();
            bytes[position] ^= 1;
            assert_eq!(access.caller_of_cookie(&String::from_utf8(bytes).unwrap()), None, "{position}");
        }
        let (_other_folder, other) = self::access();
        assert_eq!(other.caller_of_cookie(&cookie), None, "another secret");
        assert_ne!(cookie, value(&access), "each sign-in has a cookie of its own");
        assert_ne!(access.cookie_name(), other.cookie_name());
    }

    #[test]
    fn a_revoked_cookie_is_rejected_and_a_new_one_accepted() {
        let (_folder, access) = access();
        for revoked in [Some("Ada"), None] {
            let before = value(&access);
            access.key.revoke(Some("Ben")).unwrap();
            let identity = access.caller_of_cookie(&before).expect("another annotator was revoked");
            access.key.revoke(revoked).unwrap();
            assert_eq!(access.caller_of_cookie(&before), None);
            assert!(!access.is_current(&identity));
            assert!(access.caller_of_cookie(&value(&access)).is_some());
        }
        assert!(access.is_current(&access.caller_of_token(&"t".repeat(32)).unwrap()));
    }

    #[test]
    fn a_link_works_once_and_is_not_an_api_token() {
        let (_folder, access) = access();
        let links = SignInLinks::new(&access).unwrap();
        let first = links.all().remove(0);
        assert!(access.caller_of_token(&first).is_none());
        assert!(links.take(&"t".repeat(32)).is_none(), "an API token is no link");
        let (credential, next) = links.take(&first).unwrap();
        assert_eq!((credential, links.all()), (0, vec![next.clone()]));
        assert!(links.take(&first).is_none());
        assert!(access.caller_of_token(&first).is_none() && access.caller_of_token(&next).is_none());
        let replaced = links.replace(0).unwrap();
        assert!(links.take(&next).is_none());
        assert!(links.take(&replaced).is_some());
    }
}
