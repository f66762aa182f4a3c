//! Certificates of random pairs, against a table that an independent checker computed at 60 digits.
//!
//! `tests/campaign/campaign.py --table` writes the table; its parser and arithmetic share nothing with this crate.

use querist_theory::certificate::{Verdict, certify};
use querist_theory::equivalent::Queried;

const TABLE: &str = include_str!("tables/judged.tsv");

/// The fraction of claims that may stay unknown, averaged over all pairs.
const MAX_UNKNOWN: f64 = 0.25;

#[test]
fn certificates_do_not_contradict_the_table() {
    let (mut claims, mut unknown, mut wrong) = (0_u32, 0_u32, vec![]);
    for line in TABLE.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let (loss, rule, judged) = (fields[0], fields[1], &fields[2..]);
        let pair = Queried::parse(loss, rule).unwrap_or_else(|error| panic!("{error}"));
        let certificate = certify(&pair);
        assert_eq!(certificate.claims.len(), judged.len(), "{line}");
        for (certified, judged) in certificate.claims.iter().zip(judged) {
            claims += 1;
            match (&certified.verdict, *judged) {
                (Verdict::Unknown { .. }, _) => unknown += 1,
                (Verdict::Proved(_), "fails") | (Verdict::Refuted(_), "holds") => {
                    wrong.push(format!("{loss} {rule} {}: {judged}", certified.claim.name()));
                }
                _ => {}
            }
        }
    }
    assert!(1400 <= claims, "{claims}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let share = f64::from(unknown) / f64::from(claims);
    assert!(share < MAX_UNKNOWN, "{share}");
}
