//! Certificates as HTML pages.

use querist_report::html::{Page, PageBlock, Section};
use querist_theory::certificate::Certificate;

use crate::certificate::{constant_rows, facts, headline, verdict_name};

/// Returns the page of a certificate: advice, claims and constants.
pub fn as_page(certificate: &Certificate) -> Page {
    let rows = certificate
        .claims
        .iter()
        .map(|certified| {
            let mut because = vec![headline(&certified.verdict)];
            because.extend(facts(&certified.verdict));
            vec![
                certified.claim.name().to_owned(),
                verdict_name(&certified.verdict).to_owned(),
                because.join(" · "),
                certified.claim.label().to_owned(),
            ]
        })
        .collect();
    let constants = constant_rows(&certificate.constants).into_iter().map(|(name, value)| vec![name.to_owned(), value]);
    let table = |header: &[&str], rows: Vec<Vec<String>>| PageBlock::Table {
        header: header.iter().map(|title| (*title).to_owned()).collect(),
        rows,
        caption: String::new(),
    };
    let section =
        |heading: &str, id: &str, block| Section { heading: heading.to_owned(), id: id.to_owned(), body: vec![block] };
    let sections = vec![
        section("What follows", "advice", PageBlock::List(certificate.advice.clone())),
        section("Claims", "claims", table(&["Claim", "Verdict", "Because", "Label in the paper"], rows)),
        section("Constants", "constants", table(&["Constant", "Value"], constants.collect())),
    ];
    Page { title: format!("{} queried by {}", certificate.loss, certificate.rule), sections }
}
