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
use querist_engine::session::{
    AnswerId, AnswerOutcome, AskId, Rejection, Response, Session, SessionEvent, SessionTime,
};
use tokio::time::{Duration, timeout};

use crate::admission::{ConnectionLimitReached, Ticket};
use crate::app_state::AppState;
use crate::credentials::CallerIdentity;
use crate::operator_events::OperatorEvent;
use crate::reply::{HttpError, Reply, bytes, finish, json as reply_json};
use crate::views;
use crate::wire::replies::{Acknowledgement, AnswerStatus, FieldKind, HeartbeatReply, ReleaseReply, UndoReply};
use crate::wire::requests::{
    AnswersRequest, AsksRequest, CheckedAnswer, HistoryQuery, NextRequest, UndoRequest, check_key, check_name,
};
use crate::wire::status::StatusReply;
use crate::{assets, event_stream, images, openapi, request_checks, wire};

/// The method, path and summary of each API route; `openapi` describes exactly these.
pub(crate) const ROUTES: [(&str, &str, &str); 11] = [
    ("POST", "/api/next", "Assigns items to an annotator"),
    ("POST", "/api/answers", "Saves answers; each is acknowledged after it is on disk"),
    ("POST", "/api/undo", "Withdraws an answer"),
    ("POST", "/api/heartbeat", "Renews the leases on items"),
    ("POST", "/api/release", "Ends the leases on items"),
    ("GET", "/api/history", "Lists the last answers of an annotator"),
    ("GET", "/api/status", "Returns the status of the session"),
    ("GET", "/api/events", "Streams the status and its changes as server-sent events"),
    ("GET", "/api/certificate", "Returns what is proved about the loss and the rule in use"),
    ("GET", "/api/openapi.json", "Returns this document"),
    ("GET", "/health", "Returns `ok` if the server is running"),
];

/// The time in which the body of a request must arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Answers a request that arrived on a connection from `peer`.
pub(crate) async fn answer(state: Arc<AppState>, request: Request<Incoming>, peer: IpAddr, ticket: &Ticket) -> Reply {
    let is_api = request.uri().path().starts_with("/api");
    let allowed = ROUTES.iter().find(|(_, path, _)| *path == request.uri().path()).map(|(method, _, _)| *method);
    let proxied = state.access.is_trusted_proxy(peer);
    let mut close = false;
    let reply = match identify(&state, &request, peer, ticket) {
        Ok(identity) => {
            // The next request on a proxy's connection can be another client's.
            close |= proxied && identity.is_none();
            route(&state, request, identity).await
        }
        Err(error) => Err(error),
    };
    let mut reply = finish(reply.unwrap_or_else(|error| {
        close |= ends_connection(&error);
        error.reply(is_api)
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
    state: &AppState,
    request: &Request<Incoming>,
    peer: IpAddr,
    ticket: &Ticket,
) -> Result<Option<CallerIdentity>, HttpError> {
    let identity = request_checks::authenticate(request.headers(), &state.access)?;
    match &identity {
        Some(identity) => ticket.authenticated(identity.clone()).map_err(|ConnectionLimitReached| {
            let hint = "wait a few seconds; the operator can raise --max-connections";
            HttpError::new(StatusCode::SERVICE_UNAVAILABLE, BUSY, "the server has too many connections", hint)
        })?,
        None => ticket.unauthenticated(request_checks::client_source(peer, request.headers(), &state.access)),
    }
    Ok(identity)
}

/// The error code for a request beyond the limit of connections.
const BUSY: &str = "busy";

/// Returns whether the connection is closed after this error. The rest of a body must not be parsed as another request,
/// and a connection that was not admitted must not stay open.
fn ends_connection(error: &HttpError) -> bool {
    let body_left = [
        StatusCode::BAD_REQUEST,
        StatusCode::PAYLOAD_TOO_LARGE,
        StatusCode::LENGTH_REQUIRED,
        StatusCode::REQUEST_TIMEOUT,
    ];
    error.code == BUSY || body_left.contains(&error.status)
}

async fn route(
    state: &Arc<AppState>,
    request: Request<Incoming>,
    identity: Option<CallerIdentity>,
) -> Result<Reply, HttpError> {
    let (head, body) = request.into_parts();
    let (method, path) = (&head.method, head.uri.path());
    request_checks::check_host(&head.headers, &state.access)?;
    let length = request_checks::check_body_length(&head.headers)?;
    if head.uri.authority().is_some() {
        return Err(HttpError::bad("this is not a proxy"));
    }
    if path == "/health" && *method == Method::GET {
        return Ok(bytes("text/plain; charset=utf-8", "ok"));
    }
    if *method == Method::GET && !path.starts_with("/api/") {
        return page(state, &head, path, identity.is_some());
    }
    let known = ROUTES.iter().any(|(_, known, _)| *known == path);
    if !ROUTES.iter().any(|(verb, known, _)| *known == path && *verb == method.as_str()) {
        let wrong = HttpError::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method",
            "this path does not accept this method",
            "see /api/openapi.json",
        );
        return Err(if known { wrong } else { HttpError::missing() });
    }
    request_checks::check_origin(method, &head.headers, &state.access)?;
    let identity = identity.ok_or_else(|| unauthenticated(state, &head))?;
    request_checks::check_run(&head.headers, &state.access)?;
    let body = if 0 < length { collect(body).await? } else { Bytes::new() };
    Ok(match path {
        "/api/next" => next(state, &identity, &body).await?,
        "/api/answers" => answers(state, &identity, &body).await?,
        "/api/undo" => undo(state, &identity, &body).await?,
        "/api/heartbeat" => heartbeat(state, &identity, &body)?,
        "/api/release" => release(state, &identity, &body)?,
        "/api/history" => history(state, &identity, head.uri.query())?,
        "/api/status" => status(state, identity),
        "/api/events" => event_stream::reply(state),
        "/api/certificate" => certificate(state),
        "/api/openapi.json" => reply_json(&openapi::document(&state.access.run(), &state.access.cookie_name())),
        _ => return Err(HttpError::missing()),
    })
}

fn unauthenticated(state: &AppState, head: &Parts) -> HttpError {
    state.wrong_tokens.unauthenticated(head.headers.contains_key(header::AUTHORIZATION))
}

async fn collect(body: Incoming) -> Result<Bytes, HttpError> {
    let slow =
        || HttpError::new(StatusCode::REQUEST_TIMEOUT, "slow", "the body did not arrive in time", "send it again");
    match timeout(BODY_TIMEOUT, body.collect()).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(_)) => Err(HttpError::bad("the body is incomplete")),
        Err(_) => Err(slow()),
    }
}

