//! The reply to `GET /api/certificate`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The loss and the rule in use, and what is proved about them.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct CertificateReply {
    /// The name of the loss.
    pub loss: String,
    /// The name of the rule.
    pub rule: String,
    /// A description of what the model optimizes.
    pub objective: String,
    /// The pair that the claims are about; null if it has no certificate.
    pub certified: Option<CertifiedPair>,
    /// The reason why there is no certificate.
    pub why_not: Option<String>,
    /// The claims with their verdicts.
    pub claims: Vec<CertificateClaim>,
    /// The constants of the pair.
    pub constants: Option<CertificateConstants>,
    /// The consequences of the claims.
    pub advice: Vec<String>,
}

impl CertificateReply {
    /// Adds the claims, constants and advice of a rendered certificate.
    ///
    /// # Errors
    /// If one of them is missing or has another form.
    pub fn with_certificate(self, mut rendered: Value) -> serde_json::Result<Self> {
        let [claims, constants, advice] = ["claims", "constants", "advice"].map(|name| rendered[name].take());
        Ok(Self {
            claims: serde_json::from_value(claims)?,
            constants: serde_json::from_value(constants)?,
            advice: serde_json::from_value(advice)?,
            ..self
        })
    }
}

/// The ends of an enclosing interval, if there is one.
type NullableBounds = Option<[CertificateNumber; 2]>;

/// A pair of loss and rule as arguments of `querist certify`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CertifiedPair {
    /// The name of the loss.
    pub loss: String,
    /// The name of the rule.
    pub rule: String,
    /// The number of classes; null for two.
    pub classes: Option<usize>,
    /// The command that prints the certificate.
    pub command: String,
}

/// A claim about a pair, with its verdict. A refuted claim has a witness.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CertificateClaim {
    claim: String,
    verdict: ClaimVerdict,
    because: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    quantity: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    coordinates: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    relation: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    enclosure: Option<NullableBounds>,
    at: WitnessPoint,
    found: CertificateNumber,
    needed: CertificateNumber,
    label: String,
}

/// Deserializes a field that is present; so null differs from an absent field.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ClaimVerdict {
    Proved,
    Refuted,
    Unknown,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
enum WitnessPoint {
    Vector(Vec<CertificateNumber>),
    Scalar(CertificateNumber),
}

/// The constants of a pair.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CertificateConstants {
    u_max: CertificateNumber,
    u_max_is: String,
    psi_coefficient: CertificateNumber,
    psi_power: CertificateNumber,
    psi_at_1: CertificateNumber,
    psi_at_1_enclosure: NullableBounds,
    neg_h2_half: CertificateNumber,
    lipschitz: CertificateNumber,
    loss_lipschitz: CertificateNumber,
}

/// A number; infinities are the strings `inf` and `-inf`, and a number that is not known is null.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(transparent)]
struct CertificateNumber(Value);

impl JsonSchema for CertificateNumber {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "CertificateNumber".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["number", "string", "null"]})
    }
}
