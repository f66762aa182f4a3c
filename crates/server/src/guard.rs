//! What is refused before anything else is looked at.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::{self, HeaderMap, HeaderName};
use hyper::{Method, StatusCode};

use crate::login::{Access, Identity};
use crate::reply::Trouble;

const MARK: HeaderName = HeaderName::from_static("x-querist");
const RUN: HeaderName = HeaderName::from_static("x-querist-run");
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The name of the cookie.
pub(crate) const COOKIE: &str = "querist";
/// Bodies are this long at most.
pub(crate) const LONGEST: u64 = 1 << 20;
/// After so many wrong tokens, a wrong one is told to wait.
const PATIENCE: u64 = 50;

/// Counts wrong tokens.
#[derive(Default)]
pub(crate) struct Failures(AtomicU64);

/// One value of a header; several are an error.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Trouble> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(Trouble::bad(format!("two headers `{name}`")));
    }
    match first.map(|value| value.to_str()) {
        None => Ok(None),
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(_)) => Err(Trouble::bad(format!("the header `{name}` is no text"))),
    }
}

/// A page of another site must not reach this server by a name that its owner points here.
pub(crate) fn host(headers: &HeaderMap, access: &Access) -> Result<(), Trouble> {
    let Some(host) = only(headers, &header::HOST)? else {
        return Err(Trouble::bad("no header `host`"));
    };
    if is_ours(host, access) {
        return Ok(());
    }
    let hint = "open the address that was printed; --allow-host names others";
    Err(Trouble::new(StatusCode::MISDIRECTED_REQUEST, "wrong-host", "this server has another name", hint))
}

fn is_ours(host: &str, access: &Access) -> bool {
    if access.hosts.iter().any(|ours| ours.eq_ignore_ascii_case(host)) {
        return true;
    }
    let Some((address, port)) = host.rsplit_once(':') else { return false };
    let address = address.trim_start_matches('[').trim_end_matches(']');
    access.numeric_hosts && port.parse() == Ok(access.port) && address.parse::<IpAddr>().is_ok()
}

/// What changes something comes from our own page or from a program, never from another site's page.
pub(crate) fn origin(method: &Method, headers: &HeaderMap, access: &Access) -> Result<(), Trouble> {
    let foreign = || Trouble::forbidden("cross-site", "requests from other sites are refused", "use the page itself");
    if let Some(site) = only(headers, &SITE)?
        && !["same-origin", "none"].contains(&site)
    {
        return Err(foreign());
    }
    if let Some(origin) = only(headers, &header::ORIGIN)? {
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        if !host.is_some_and(|host| is_ours(host, access)) {
            return Err(foreign());
        }
    }
    if *method != Method::POST {
        return Ok(());
    }
    if only(headers, &MARK)? != Some("1") {
        let hint = "send the header `X-Querist: 1`";
        return Err(Trouble::forbidden("no-mark", "the header x-querist is missing", hint));
    }
    let kind = only(headers, &header::CONTENT_TYPE)?.unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let hint = "send `Content-Type: application/json`";
        return Err(Trouble::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", "a body must be JSON", hint));
    }
    Ok(())
}

/// A page may outlive its server: what it still has to send is for its own ledger, not for the one served here now.
pub(crate) fn run(headers: &HeaderMap, access: &Access) -> Result<(), Trouble> {
    if only(headers, &RUN)?.is_none_or(|run| run == access.run()) {
        return Ok(());
    }
    let hint = "load the page again; what waits for the other ledger is kept";
    Err(Trouble::new(StatusCode::CONFLICT, "other-run", "another ledger is served here", hint))
}

/// Bodies say how long they are, and are short. Pieces of unknown length are where requests are smuggled.
pub(crate) fn body(headers: &HeaderMap) -> Result<u64, Trouble> {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        let hint = "send `Content-Length`";
        return Err(Trouble::new(StatusCode::LENGTH_REQUIRED, "no-length", "a body must say how long it is", hint));
    }
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Trouble::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "compressed", "a body must be plain", ""));
    }
    let length = match only(headers, &header::CONTENT_LENGTH)? {
        None => 0,
        Some(length) => length.parse().map_err(|_| Trouble::bad("a content-length that is no number"))?,
    };
    if LONGEST < length {
        let hint = "send fewer answers at once";
        return Err(Trouble::new(StatusCode::PAYLOAD_TOO_LARGE, "too-long", "a body of more than 1 MiB", hint));
    }
    Ok(length)
}

/// Who sends this.
pub(crate) fn identity(headers: &HeaderMap, access: &Access, failures: &Failures) -> Result<Identity, Trouble> {
    let bearer = only(headers, &header::AUTHORIZATION)?;
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let found = match bearer {
        Some(value) => value.strip_prefix("Bearer ").and_then(|token| access.bearer(token)),
        None => cookies
            .flat_map(|value| value.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .filter(|(name, _)| *name == COOKIE)
            .find_map(|(_, value)| access.bearer_of_cookie(value)),
    };
    found.ok_or_else(|| failures.one(bearer.is_some()))
}

impl Failures {
    /// A wrong token, or none; those who guess are told to wait, those who know are not.
    pub(crate) fn one(&self, guessed: bool) -> Trouble {
        let hint = "open the link that `querist label` printed, or send `Authorization: Bearer TOKEN`";
        if guessed && PATIENCE <= self.0.fetch_add(1, Ordering::Relaxed) {
            return Trouble::new(StatusCode::TOO_MANY_REQUESTS, "too-many", "too many wrong tokens", hint);
        }
        Trouble::new(StatusCode::UNAUTHORIZED, "signed-out", "you are not signed in", hint)
    }
}
