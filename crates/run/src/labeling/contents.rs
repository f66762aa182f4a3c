//! The displayed contents of asked items, for exports.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use querist_engine::session::{RowId, name_ids};
use querist_ledger::Ledger;
use serde_json::{Map, Value};

use super::answers::RecordedAsk;
use super::location::Moved;
use super::source::{DataSource, Items, SessionHeader};
use crate::error::{Context, Result};
use crate::files::distinct;
use crate::settings::LearnerSettings;
use crate::text::counted;

/// The displayed content of an item.
pub struct DisplayedContent {
    /// The fields, by name.
    pub fields: Map<String, Value>,
    /// The text columns, one line each; all fields if none is text.
    pub text: String,
    /// The first image shown.
    pub image: Option<String>,
}

/// A lookup of contents in the ledger, and for items recorded before version 3 in the data.
pub struct Contents<'a> {
    ledger: &'a Ledger,
    text_columns: Vec<String>,
    /// The data if some items need them, or the reason why they cannot be read.
    data: Option<Result<ItemsById, String>>,
    file: String,
    found: RefCell<HashMap<ContentOrigin, BTreeSet<Arc<str>>>>,
}

/// Items with their rows by id.
type ItemsById = (Items, HashMap<Arc<str>, RowId>);

fn read(data: &DataSource, settings: &LearnerSettings) -> Result<ItemsById, String> {
    let items = data.read(settings).map_err(|error| format!("{error:#}"))?;
    let rows = items.ids.iter().enumerate().map(|(row, id)| (Arc::clone(id), RowId(row))).collect();
    Ok((items, rows))
}

/// The origin of an item's content, or the reason why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ContentOrigin {
    Stored,
    Purged,
    Data,
    Changed,
    Missing,
    Unreadable,
}

impl<'a> Contents<'a> {
    /// Makes a lookup. Reads the data only if one of the asks has no stored content.
    pub fn new<'b>(
        ledger: &'a Ledger,
        header: &SessionHeader,
        moved: &Moved,
        asks: impl IntoIterator<Item = &'b RecordedAsk>,
    ) -> Result<Self> {
        ledger.verify_contents()?;
        let needs_data = asks.into_iter().any(|ask| ask.content.is_none());
        let located = header.data.located(ledger, moved)?;
        let data = needs_data.then(|| read(&located, &header.settings));
        let columns = match (&located.columns, &data) {
            (Some(columns), _) => columns.clone(),
            (None, Some(Ok((items, _)))) => items.displayed.columns(),
            (None, _) => {
                let names = distinct("--text", &header.data.files.text)?;
                names.into_iter().map(|name| (name, "text".to_owned())).collect()
            }
        };
        let text_columns = columns.into_iter().filter(|(_, kind)| kind == "text").map(|(name, _)| name).collect();
        Ok(Self { ledger, text_columns, data, file: located.name(), found: RefCell::default() })
    }

    /// Returns the content of an asked item; `None` if it is not available, which [`Self::remarks`] reports.
    pub fn get(&self, ask: &RecordedAsk) -> Result<Option<DisplayedContent>> {
        let (origin, body) = self.find(ask)?;
        self.found.borrow_mut().entry(origin).or_default().insert(Arc::clone(&ask.id));
        body.map(|body| self.parse(&body)).transpose()
    }

    fn find(&self, ask: &RecordedAsk) -> Result<(ContentOrigin, Option<String>)> {
        if let Some(digest) = &ask.content {
            let body = self.ledger.content(&digest.0)?;
            return Ok((if body.is_some() { ContentOrigin::Stored } else { ContentOrigin::Purged }, body));
        }
        let Some(Ok((items, rows))) = &self.data else { return Ok((ContentOrigin::Unreadable, None)) };
        Ok(match rows.get(&ask.id) {
            None => (ContentOrigin::Missing, None),
            Some(row) if items.is_unchanged(*row, ask) => (ContentOrigin::Data, Some(items.displayed.content(*row))),
            Some(_) => (ContentOrigin::Changed, None),
        })
    }

    fn parse(&self, body: &str) -> Result<DisplayedContent> {
        let fields: Map<String, Value> = serde_json::from_str(body).context("a stored content is not a JSON object")?;
        let shown = |value: &Value| value.as_str().or_else(|| value["path"].as_str()).unwrap_or_default().to_owned();
        let texts: Vec<String> = self.text_columns.iter().filter_map(|name| fields.get(name)).map(shown).collect();
        let text = if texts.is_empty() { fields.values().map(shown).collect::<Vec<_>>() } else { texts }.join("\n");
        let image = fields.values().find_map(|value| value["path"].as_str()).map(str::to_owned);
        Ok(DisplayedContent { fields, text, image })
    }

    /// Describes the items without content, and those whose content is not from the ledger.
    pub fn remarks(&self) -> Vec<String> {
        let found = self.found.borrow();
        let origins = [
            ContentOrigin::Purged,
            ContentOrigin::Data,
            ContentOrigin::Changed,
            ContentOrigin::Missing,
            ContentOrigin::Unreadable,
        ];
        origins.into_iter().filter_map(|origin| Some(self.remark(origin, found.get(&origin)?))).collect()
    }

    fn remark(&self, origin: ContentOrigin, ids: &BTreeSet<Arc<str>>) -> String {
        let items = counted(ids.len() as u64, "item");
        let ids = name_ids(&ids.iter().map(|id| &**id).collect::<Vec<_>>());
        let file = &self.file;
        match origin {
            ContentOrigin::Stored => format!("the text of {items} is stored in the ledger"),
            ContentOrigin::Data => format!(
                "the text of {items} comes from {file}, where it is unchanged; ledgers older than version 3 store none"
            ),
            ContentOrigin::Purged if self.ledger.note("purged").is_some() => {
                format!("no text for {items}, because the stored content was purged: {ids}")
            }
            ContentOrigin::Purged => format!("no text for {items}, because the stored content was damaged: {ids}"),
            ContentOrigin::Changed => {
                format!("no text for {items}: the ledger stores none, and {file} has changed at {ids}")
            }
            ContentOrigin::Missing => {
                format!("no text for {items}: the ledger stores none, and {file} no longer has {ids}")
            }
            ContentOrigin::Unreadable => {
                let why = self.data.as_ref().and_then(|data| data.as_ref().err()).map_or("", String::as_str);
                format!(
                    "no text for {items}: the ledger stores none, and the data cannot be read: {why}\n  \
                     use --data FILE if the data were moved"
                )
            }
        }
    }
}
