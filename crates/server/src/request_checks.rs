//! Checks that reject a request before it is processed: host, origin, run, body and credential.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::{self, HeaderMap, HeaderName};
use hyper::{Method, StatusCode};

use crate::admission::{ClientSource, network};
use crate::credentials::{AccessSettings, CallerIdentity};
use crate::reply::HttpError;

const CSRF_HEADER: HeaderName = HeaderName::from_static("x-querist");
const RUN_HEADER: HeaderName = HeaderName::from_static("x-querist-run");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// The maximum size of a request body, in bytes.
pub(crate) const MAX_BODY_BYTES: u64 = 1 << 20;
/// The number of wrong tokens after which further ones get the status 429.
const MAX_WRONG_TOKENS: u64 = 50;

/// A counter of wrong tokens.
#[derive(Default)]
pub(crate) struct WrongTokenCounter(AtomicU64);

/// Returns the value of a header that may appear once at most.
///
/// # Errors
/// If it appears twice, or is not text.
fn single_value<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, HttpError> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(HttpError::bad(format!("the header `{name}` appears more than once")));
    }
    match first.map(|value| value.to_str()) {
        None => Ok(None),
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(_)) => Err(HttpError::bad(format!("the header `{name}` is not text"))),
    }
}

/// Checks the `Host` header against DNS rebinding: another site could resolve its own name to this server.
pub(crate) fn check_host(headers: &HeaderMap, access: &AccessSettings) -> Result<(), HttpError> {
    let Some(host) = single_value(headers, &header::HOST)? else {
        return Err(HttpError::bad("the header `host` is missing"));
    };
    if is_own_host(host, access) {
        return Ok(());
    }
    let hint = "open the printed address, or allow the name with --allow-host";
    Err(HttpError::new(StatusCode::MISDIRECTED_REQUEST, "wrong-host", "the host name is not one of this server", hint))
}

fn is_own_host(host: &str, access: &AccessSettings) -> bool {
    if access.hosts.iter().any(|ours| ours.eq_ignore_ascii_case(host)) {
        return true;
    }
    let Some((address, port)) = host.rsplit_once(':') else { return false };
    let address = address.trim_start_matches('[').trim_end_matches(']');
    access.numeric_hosts && port.parse() == Ok(access.port) && address.parse::<IpAddr>().is_ok()
}

/// Checks that a request comes from our own page or from a program, never from another site's page.
pub(crate) fn check_origin(method: &Method, headers: &HeaderMap, access: &AccessSettings) -> Result<(), HttpError> {
    let cross_site =
        || HttpError::forbidden("cross-site", "requests from other sites are rejected", "use the page itself");
    if let Some(site) = single_value(headers, &FETCH_SITE)?
        && !["same-origin", "none"].contains(&site)
    {
        return Err(cross_site());
    }
    if let Some(origin) = single_value(headers, &header::ORIGIN)? {
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        if !host.is_some_and(|host| is_own_host(host, access)) {
            return Err(cross_site());
        }
    }
    if *method != Method::POST {
        return Ok(());
    }
    if single_value(headers, &CSRF_HEADER)? != Some("1") {
        let hint = "send the header `X-Querist: 1`";
        return Err(HttpError::forbidden("no-mark", "the header x-querist is missing", hint));
    }
    let kind = single_value(headers, &header::CONTENT_TYPE)?.unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let hint = "send `Content-Type: application/json`";
        return Err(HttpError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", "the body must be JSON", hint));
    }
    Ok(())
}

/// Checks that a page belongs to this ledger. A page can outlive its server, and its unsent answers must not reach
/// another ledger.
pub(crate) fn check_run(headers: &HeaderMap, access: &AccessSettings) -> Result<(), HttpError> {
    if single_value(headers, &RUN_HEADER)?.is_none_or(|run| run == access.run()) {
        return Ok(());
    }
    let hint = "reload the page; unsent answers for the other ledger are kept";
    Err(HttpError::new(StatusCode::CONFLICT, "other-run", "the server has another ledger", hint))
}

/// Checks that the length of the body is declared and within the limit, and returns it. Chunked bodies are rejected,
/// because they enable request smuggling.
pub(crate) fn check_body_length(headers: &HeaderMap) -> Result<u64, HttpError> {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        let hint = "send `Content-Length`";
        return Err(HttpError::new(
            StatusCode::LENGTH_REQUIRED,
            "no-length",
            "the length of the body is not declared",
            hint,
        ));
    }
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(HttpError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "compressed",
            "the body must not be compressed",
            "",
        ));
    }
    let length = match single_value(headers, &header::CONTENT_LENGTH)? {
        None => 0,
        Some(length) => length.parse().map_err(|_| HttpError::bad("the header `content-length` is not a number"))?,
    };
    if MAX_BODY_BYTES < length {
        let hint = "send fewer answers in one request";
        return Err(HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, "too-long", "the body is larger than 1 MiB", hint));
    }
    Ok(length)
}