/// Serves the page, its assets, and images. Exchanges a one-time link for a cookie.
fn page(state: &AppState, head: &Parts, path: &str, is_authenticated: bool) -> Result<Reply, HttpError> {
    if path == "/"
        && let Some(link) = wire::query(head.uri.query(), "link")
    {
        return sign_in(state, &link);
    }
    if let Some(name) = path.strip_prefix("/images/") {
        request_checks::check_origin(&head.method, &head.headers, &state.access)?;
        if !is_authenticated {
            return Err(unauthenticated(state, head));
        }
        let name = wire::decode(name).ok_or_else(HttpError::missing)?;
        // Large images take time, so other requests must not wait.
        return tokio::task::block_in_place(|| images::reply(&state.images, &name));
    }
    // The page contains no data, so it needs no credential; it shows whether you are signed in.
    assets::find(path).map(|(kind, body)| bytes(kind, body)).ok_or_else(HttpError::missing)
}

fn sign_in(state: &AppState, link: &str) -> Result<Reply, HttpError> {
    let Some((credential, next)) = state.links.take(link) else {
        let error = state.wrong_tokens.unauthenticated(true);
        let message = "this link was already used, or is not valid";
        return Err(HttpError {
            message: message.to_owned(),
            hint: "the server prints a new link whenever one is used",
            ..error
        });
    };
    let cookie = state.access.new_cookie(credential).ok_or_else(|| HttpError::bad("no random numbers"))?;
    let annotator = state.access.credentials[credential].name.as_deref();
    state.notify(OperatorEvent::LinkUsed { next: &next, annotator });
    let mut reply = bytes("text/plain; charset=utf-8", "");
    *reply.status_mut() = StatusCode::SEE_OTHER;
    let headers = reply.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::from_static("/"));
    let secure = if state.access.secure_cookie { "; Secure" } else { "" };
    let cookie = format!("{cookie}; HttpOnly; SameSite=Strict; Path=/{secure}");
    headers.insert(header::SET_COOKIE, cookie.parse().map_err(|_| HttpError::bad("the cookie is invalid"))?);
    Ok(reply)
}

async fn next(state: &AppState, identity: &CallerIdentity, body: &[u8]) -> Result<Reply, HttpError> {
    let request: NextRequest = wire::parse(body)?;
    let name = check_name(&request.annotator, identity)?;
    let n = request.item_count()?;
    let reply = state.store.commit(|session, now, events| {
        let assignment = session.next(&name, n, now, events);
        views::next(state, session, &assignment, &name)
    });
    Ok(reply_json(&reply.await?))
}

async fn answers(state: &AppState, identity: &CallerIdentity, body: &[u8]) -> Result<Reply, HttpError> {
    let request: AnswersRequest = wire::parse(body)?;
    let checked = request.check(identity, &state.catalog)?;
    let acknowledgements = state.store.commit(|session, now, events| {
        if let Some(key) = conflict(session, &checked) {
            return Err(HttpError::conflict(key));
        }
        Ok(checked.iter().map(|answer| save(state, session, answer, now, events)).collect::<Vec<_>>())
    });
    Ok(reply_json(&acknowledgements.await??))
}

