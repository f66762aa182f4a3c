//! Routing of requests and their handlers.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode, header};
use querist_engine::session::{AnswerId, AnswerOutcome, AskId, Rejection, Response, Session};
use querist_run::labeling::Images;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Duration, timeout};

use crate::admission::{Connections, Full, Ticket};
use crate::desk::Desk;
use crate::guard::{self, Failures};
use crate::login::{Access, Identity, Links};
use crate::notice::{Notice, OnNotice};
use crate::reply::{Reply, Trouble, bytes, finish, json as reply_json};
use crate::show::{self, Catalogue};
use crate::wire::{self, MOST_ANSWERS, MOST_HELD, NewAnswer};
use crate::{assets, images, live, openapi};

/// The state that all requests share.
pub(crate) struct House {
    pub(crate) desk: Arc<Desk>,
    pub(crate) catalogue: Catalogue,
    pub(crate) access: Access,
    pub(crate) links: Links,
    pub(crate) failures: Failures,
    pub(crate) images: Arc<Images>,
    pub(crate) statuses: watch::Sender<live::Published>,
    /// Becomes `true` when the server should end.
    pub(crate) over: watch::Sender<bool>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) on_notice: OnNotice,
}

impl House {
    /// Resolves when the server should end.
    pub(crate) async fn ending(&self) {
        let mut over = self.over.subscribe();
        // An error means that the sender was dropped, so the server has ended.
        let _ = over.wait_for(|over| *over).await;
    }

    /// Sends a notice to the operator. Printing can block, so other tasks of this thread move elsewhere first.
    pub(crate) fn notify(&self, notice: Notice<'_>) {
        tokio::task::block_in_place(|| (self.on_notice)(notice));
    }
}

/// The method, path and summary of each API route; `openapi` describes exactly these.
pub(crate) const ROUTES: [(&str, &str, &str); 11] = [
    ("POST", "/api/next", "The items a person should have"),
    ("POST", "/api/answers", "Answers, each acknowledged after it is on disk"),
    ("POST", "/api/undo", "Withdraws an answer"),
    ("POST", "/api/heartbeat", "Keeps items for a person who is still there"),
    ("POST", "/api/release", "Gives items back"),
    ("GET", "/api/history", "The last answers of a person"),
    ("GET", "/api/status", "How all is going"),
    ("GET", "/api/events", "The status, then its changes, as server-sent events"),
    ("GET", "/api/certificate", "What is known of the loss and the rule in use"),
    ("GET", "/api/openapi.json", "This document"),
    ("GET", "/health", "Whether the server is there"),
];

