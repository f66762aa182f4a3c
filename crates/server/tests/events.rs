//! Events of a session round-trip through a ledger bit for bit.

use std::sync::Arc;

use querist_engine::session::{
    AnswerId, AskId, DrawTerms, LabelValue, ModelPrediction, PredictedLabel, RecordedBin, Response, SessionEvent,
};
use querist_ledger::{Ledger, Record};
use querist_rows::Digest;

/// A deterministic pseudorandom generator of values.
struct RandomEvents(u64);

impl RandomEvents {
    fn whole(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 ^ (self.0 >> 33)
    }

    /// Returns any number but NaN, often an edge case.
    fn number(&mut self) -> f64 {
        let edge_cases = [0.0, -0.0, 1.0, -1.0, 5e-324, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, 0.1, 1e22];
        match self.whole() % 16 {
            index @ 0..10 => edge_cases[index as usize],
            _ => Some(f64::from_bits(self.whole())).filter(|value| !value.is_nan()).unwrap_or(0.5),
        }
    }

    fn text(&mut self) -> Arc<str> {
        ["", "Ada", "Bén 🙂", "a\"b\\c", "\0\u{7f}\u{2028}"][self.whole() as usize % 5].into()
    }

    fn event(&mut self) -> SessionEvent {
        let [count, at, number] = [self.whole(), self.whole(), self.whole()];
        let (ask, answer) = (AskId::new(count), AnswerId::new(number));
        match self.whole() % 8 {
            0 => self.asked(),
            1 => SessionEvent::Assigned { ask, annotator: self.text(), first: count.is_multiple_of(2), at },
            2 => {
                let response = match at % 3 {
                    0 => Response::Label(LabelValue(self.number())),
                    1 => Response::Skip,
                    _ => Response::Unsure,
                };
                SessionEvent::Answered { answer, ask, response, annotator: self.text(), key: self.text(), at }
            }
            3 => {
                let withdrawn = AnswerId::new(count);
                let (annotator, key) = (self.text(), self.text());
                SessionEvent::Withdrawn { number: answer, answer: withdrawn, annotator, key, at }
            }
            4 => {
                let (value, low, high) = (self.number(), self.number(), self.number());
                let bin = |confidence| RecordedBin { confidence, accuracy: value, low, high };
                let reliability = (0..number % 3).map(|bins| bin(bins as f64)).collect();
                SessionEvent::Measured { labels: number, value, low, high, reliability, at }
            }
            5 => SessionEvent::Grown { asks: count },
            6 => SessionEvent::Fitted { asks: count, acts: number, labels: at, digest: self.whole() >> 11, at },
            _ => SessionEvent::Started { items: count, imported: number, at },
        }
    }

    fn optional_number(&mut self) -> Option<f64> {
        let number = self.number();
        self.whole().is_multiple_of(2).then_some(number)
    }

    fn asked(&mut self) -> SessionEvent {
        let digest = |word: u64| (!word.is_multiple_of(3)).then(|| Digest::of(&word.to_le_bytes()));
        let likeliest = (0..self.whole() % 3)
            .map(|_| PredictedLabel { label: LabelValue(self.number()), probability: self.number() });
        let likeliest = likeliest.collect();
        SessionEvent::Asked {
            ask: AskId::new(self.whole()),
            id: self.text(),
            content: digest(self.whole()),
            features: digest(self.whole()),
            hidden: digest(self.whole()),
            fingerprint: self.whole().is_multiple_of(2).then(|| self.whole() >> 11),
            probability: self.optional_number(),
            odds: DrawTerms {
                uncertainty: self.number(),
                total: self.optional_number(),
                left: self.whole() as usize,
                least: self.number(),
            },
            guess: ModelPrediction { likeliest, labels: self.whole() },
            annotator: self.text(),
            at: self.whole(),
        }
    }
}

#[test]
fn events_round_trip_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let mut random = RandomEvents(3);
    let events: Vec<SessionEvent> = (0..20_000).map(|_| random.event()).collect();
    let records: Vec<Record> = events.iter().map(|event| Record::encode(event).unwrap()).collect();
    Ledger::create(&path, "{}").unwrap().append(&records).unwrap();
    let ledger = Ledger::read(&path).unwrap();
    let found: Vec<SessionEvent> = ledger.records().map(|record| record.unwrap().decode().unwrap()).collect();
    // Debug text distinguishes −0.0 from 0.0 and every number from its neighbors.
    assert!(format!("{found:?}") == format!("{events:?}"));
    assert_eq!(ledger.counts().len(), 8);
}

#[test]
fn nan_cannot_be_recorded() {
    let measured = |value| SessionEvent::Measured { labels: 1, value, low: 0.0, high: 1.0, reliability: vec![], at: 1 };
    assert!(Record::encode(&measured(f64::NAN)).unwrap_err().to_string().contains("a number is NaN"));
    let response = Response::Label(LabelValue(f64::NAN));
    let (annotator, key): (Arc<str>, Arc<str>) = ("Ada".into(), "k".into());
    let answered =
        SessionEvent::Answered { answer: AnswerId::new(1), ask: AskId::new(1), response, annotator, key, at: 1 };
    assert!(Record::encode(&answered).is_err());
}

/// Ledgers and clients of all versions have this form.
#[test]
fn ids_and_labels_are_plain_numbers_in_json() {
    let likeliest = vec![PredictedLabel { label: LabelValue(-1.0), probability: 0.75 }];
    let asked = SessionEvent::Asked {
        ask: AskId::new(7),
        id: "a".into(),
        content: None,
        features: None,
        hidden: None,
        fingerprint: None,
        probability: Some(0.5),
        odds: DrawTerms { uncertainty: 1.0, total: Some(2.0), left: 2, least: 0.5 },
        guess: ModelPrediction { likeliest, labels: 3 },
        annotator: "Ada".into(),
        at: 9,
    };
    let expected = r#"{"asked":{"ask":7,"id":"a","probability":0.5,"#.to_owned()
        + r#""odds":{"uncertainty":1.0,"total":2.0,"left":2,"least":0.5},"#
        + r#""guess":{"likeliest":[{"label":-1.0,"probability":0.75}],"labels":3},"annotator":"Ada","at":9}}"#;
    assert_eq!(serde_json::to_string(&asked).unwrap(), expected);
    let (answer, ask, response) = (AnswerId::new(8), AskId::new(7), Response::Label(LabelValue(f64::INFINITY)));
    let (annotator, key) = ("Ada".into(), "k".into());
    let answered = SessionEvent::Answered { answer, ask, response, annotator, key, at: 9 };
    let expected = r#"{"answered":{"answer":8,"ask":7,"response":{"label":"inf"},"annotator":"Ada","key":"k","at":9}}"#;
    assert_eq!(serde_json::to_string(&answered).unwrap(), expected);
    assert_eq!(serde_json::from_str::<SessionEvent>(expected).unwrap(), answered);
}
