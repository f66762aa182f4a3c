//! The verdicts on every registered pair, against a table: claims decided there must stay decided.

use std::collections::BTreeMap;

use querist_theory::certificate::{Verdict, certify};
use querist_theory::equivalent::Queried;
use querist_theory::loss::{self, LOSSES};
use querist_theory::uncertainty::{self, UNCERTAINTIES};

const TABLE: &str = include_str!("tables/registered-verdicts.tsv");

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Proved(_) => "proved",
        Verdict::Refuted(_) => "refuted",
        Verdict::Unknown { .. } => "unknown",
    }
}

#[test]
fn decided_claims_stay_decided() {
    let table: BTreeMap<(&str, &str), Vec<&str>> = TABLE
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            ((fields[0], fields[1]), fields[2..].to_vec())
        })
        .collect();
    let mut changed = vec![];
    let mut compared = 0;
    for loss in LOSSES.iter().flat_map(|entry| entry.samples) {
        let loss = loss::parse(loss).unwrap();
        for rule in UNCERTAINTIES.iter().flat_map(|entry| entry.samples) {
            let Ok(rule) = uncertainty::parse(rule, &loss) else { continue };
            let Some(before) = table.get(&(loss.name.as_str(), rule.name.as_str())) else { continue };
            let certificate = certify(&Queried::new(loss.clone(), rule.clone()));
            compared += 1;
            for (certified, before) in certificate.claims.iter().zip(before) {
                let now = word(&certified.verdict);
                if *before != "unknown" && now != *before {
                    changed.push(format!(
                        "{} {} {}: {before}, now {now}",
                        loss.name,
                        rule.name,
                        certified.claim.name()
                    ));
                }
            }
        }
    }
    assert_eq!(compared, table.len(), "every pair of the table is still registered");
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}