/// Saves an answer, unless the session refuses it or its image has changed.
fn save(
    state: &AppState,
    session: &mut Session,
    CheckedAnswer { ask, name, key, response }: &CheckedAnswer,
    now: SessionTime,
    events: &mut Vec<SessionEvent>,
) -> Acknowledgement {
    let acknowledge = |status: AnswerStatus, answer: Option<AnswerId>, why: Option<String>| {
        let (ask, key, answer) = (ask.get(), key.to_string(), answer.map(AnswerId::get));
        Acknowledgement { ask, key, status, answer, why }
    };
    // A skip does not judge the image, and an answer that is already saved stays saved.
    let is_judgment = *response != Response::Skip && matches!(session.recorded(name, *ask, key, *response), Ok(None));
    if let Some(image) = changed_image(state, session, *ask).filter(|_| is_judgment) {
        let why = format!("its image {image} has changed since it was asked; restore the file, or skip the item");
        return acknowledge(AnswerStatus::Refused, None, Some(why));
    }
    match session.answer(name, *ask, key, *response, now, events) {
        Ok(AnswerOutcome::Saved(number)) => acknowledge(AnswerStatus::Saved, Some(number), None),
        Ok(AnswerOutcome::Late(number)) => acknowledge(AnswerStatus::Late, Some(number), None),
        Ok(AnswerOutcome::Repeated(number)) => acknowledge(AnswerStatus::Repeated, Some(number), None),
        Err(why) => acknowledge(AnswerStatus::Refused, None, Some(why.to_string())),
    }
}

/// Returns an image of an asked item that did not match its digest when it was last requested.
fn changed_image(state: &AppState, session: &Session, ask: AskId) -> Option<String> {
    if !state.images.has_changes() {
        return None;
    }
    let row = session.item(ask)?.row?;
    let images = (state.catalog.fields)(row).into_iter().filter(|field| field.kind == FieldKind::Image);
    let mut names = images.filter_map(|field| wire::decode(field.value.strip_prefix("/images/")?));
    names.find(|name| state.images.is_changed(name))
}

/// Returns a key that was already used for a different answer, in an earlier request or earlier in this one.
fn conflict<'a>(session: &Session, answers: &'a [CheckedAnswer]) -> Option<&'a str> {
    let mut by_key: HashMap<&str, &CheckedAnswer> = HashMap::new();
    let conflicting = answers.iter().find(|answer| {
        let CheckedAnswer { ask, name, key, response } = answer;
        let before = by_key.insert(key, answer);
        session.recorded(name, *ask, key, *response).is_err() || before.is_some_and(|before| before != *answer)
    });
    conflicting.map(|answer| &*answer.key)
}

async fn undo(state: &AppState, identity: &CallerIdentity, body: &[u8]) -> Result<Reply, HttpError> {
    let request: UndoRequest = wire::parse(body)?;
    let name = check_name(&request.annotator, identity)?;
    let key = check_key(&request.key)?;
    let reply = state.store.commit(|session, now, events| {
        let undone = session.undo(&name, &key, request.answer.map(|answer| AnswerId::new(answer.0)), now, events)?;
        Ok(undone
            .map_or(UndoReply { undone: None, items: vec![] }, |undone| views::undone(state, session, &undone, &name)))
    });
    match reply.await? {
        Ok(reply) => Ok(reply_json(&reply)),
        Err(Rejection::KeyConflict) => Err(HttpError::conflict(&key)),
        Err(why @ Rejection::NotYours) => {
            Err(HttpError::forbidden("not-yours", &why.to_string(), "undo your own answers"))
        }
        Err(why) => {
            let hint = "GET /api/history lists the answers that can be undone";
            Err(HttpError::new(StatusCode::NOT_FOUND, "unknown-answer", why.to_string(), hint))
        }
    }
}

/// Replies with the status of the session, and with the caller's name if the credential has one.
fn status(state: &AppState, identity: CallerIdentity) -> Reply {
    reply_json(&StatusReply { you: Some(identity.name), ..views::status::status(state) })
}

/// Replies with the certificate. This takes time, so other requests must not wait.
fn certificate(state: &AppState) -> Reply {
    let scale = state.store.read(|session, _| session.scale());
    reply_json(&tokio::task::block_in_place(|| (state.catalog.certificate)(scale)))
}

fn heartbeat(state: &AppState, identity: &CallerIdentity, body: &[u8]) -> Result<Reply, HttpError> {
    let request: AsksRequest = wire::parse(body)?;
    let name = check_name(&request.annotator, identity)?;
    let (held, lost) = state.store.update(|session, now| session.heartbeat(&name, &request.ids(), now.tick));
    Ok(reply_json(&HeartbeatReply { held: numbers(&held), lost: numbers(&lost) }))
}

fn numbers(asks: &[AskId]) -> Vec<u64> {
    asks.iter().map(|ask| ask.get()).collect()
}

fn release(state: &AppState, identity: &CallerIdentity, body: &[u8]) -> Result<Reply, HttpError> {
    let request: AsksRequest = wire::parse(body)?;
    let name = check_name(&request.annotator, identity)?;
    state.store.update(|session, _| session.release(&name, &request.ids()));
    Ok(reply_json(&ReleaseReply {}))
}

fn history(state: &AppState, identity: &CallerIdentity, query: Option<&str>) -> Result<Reply, HttpError> {
    let query = HistoryQuery::parse(query)?;
    let name = check_name(&query.annotator, identity)?;
    Ok(reply_json(&state.store.read(|session, _| views::history(state, session, &name, query.n))))
}