/// The time in which the body of a request must arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Answers a request that arrived on a connection from `peer`.
pub(crate) async fn answer(house: Arc<House>, request: Request<Incoming>, peer: IpAddr, ticket: &Ticket) -> Reply {
    let is_api = request.uri().path().starts_with("/api");
    let allowed = ROUTES.iter().find(|(_, path, _)| *path == request.uri().path()).map(|(method, _, _)| *method);
    let proxied = house.access.is_trusted_proxy(peer);
    let mut close = false;
    let reply = match identify(&house, &request, peer, ticket) {
        Ok(identity) => {
            // The next request on a proxy's connection can be another client's.
            close |= proxied && identity.is_none();
            route(&house, request, identity).await
        }
        Err(trouble) => Err(trouble),
    };
    let mut reply = finish(reply.unwrap_or_else(|trouble| {
        close |= ends_connection(&trouble);
        trouble.reply(is_api)
    }));
    if let Some(method) = allowed.filter(|_| reply.status() == StatusCode::METHOD_NOT_ALLOWED) {
        reply.headers_mut().insert(header::ALLOW, HeaderValue::from_static(method));
    }
    if close {
        reply.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    reply
}

/// Checks the credential of a request and moves its connection to the budget that it belongs to.
fn identify(
    house: &House,
    request: &Request<Incoming>,
    peer: IpAddr,
    ticket: &Ticket,
) -> Result<Option<Identity>, Trouble> {
    let identity = guard::identity(request.headers(), &house.access)?;
    match &identity {
        Some(identity) => ticket.authenticated(identity.clone()).map_err(|Full| {
            let hint = "wait a few seconds; the operator can raise --max-connections";
            Trouble::new(StatusCode::SERVICE_UNAVAILABLE, BUSY, "the server has too many connections", hint)
        })?,
        None => ticket.unauthenticated(guard::source(peer, request.headers(), &house.access)),
    }
    Ok(identity)
}

/// The error code for a request beyond the limit of connections.
const BUSY: &str = "busy";

/// Returns whether the connection is closed after this error. The rest of a body must not be parsed as another request,
/// and a connection that was not admitted must not stay open.
fn ends_connection(trouble: &Trouble) -> bool {
    let body_left = [
        StatusCode::BAD_REQUEST,
        StatusCode::PAYLOAD_TOO_LARGE,
        StatusCode::LENGTH_REQUIRED,
        StatusCode::REQUEST_TIMEOUT,
    ];
    trouble.code == BUSY || body_left.contains(&trouble.status)
}

async fn route(house: &Arc<House>, request: Request<Incoming>, identity: Option<Identity>) -> Result<Reply, Trouble> {
    let (head, body) = request.into_parts();
    let (method, path) = (&head.method, head.uri.path());
    guard::host(&head.headers, &house.access)?;
    let length = guard::body(&head.headers)?;
    if head.uri.authority().is_some() {
        return Err(Trouble::bad("this is not a proxy"));
    }
    if path == "/health" && *method == Method::GET {
        return Ok(bytes("text/plain; charset=utf-8", "ok"));
    }
    if *method == Method::GET && !path.starts_with("/api/") {
        return page(house, &head, path, identity.is_some());
    }
    let known = ROUTES.iter().any(|(_, known, _)| *known == path);
    if !ROUTES.iter().any(|(verb, known, _)| *known == path && *verb == method.as_str()) {
        let wrong =
            Trouble::new(StatusCode::METHOD_NOT_ALLOWED, "method", "not with this method", "see /api/openapi.json");
        return Err(if known { wrong } else { Trouble::missing() });
    }
    guard::origin(method, &head.headers, &house.access)?;
    let identity = identity.ok_or_else(|| unauthenticated(house, &head))?;
    guard::run(&head.headers, &house.access)?;
    let body = if 0 < length { collect(body).await? } else { Bytes::new() };
    Ok(match path {
        "/api/next" => next(house, &identity, &body).await?,
        "/api/answers" => answers(house, &identity, &body).await?,
        "/api/undo" => undo(house, &identity, &body).await?,
        "/api/heartbeat" => heartbeat(house, &identity, &body)?,
        "/api/release" => release(house, &identity, &body)?,
        "/api/history" => history(house, &identity, head.uri.query())?,
        "/api/status" => status(house, identity),
        "/api/events" => live::events(house),
        "/api/certificate" => certificate(house),
        "/api/openapi.json" => reply_json(&openapi::document(&house.access.run(), &house.access.cookie_name())),
        _ => return Err(Trouble::missing()),
    })
}

fn unauthenticated(house: &House, head: &Parts) -> Trouble {
    house.failures.one(head.headers.contains_key(header::AUTHORIZATION))
}

async fn collect(body: Incoming) -> Result<Bytes, Trouble> {
    let slow = || Trouble::new(StatusCode::REQUEST_TIMEOUT, "slow", "the body did not come in time", "send it again");
    match timeout(BODY_TIMEOUT, body.collect()).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(_)) => Err(Trouble::bad("the body broke off")),
        Err(_) => Err(slow()),
    }
}

/// Serves the page, its assets, and images. Exchanges a one-time link for a cookie.
fn page(house: &House, head: &Parts, path: &str, is_authenticated: bool) -> Result<Reply, Trouble> {
    if path == "/"
        && let Some(link) = wire::query(head.uri.query(), "link")
    {
        return sign_in(house, &link);
    }
    if let Some(name) = path.strip_prefix("/images/") {
        guard::origin(&head.method, &head.headers, &house.access)?;
        if !is_authenticated {
            return Err(unauthenticated(house, head));
        }
        let name = wire::decode(name).ok_or_else(Trouble::missing)?;
        // Large images take time, so other requests must not wait.
        return tokio::task::block_in_place(|| images::reply(&house.images, &name));
    }
    // The page contains no data, so it needs no credential; it shows whether you are signed in.
    assets::find(path).map(|(kind, body)| bytes(kind, body)).ok_or_else(Trouble::missing)
}

