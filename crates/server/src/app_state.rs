//! The state that all requests share.

use std::sync::Arc;

use querist_run::labeling::Images;
use tokio::sync::watch;

use crate::admission::Connections;
use crate::catalog::Catalog;
use crate::credentials::{AccessSettings, SignInLinks};
use crate::event_stream;
use crate::operator_events::{OnOperatorEvent, OperatorEvent};
use crate::request_checks::WrongTokenCounter;
use crate::session_store::SessionStore;

/// The state that all requests share.
pub(crate) struct AppState {
    pub(crate) store: Arc<SessionStore>,
    pub(crate) catalog: Catalog,
    pub(crate) access: AccessSettings,
    pub(crate) links: SignInLinks,
    pub(crate) wrong_tokens: WrongTokenCounter,
    pub(crate) images: Arc<Images>,
    pub(crate) statuses: watch::Sender<event_stream::PublishedStatus>,
    /// Becomes `true` when the server should stop.
    pub(crate) is_stopping: watch::Sender<bool>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) on_event: OnOperatorEvent,
}

impl AppState {
    /// Resolves when the server should stop.
    pub(crate) async fn stopping(&self) {
        let mut is_stopping = self.is_stopping.subscribe();
        // An error means that the sender was dropped, so the server has stopped.
        let _ = is_stopping.wait_for(|is_stopping| *is_stopping).await;
    }

    /// Reports an event to the operator. Printing can block, so other tasks of this thread move elsewhere first.
    pub(crate) fn notify(&self, event: OperatorEvent<'_>) {
        tokio::task::block_in_place(|| (self.on_event)(event));
    }
}
