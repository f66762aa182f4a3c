//! Every part, quickly: each claim ends as foreseen, names are different, figures have points, and runs repeat.

use std::collections::BTreeSet;

use querist_reproduce::{Findings, PARTS, Settings, find};

const QUICK: Settings = Settings { seed: 1, quick: true };

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
fn parts_have_names_of_their_own() {
    let names: BTreeSet<&str> = PARTS.iter().map(|part| part.name).collect();
    assert_eq!(names.len(), PARTS.len());
}