fn sign_in(house: &House, link: &str) -> Result<Reply, Trouble> {
    let Some((credential, next)) = house.links.take(link) else {
        let trouble = house.failures.one(true);
        let message = "this link was already used, or is not valid";
        return Err(Trouble {
            message: message.to_owned(),
            hint: "the server prints a new link whenever one is used",
            ..trouble
        });
    };
    let cookie = house.access.new_cookie(credential).ok_or_else(|| Trouble::bad("no random numbers"))?;
    let annotator = house.access.credentials[credential].name.as_deref();
    house.notify(Notice::LinkUsed { next: &next, annotator });
    let mut reply = bytes("text/plain; charset=utf-8", "");
    *reply.status_mut() = StatusCode::SEE_OTHER;
    let headers = reply.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::from_static("/"));
    let secure = if house.access.secure_cookie { "; Secure" } else { "" };
    let cookie = format!("{cookie}; HttpOnly; SameSite=Strict; Path=/{secure}");
    headers.insert(header::SET_COOKIE, cookie.parse().map_err(|_| Trouble::bad("no cookie"))?);
    Ok(reply)
}

async fn next(house: &House, identity: &Identity, body: &[u8]) -> Result<Reply, Trouble> {
    let request: wire::Next = wire::parse(body)?;
    let name = wire::name(&request.annotator, identity)?;
    let n = usize::try_from(request.n.0).ok().filter(|n| (1..=MOST_HELD).contains(n));
    let n = n.ok_or_else(|| Trouble::bad(format!("n is 1 to {MOST_HELD}")))?;
    let shown = house.desk.write(|session, now, events| {
        let assignment = session.next(&name, n, now, events);
        show::assignment(house, session, &assignment, &name)
    });
    Ok(reply_json(&shown.await?))
}

fn refused(ask: AskId, key: &str, why: &str) -> Value {
    json!({"ask": ask, "key": key, "status": "refused", "why": why})
}

async fn answers(house: &House, identity: &Identity, body: &[u8]) -> Result<Reply, Trouble> {
    let requests: Vec<wire::Answer> = wire::parse(body)?;
    if MOST_ANSWERS < requests.len() {
        return Err(Trouble::bad(format!("more than {MOST_ANSWERS} answers at once")));
    }
    let checked: Vec<NewAnswer> =
        requests.iter().map(|request| request.check(identity, &house.catalogue)).collect::<Result<_, _>>()?;
    let shown = house.desk.write(|session, now, events| {
        if let Some(key) = conflict(session, &checked) {
            return Err(Trouble::conflict(key));
        }
        let acknowledge = |NewAnswer { ask, name, key, response }: &NewAnswer| {
            // A skip does not judge the image, and an answer that is already saved stays saved.
            let is_judgment =
                *response != Response::Skip && matches!(session.recorded(name, *ask, key, *response), Ok(None));
            if let Some(image) = changed_image(house, session, *ask).filter(|_| is_judgment) {
                let why =
                    format!("its image {image} has changed since it was asked; restore the file, or skip the item");
                return refused(*ask, key, &why);
            }
            let (status, number) = match session.answer(name, *ask, key, *response, now, events) {
                Ok(AnswerOutcome::Saved(number)) => ("saved", number),
                Ok(AnswerOutcome::Late(number)) => ("late", number),
                Ok(AnswerOutcome::Repeated(number)) => ("repeated", number),
                Err(why) => return refused(*ask, key, &why.to_string()),
            };
            json!({"ask": ask, "key": &**key, "status": status, "answer": number})
        };
        Ok(checked.iter().map(acknowledge).collect())
    });
    Ok(reply_json(&Value::Array(shown.await??)))
}

/// Returns an image of an asked item that did not match its digest when it was last requested.
fn changed_image(house: &House, session: &Session, ask: AskId) -> Option<String> {
    if !house.images.has_changes() {
        return None;
    }
    let row = session.item(ask)?.row?;
    let images = (house.catalogue.fields)(row).into_iter().filter(|field| field.kind == "image");
    let mut names = images.filter_map(|field| wire::decode(field.value.strip_prefix("/images/")?));
    names.find(|name| house.images.is_changed(name))
}

