//! The fields of an item that annotators see.

use std::sync::Arc;

use querist_engine::session::RowId;
use querist_run::labeling::displayed::Displayed;
use querist_server::{DisplayedField, FieldKind};

/// Prefixes of cells that contain an image as a data URL.
const INLINE: [&str; 5] = [
    "data:image/png;base64,",
    "data:image/jpeg;base64,",
    "data:image/gif;base64,",
    "data:image/webp;base64,",
    "data:image/avif;base64,",
];

/// A function that makes the fields of an item.
type MakeFields = Box<dyn Fn(RowId) -> Vec<DisplayedField> + Send + Sync>;

/// Returns a function that makes the fields of an item: images, then texts, then others, without empty ones.
pub(super) fn fields(displayed: Arc<Displayed>) -> MakeFields {
    Box::new(move |row| {
        let mut fields = vec![];
        for (name, kind, value) in displayed.fields(row) {
            let (kind, value) = if displayed.is_image(value) {
                (FieldKind::Image, format!("/images/{}", encoded(value)))
            } else if INLINE.iter().any(|start| value.starts_with(start)) {
                (FieldKind::Image, value.to_owned())
            } else {
                (field_kind(kind), value.to_owned())
            };
            fields.push(DisplayedField { name: name.to_owned(), kind, value });
        }
        let order = |field: &DisplayedField| match field.kind {
            FieldKind::Image => 0,
            FieldKind::Text => 1,
            FieldKind::Number | FieldKind::Category => 2,
        };
        fields.sort_by_key(order);
        fields
    })
}

/// Returns the kind of a column by its name.
fn field_kind(name: &str) -> FieldKind {
    match name {
        "number" => FieldKind::Number,
        "category" => FieldKind::Category,
        _ => FieldKind::Text,
    }
}

/// Percent-encodes a path for a URL.
fn encoded(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    name.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
