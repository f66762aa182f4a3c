//! The schemas of requests and replies, with exactly their fields.

use serde_json::{Map, Value, json};

use crate::wire::{MAX_KEY_BYTES, MAX_NAME_CHARS};

/// Returns a reference to a named schema.
pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Creates the schema of an object with exactly these properties, of which the first `required` are required.
pub(super) fn object(properties: &[(&str, Value)], required: usize) -> Value {
    let names: Vec<&str> = properties.iter().take(required).map(|(name, _)| *name).collect();
    let all: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({"type": "object", "properties": all, "required": names, "additionalProperties": false})
}

/// Creates the schema of an object with exactly these properties, all of them required.
fn whole_object(properties: &[(&str, Value)]) -> Value {
    object(properties, properties.len())
}

pub(super) fn list(items: Value) -> Value {
    let mut list = json!({"type": "array"});
    list["items"] = items;
    list
}

pub(super) fn text() -> Value {
    json!({"type": "string"})
}

pub(super) fn whole() -> Value {
    json!({"type": "integer", "minimum": 0, "maximum": u64::MAX})
}

/// Returns the schema of an annotator's name: not only spaces, no control characters.
pub(super) fn name() -> Value {
    let visible = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$";
    json!({"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARS, "pattern": visible})
}

/// Returns the schema of a key: printable ASCII characters without spaces.
pub(super) fn key() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": MAX_KEY_BYTES, "pattern": "^[!-~]+$"})
}

fn number() -> Value {
    json!({"type": "number"})
}

fn flag() -> Value {
    json!({"type": "boolean"})
}

fn label() -> Value {
    json!({"type": ["string", "number", "null"]})
}

#[expect(clippy::needless_pass_by_value, reason = "callers create the schema in place")]
pub(super) fn or_null(schema: Value) -> Value {
    json!({"oneOf": [schema, {"type": "null"}]})
}

/// Returns the named schemas.
pub(super) fn all() -> Value {
    let acknowledgement = object(
        &[
            ("ask", whole()),
            ("key", text()),
            ("status", json!({"enum": ["saved", "repeated", "late", "refused"]})),
            ("answer", whole()),
            ("why", text()),
        ],
        3,
    );
    let undone = [("answer", whole()), ("ask", whole()), ("item", or_null(text()))];
    let error = whole_object(&[("code", text()), ("message", text()), ("hint", text())]);
    json!({
        "Answer": answer(),
        "Acknowledgement": acknowledgement,
        "Item": item(),
        "Left": whole_object(
            &[
                ("unasked", whole()), ("leased", whole()), ("next_free_seconds", or_null(whole())), ("for_others", whole()),
                ("answered", whole()),
            ]
        ),
        "Undone": whole_object(&[&undone[..], &response()].concat()),
        "Remembered": whole_object(
            &[&[("answer", whole()), ("ask", whole()), ("item", text())][..], &response(), &[("preview", text())]].concat()
        ),
        "Status": status(),
        "Certificate": certificate(),
        "Error": whole_object(&[("error", error)]),
    })
}

/// Returns the schema of an answer: a label, `skip`, or `unsure`.
fn answer() -> Value {
    let (yes, no) = (json!({"const": true}), json!({"const": false}));
    let form = |label: Value, skip: &Value, unsure: &Value, required: &str| {
        let mut properties = vec![("ask", whole()), ("annotator", name())];
        let others = [("label", label), ("skip", skip.clone()), ("unsure", unsure.clone())];
        // The required property comes first.
        let (first, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(|(name, _)| *name == required);
        properties.extend(first.into_iter().chain(rest));
        properties.push(("key", or_null(key())));
        object(&properties, 3)
    };
    let null = || json!({"type": "null"});
    json!({"oneOf": [
        form(json!({"type": ["string", "number"]}), &no, &no, "label"),
        form(null(), &yes, &no, "skip"),
        form(null(), &no, &yes, "unsure"),
    ]})
}

fn response() -> [(&'static str, Value); 3] {
    [("label", label()), ("skip", flag()), ("unsure", flag())]
}

fn item() -> Value {
    let kinds = json!({"enum": ["text", "number", "category", "image"]});
    let field = whole_object(&[("name", text()), ("kind", kinds), ("value", text())]);
    whole_object(&[
        ("ask", whole()),
        ("item", text()),
        ("probability", or_null(number())),
        ("why", text()),
        ("fields", list(field)),
        ("lease_seconds", whole()),
        ("mine", or_null(whole_object(&[&response()[..], &[("answer", whole())]].concat()))),
    ])
}

fn status() -> Value {
    let score = || {
        let bounded = [("value", or_null(number())), ("low", or_null(number())), ("high", or_null(number()))];
        or_null(whole_object(&bounded))
    };
    let class = [("class", text()), ("precision", score()), ("recall", score()), ("f1", score())];
    let estimate = [
        ("accuracy", or_null(number())),
        ("low", or_null(number())),
        ("high", or_null(number())),
        ("anytime_low", or_null(number())),
        ("anytime_high", or_null(number())),
        ("effective_n", or_null(number())),
        ("warning", or_null(text())),
        ("mean_loss", score()),
        ("classes", list(whole_object(&class))),
    ];
    let ends = [("low", or_null(number())), ("high", or_null(number())), ("labels", whole())];
    let advice = json!({"enum": ["go on", "stop"]});
    let properties = [
        ("title", text()),
        ("run", text()),
        ("task", json!({"enum": ["binary", "classes", "number"]})),
        ("labels", list(text())),
        ("annotators", list(whole_object(&[("name", text()), ("answered", whole())]))),
        ("annotator_count", whole()),
        ("answers", whole()),
        ("answered", whole()),
        ("skipped", whole()),
        ("unsure", whole()),
        ("pending", whole()),
        ("by_class", json!({"type": "object", "additionalProperties": whole()})),
        ("pool", whole()),
        ("budget", or_null(whole())),
        ("overlap", whole()),
        ("rate_per_minute", or_null(number())),
        ("seconds_left", or_null(number())),
        ("estimate", or_null(whole_object(&estimate))),
        ("twin", or_null(whole_object(&[&[("accuracy", or_null(number()))][..], &ends].concat()))),
        ("curve", list(whole_object(&[&[("value", or_null(number()))][..], &ends].concat()))),
        ("stop", whole_object(&[("advice", advice), ("why", text())])),
        (
            "agreement",
            or_null(whole_object(&[("items", whole()), ("share", or_null(number())), ("kappa", or_null(number()))])),
        ),
        ("model", whole_object(&[("answers", whole()), ("fitting", flag()), ("cold", flag())])),
        ("data_problems", list(text())),
        ("store", whole_object(&[("writable", flag()), ("problem", or_null(text()))])),
        // Not in the event stream, which is the same for all annotators.
        ("you", or_null(text())),
    ];
    object(&properties, properties.len() - 1)
}

fn certificate() -> Value {
    // Infinite numbers are strings.
    let any_number = json!({"type": ["number", "string", "null"]});
    let bounds = json!({"type": ["array", "null"], "items": any_number, "minItems": 2, "maxItems": 2});
    let at = json!({"oneOf": [any_number, {"type": "array", "items": {"type": ["number", "string"]}}]});
    let claim = object(
        &[
            ("claim", text()),
            ("verdict", json!({"enum": ["proved", "refuted", "unknown"]})),
            ("because", list(text())),
            ("at", at),
            ("found", any_number.clone()),
            ("needed", any_number.clone()),
            ("label", text()),
            ("quantity", text()),
            ("coordinates", text()),
            ("relation", text()),
            ("enclosure", bounds.clone()),
        ],
        7,
    );
    let constants = ["u_max", "psi_coefficient", "psi_power", "psi_at_1", "neg_h2_half", "lipschitz", "loss_lipschitz"];
    let mut constants: Vec<(&str, Value)> = constants.into_iter().map(|name| (name, any_number.clone())).collect();
    constants.extend([("psi_at_1_enclosure", bounds), ("u_max_is", text())]);
    let pair = whole_object(&[("loss", text()), ("rule", text()), ("classes", or_null(whole())), ("command", text())]);
    whole_object(&[
        ("loss", text()),
        ("rule", text()),
        ("objective", text()),
        ("certified", or_null(pair)),
        ("why_not", or_null(text())),
        ("claims", list(claim)),
        ("constants", or_null(whole_object(&constants))),
        ("advice", list(text())),
    ])
}