/// Returns a key that was already used for a different answer, in an earlier request or earlier in this one.
fn conflict<'a>(session: &Session, answers: &'a [NewAnswer]) -> Option<&'a str> {
    let mut seen: HashMap<&str, &NewAnswer> = HashMap::new();
    let conflicting = answers.iter().find(|answer| {
        let NewAnswer { ask, name, key, response } = answer;
        let before = seen.insert(key, answer);
        session.recorded(name, *ask, key, *response).is_err() || before.is_some_and(|before| before != *answer)
    });
    conflicting.map(|answer| &*answer.key)
}

async fn undo(house: &House, identity: &Identity, body: &[u8]) -> Result<Reply, Trouble> {
    let request: wire::Undo = wire::parse(body)?;
    let name = wire::name(&request.annotator, identity)?;
    let key = wire::key(&request.key)?;
    let shown = house.desk.write(|session, now, events| {
        let undone = session.undo(&name, &key, request.answer.map(|answer| AnswerId::new(answer.0)), now, events)?;
        Ok(match undone {
            None => json!({"undone": null, "items": []}),
            Some(undone) => {
                let mut fields = serde_json::Map::new();
                fields.insert("answer".to_owned(), undone.answer.get().into());
                fields.insert("ask".to_owned(), undone.ask.get().into());
                fields.insert("item".to_owned(), session.item(undone.ask).map(|item| item.id.to_string()).into());
                fields.extend(show::said(house, undone.response));
                let items: Vec<Value> = show::item(house, session, undone.ask, &name).into_iter().collect();
                json!({"undone": fields, "items": items})
            }
        })
    });
    match shown.await? {
        Ok(shown) => Ok(reply_json(&shown)),
        Err(Rejection::KeyConflict) => Err(Trouble::conflict(&key)),
        Err(why @ Rejection::NotYours) => {
            Err(Trouble::forbidden("not-yours", &why.to_string(), "undo your own answers"))
        }
        Err(why) => {
            let hint = "GET /api/history lists the answers that can be undone";
            Err(Trouble::new(StatusCode::NOT_FOUND, "unknown-answer", why.to_string(), hint))
        }
    }
}

/// Replies with the status of the session, and with the caller's name if the credential has one.
fn status(house: &Arc<House>, identity: Identity) -> Reply {
    let mut status = show::status(house);
    status["you"] = identity.name.into();
    reply_json(&status)
}

/// Replies with the certificate. This takes time, so other requests must not wait.
fn certificate(house: &House) -> Reply {
    let scale = house.desk.look(|session, _| session.scale());
    reply_json(&tokio::task::block_in_place(|| (house.catalogue.certificate)(scale)))
}

fn heartbeat(house: &House, identity: &Identity, body: &[u8]) -> Result<Reply, Trouble> {
    let request: wire::Asks = wire::parse(body)?;
    let name = wire::name(&request.annotator, identity)?;
    let (held, lost) = house.desk.touch(|session, now| session.heartbeat(&name, &request.ids(), now.tick));
    Ok(reply_json(&json!({"held": held, "lost": lost})))
}

fn release(house: &House, identity: &Identity, body: &[u8]) -> Result<Reply, Trouble> {
    let request: wire::Asks = wire::parse(body)?;
    let name = wire::name(&request.annotator, identity)?;
    house.desk.touch(|session, _| session.release(&name, &request.ids()));
    Ok(reply_json(&json!({})))
}

fn history(house: &House, identity: &Identity, query: Option<&str>) -> Result<Reply, Trouble> {
    let name = wire::query(query, "annotator").ok_or_else(|| Trouble::bad("whose? say annotator=NAME"))?;
    let name = wire::name(&name, identity)?;
    let n = wire::query(query, "n").map_or(Ok(10), |n| n.parse::<usize>());
    let n = n.ok().filter(|n| (1..=1000).contains(n)).ok_or_else(|| Trouble::bad("n is 1 to 1000"))?;
    Ok(reply_json(&house.desk.look(|session, _| show::history(house, session, &name, n))))
}