/// Returns the authenticated caller of a request, or `None` if it has no valid credential.
pub(crate) fn authenticate(headers: &HeaderMap, access: &AccessSettings) -> Result<Option<CallerIdentity>, HttpError> {
    if let Some(value) = single_value(headers, &header::AUTHORIZATION)? {
        return Ok(value.strip_prefix("Bearer ").and_then(|token| access.caller_of_token(token)));
    }
    let name = access.cookie_name();
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = cookies.flat_map(|value| value.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    Ok(cookies.find_map(|(found, value)| if found == name { access.caller_of_cookie(value) } else { None }))
}

/// Returns the address that a request counts against. A trusted proxy appends its client's address to
/// `X-Forwarded-For`; entries further left come from the client and are not trusted.
pub(crate) fn client_source(peer: IpAddr, headers: &HeaderMap, access: &AccessSettings) -> ClientSource {
    if !access.is_trusted_proxy(peer) {
        return Some(network(peer));
    }
    let values = headers.get_all(&FORWARDED_FOR).iter().map(|value| value.to_str().unwrap_or_default());
    let entries: Vec<&str> = values.flat_map(|value| value.split(',')).collect();
    let address = |entry: &str| {
        let with_port = entry.parse::<SocketAddr>().map(|address| address.ip());
        entry.parse::<IpAddr>().or(with_port).ok()
    };
    let mut addresses = entries.into_iter().rev().map(|entry| address(entry.trim()));
    let client = addresses.find(|address| address.is_none_or(|address| !access.is_trusted_proxy(address)));
    client.flatten().map(network)
}

impl WrongTokenCounter {
    /// Returns the error for a request without a valid credential; after many wrong tokens, a wrong one gets 429.
    pub(crate) fn unauthenticated(&self, has_token: bool) -> HttpError {
        let hint = "open the link that `querist label` printed, or send `Authorization: Bearer TOKEN`";
        if has_token && MAX_WRONG_TOKENS <= self.0.fetch_add(1, Ordering::Relaxed) {
            return HttpError::new(StatusCode::TOO_MANY_REQUESTS, "too-many", "too many wrong tokens", hint);
        }
        HttpError::new(StatusCode::UNAUTHORIZED, "signed-out", "you are not signed in", hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_file::KeyFile;

    #[test]
    fn only_addresses_from_trusted_proxies_identify_clients() {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyFile::open_or_create(&folder.path().join("run.ledger")).unwrap();
        let trusted_proxies: Vec<IpAddr> = ["10.0.0.1", "10.0.0.2"].map(|text| text.parse().unwrap()).to_vec();
        let (credentials, hosts, numeric_hosts, port, secure_cookie) = (vec![], vec![], false, 0, false);
        let access = AccessSettings { credentials, key, hosts, numeric_hosts, port, secure_cookie, trusted_proxies };
        let source = |peer: &str, forwarded: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in forwarded {
                headers.append(FORWARDED_FOR, value.parse().unwrap());
            }
            super::client_source(peer.parse().unwrap(), &headers, &access).map(|address| address.to_string())
        };
        let named = |text: &str| Some(text.to_owned());
        assert_eq!(source("192.0.2.1", &["198.51.100.1"]), named("192.0.2.1"), "an untrusted peer names nobody");
        assert_eq!(source("10.0.0.1", &["198.51.100.1"]), named("198.51.100.1"));
        assert_eq!(source("::ffff:10.0.0.1", &["198.51.100.1"]), named("198.51.100.1"));
        assert_eq!(source("10.0.0.1", &["203.0.113.9, 198.51.100.1"]), named("198.51.100.1"), "the left one is forged");
        assert_eq!(source("10.0.0.1", &["203.0.113.9", "198.51.100.1, 10.0.0.2"]), named("198.51.100.1"));
        assert_eq!(source("10.0.0.1", &["198.51.100.1:4711"]), named("198.51.100.1"));
        assert_eq!(source("10.0.0.1", &["[2001:db8:1:2:3::4]:80"]), named("2001:db8:1:2::"), "a network of IPv6");
        assert_eq!(source("2001:db8:1:2:3::4", &[]), named("2001:db8:1:2::"));
        for unnamed in [&[][..], &[""], &["unknown"], &["198.51.100.1, unknown"], &["10.0.0.2"]] {
            assert_eq!(source("10.0.0.1", unnamed), None, "{unnamed:?}");
        }
    }
}
