//! Quick runs of every part: each claim ends as expected, names are unique and figures have points.

use std::collections::BTreeSet;

use querist_reproduce::{Findings, PARTS, ReproductionSettings, StatementVerdict, find};

const QUICK: ReproductionSettings = ReproductionSettings { seed: 1, quick: true };

fn claims_hold(name: &str, at_least: usize) -> Findings {
    let findings = (find(name).unwrap().run)(&QUICK);
    for claim in &findings.claims {
        assert!(claim.foreseen, "{name}: {claim:#?}");
        assert!(!claim.computed.is_empty() && !claim.expected.is_empty(), "{name}: {claim:#?}");
    }
    assert!(at_least <= findings.claims.len(), "{name}: {} claims", findings.claims.len());
    for plate in &findings.plates {
        for panel in &plate.figure.panels {
            assert!(
                !panel.x.label.is_empty() && !panel.y.label.is_empty(),
                "{name}: {} has an axis without label",
                plate.name
            );
            for series in &panel.series {
                let finite = series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()).count();
                assert!(0 < finite, "{name}: {} of {} is empty", series.name, plate.name);
            }
        }
    }
    findings
}

#[test]
fn figures() {
    let findings = claims_hold("figures", 21);
    assert_eq!(findings.plates.len(), 7);
}

#[test]
fn links() {
    let findings = claims_hold("links", 34);
    // Kinked rules need a weaker assumption than the printed one, and the threshold's link is misprinted.
    let corrected = |number| {
        findings.claims.iter().filter(move |claim| claim.verdict == StatementVerdict::HoldsWithErratum(number))
    };
    assert_eq!((corrected(15).count(), corrected(2).count()), (4, 1));
}

#[test]
fn convexity() {
    let findings = claims_hold("convexity", 36);
    let convex = |loss: &str| findings.claims.iter().filter(|claim| claim.statement.contains(loss)).count();
    assert!(0 < convex("modified-huber") && 0 < convex("hinge"));
    assert_eq!(findings.plates.len(), 2);
}

#[test]
fn existence() {
    let findings = claims_hold("existence", 16);
    let sufficient = findings.claims.iter().find(|claim| claim.statement.starts_with("U = h"));
    assert_eq!(sufficient.unwrap().verdict, StatementVerdict::HoldsWithErratum(18));
}

#[test]
fn momentum() {
    let findings = claims_hold("momentum", 22);
    assert_eq!(findings.tables[0].rows.len(), 4);
}

#[test]
fn errata() {
    let findings = claims_hold("errata", 22);
    // Every erratum of severity A and B is corrected once or, if nothing of it holds, refuted.
    let numbers: BTreeSet<&str> = findings.tables[0].rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(numbers.len(), 20);
    assert_eq!(findings.claims.iter().filter(|claim| claim.verdict == StatementVerdict::Refuted).count(), 3);
}

#[test]
fn illustration() {
    let findings = claims_hold("illustration", 42);
    assert_eq!(findings.plates[0].figure.panels.len(), 6);
}

#[test]
fn bounds() {
    claims_hold("bounds", 12);
}

#[test]
fn steps() {
    claims_hold("steps", 14);
}

#[test]
fn pool() {
    claims_hold("pool", 11);
}

#[test]
fn repeated() {
    claims_hold("repeated", 7);
}

#[test]
fn part_names_are_unique() {
    let names: BTreeSet<&str> = PARTS.iter().map(|part| part.name).collect();
    assert_eq!(names.len(), PARTS.len());
}

#[test]
fn multiclass() {
    let findings = claims_hold("multiclass", 8);
    assert_eq!(findings.plates.len(), 4);
    assert_eq!(findings.tables.len(), 5);
}

#[test]
fn regression() {
    let findings = claims_hold("regression", 7);
    assert_eq!(findings.plates.len(), 2);
    assert_eq!(findings.tables[1].rows.len(), 16);
}
