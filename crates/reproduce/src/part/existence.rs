//! Existence of an objective beyond one score: curls, loops, level sets, and the construction that has an objective.

use querist_engine::coin::Coin;
use querist_report::{Axis, Color, Figure, Panel, Series, SeriesMark};
use querist_theory::certificate::{Claim, Verdict, certify_classes};
use querist_theory::integrability::{curl, find_curl, loop_work, queried_field};
use querist_theory::vector;

use crate::findings::FindingsTable;
use crate::numbers::{brief, derivative, fixed};
use crate::part::PaperPart;
use crate::{Basis, Findings, PaperClaim, ReproductionSettings};

mod plain;
mod population;

use plain::{Logits, ReferenceScore, SCORES, curl_by_differences, loss, loss_gradient};

pub(super) const PART: PaperPart = PaperPart {
    name: "existence",
    title: "Existence of an objective for several classes",
    about: "curls at a point, work around loops and level sets for the scores of several classes, and the population construction that does have an objective",
    run,
};

/// The logits at which curls are taken.
const POINT: Logits = [1.0, 0.0, -0.5];

/// The name of softmax cross-entropy.
const SOFTMAX: &str = "softmax-cross-entropy";

fn run(settings: &ReproductionSettings) -> Findings {
    let mut findings = Findings::default();
    let mut table = FindingsTable {
        name: "curls".to_owned(),
        caption: "Curl of U·∇ℓ in the first two logits at z = (1, 0, −1/2), and work around a unit square, y = 1"
            .to_owned(),
        header: ["score", "U", "curl, y = 1", "y = 2", "y = 3", "work around the square"].map(str::to_owned).to_vec(),
        rows: vec![],
    };
    for score in &SCORES {
        findings.claim(curls(score, &mut table));
        findings.claim(square(score));
    }
    findings.claim(two_classes(settings));
    findings.claim(more_classes());
    findings.claim(of_the_loss());
    findings.claim(level_sets());
    findings.claim(averaged());
    findings.claim(independent_gradients(settings));
    findings.claim(in_parameters());
    findings.claims.extend(population::claims(settings));
    findings.plate("no-objective", figure());
    findings.tables.push(table);
    findings.remarks.push(
        "For two classes every score has an objective. From three on, no score that does not look at the label has \
         one, unless it is constant: asking by it follows a field with a curl. Least confidence has curl 0 for the \
         likeliest label alone, where it is 1 − e^−ℓ, a function of the loss."
            .to_owned(),
    );
    findings
}

/// Compares U and its curls with reference values and differences of the plain field.
fn curls(score: &ReferenceScore, table: &mut FindingsTable) -> PaperClaim {
    let theory = vector::parse(score.name).expect("a registered score");
    let found: Vec<f64> = (0..3).map(|label| curl(&*theory.object, &POINT, label, 0, 1)).collect();
    let by_differences: Vec<f64> =
        (0..3).map(|label| curl_by_differences(&|z| (score.formula)(z), label, POINT)).collect();
    let value = theory.at(&vector::softmax(&POINT));
    let reference =
        found.iter().zip(score.curls).map(|(f, e)| (f - e).abs()).fold((value - score.value).abs(), f64::max);
    let differences = found.iter().zip(&by_differences).map(|(f, d)| (f - d).abs()).fold(0.0, f64::max);
    let plain = (value - (score.formula)(&POINT)).abs();
    let mut row = vec![score.name.to_owned(), format!("{value:.12}")];
    row.extend(found.iter().map(|curl| fixed(*curl, 12)));
    row.push(fixed(score.work, 12));
    table.rows.push(row);
    let shown: Vec<String> = found.iter().map(|curl| fixed(*curl, 9)).collect();
    PaperClaim::new(
        "prop:existence_equiv",
        format!("{} for three classes has no equivalent loss for every label", score.name),
    )
    .computed(format!("curl {} for y = 1, 2, 3", shown.join(", ")))
    .expected(
        format!("the table's, to 1e-15, not all 0; differences of the plain field off by {}", brief(differences)),
        Basis::Reference,
    )
    .holds(reference < 1e-15 && differences < 1e-9 && plain < 1e-15 && found.iter().any(|curl| 1e-2 < curl.abs()))
}

/// Returns the corners of a square with this side around (1, 0) in the first two logits.
fn corners(side: f64) -> Vec<Vec<f64>> {
    let half = 0.5 * side;
    [[1.0 - half, -half], [1.0 + half, -half], [1.0 + half, half], [1.0 - half, half]]
        .map(|[a, b]| vec![a, b, -0.25])
        .to_vec()
}

/// Compares the work around the unit square with the curl integrated over it.
fn square(score: &ReferenceScore) -> PaperClaim {
    let theory = vector::parse(score.name).expect("a registered score");
    let work = loop_work(&|z| queried_field(&*theory.object, 0, z), &corners(1.0));
    let inside = plain::curl_over_square(&|z| (score.formula)(z), 0);
    let zero = score.work == 0.0;
    PaperClaim::new("prop:existence_equiv", format!("{}: work around a closed square for y = 1", score.name))
        .computed(fixed(work, 13))
        .expected(
            format!(
                "{} to 1e-13; its curl over the square, by Stokes, {} to 1e-7",
                fixed(score.work, 13),
                fixed(inside, 9)
            ),
            Basis::Reference,
        )
        .holds((work - score.work).abs() < 1e-13 && (inside - work).abs() < 1e-7 && (zero || 1e-3 < work.abs()))
}

/// Computes curls for two classes at random points.
fn two_classes(settings: &ReproductionSettings) -> PaperClaim {
    let coin = Coin::new(settings.seed, "existence two classes");
    let mut worst = 0.0_f64;
    for name in ["entropy", "least-confidence", "top-two-margin"] {
        let score = vector::parse(name).expect("a registered score");
        for index in 0..200 {
            let logits = [12.0 * coin.unit(2 * index) - 6.0, 12.0 * coin.unit(2 * index + 1) - 6.0];
            for label in 0..2 {
                worst = worst.max(curl(&*score.object, &logits, label, 0, 1).abs());
            }
        }
    }
    let proved = ["entropy", "least-confidence", "top-two-margin"].iter().all(|rule| {
        let certificate = certify_classes(SOFTMAX, rule, 2);
        certificate.is_ok_and(|certificate| matches!(certificate.verdict(Claim::Integrable), Verdict::Proved(_)))
    });
    PaperClaim::new("prop:existence_equiv", "for two classes every score has an equivalent loss")
        .computed(format!("largest curl of three scores at 200 random points: {}", brief(worst)))
        .expected("0 to 1e-15, and certificates that prove it", Basis::Theory)
        .holds(worst < 1e-15 && proved)
}

/// Checks that certificates refute integrability for three and more classes, and re-evaluates their witnesses.
fn more_classes() -> PaperClaim {
    let mut good = 0;
    let mut smallest = f64::INFINITY;
    for classes in [3, 4, 10] {
        for rule in ["entropy", "least-confidence", "top-two-margin"] {
            let Ok(certificate) = certify_classes(SOFTMAX, rule, classes) else { continue };
            let score = vector::parse(rule).expect("a registered score");
            let (Verdict::Refuted(witness), Some(found)) =
                (certificate.verdict(Claim::Integrable), find_curl(&*score.object, classes))
            else {
                continue;
            };
            let value = plain::curl_of_many(rule, &witness.at, found.label, found.plane);
            smallest = smallest.min(value.abs());
            good += usize::from((value - witness.found).abs() < 1e-8 && 1e-3 < value.abs());
        }
    }
    PaperClaim::new("prop:existence_equiv", "no score of 3, 4 or 10 classes is integrable")
        .computed(format!("{good} of 9 refuted by certificates with a curl; the least of them {}", brief(smallest)))
        .expected("each witness by differences of the plain field, to 1e-8 and beyond 1e-3", Basis::Run)
        .holds(good == 9)
}

/// Returns h(ℓ) = ℓ/(1 + ℓ).
fn surprise(z: &Logits, label: usize) -> f64 {
    let loss = loss(z, label);
    loss / (1.0 + loss)
}

/// Checks that U = h(ℓ) has no curl, but a different value for each label.
fn of_the_loss() -> PaperClaim {
    let mut worst = 0.0_f64;
    for label in 0..3 {
        let field = |z: &[f64]| {
            let z = [z[0], z[1], z[2]];
            loss_gradient(&z, label).map(|g| surprise(&z, label) * g).to_vec()
        };
        worst = worst.max(loop_work(&field, &corners(1.0)).abs());
    }
    let values = [0, 1, 2].map(|label| surprise(&POINT, label));
    PaperClaim::new("prop:existence_equiv", "U = h(ℓ) is sufficient")
        .computed(format!(
            "work around the square at most {}; but U = {} for y = 1, 2, 3",
            brief(worst),
            values.map(brief).join(", ")
        ))
        .expected("work 0 to 1e-14; one value of U, were it a rule that asks before the label is known", Basis::Run)
        .holds_with_erratum(18, worst < 1e-14 && 0.1 < values[1] - values[0])
}

/// Returns a point of the level set on which label 1 keeps its probability while the others share the rest.
fn on_level_set(share: f64) -> Logits {
    [0.8, (1.4 * share).ln(), (1.4 * (1.0 - share)).ln()]
}

/// Checks the fourth condition: U is constant along a level set exactly where the curl is 0.
fn level_sets() -> PaperClaim {
    let spread = |f: &dyn Fn(&Logits) -> f64| {
        let values: Vec<f64> = (2..=18).map(|i| f(&on_level_set(f64::from(i) / 20.0))).collect();
        values.iter().copied().fold(f64::MIN, f64::max) - values.iter().copied().fold(f64::MAX, f64::min)
    };
    let of_loss = spread(&|z| loss(z, 0));
    let spreads: Vec<(f64, f64)> = SCORES
        .iter()
        .map(|score| {
            let at = on_level_set(0.3);
            (spread(&|z| (score.formula)(z)), curl_by_differences(&|z| (score.formula)(z), 0, at).abs())
        })
        .collect();
    let agree = spreads.iter().all(|(spread, curl)| (*spread < 1e-12) == (*curl < 1e-9));
    let shown: Vec<String> =
        SCORES.iter().zip(&spreads).map(|(score, (spread, _))| format!("{} {}", score.name, brief(*spread))).collect();
    PaperClaim::new("prop:existence_equiv", "a score is constant on level sets of the loss just where its curl is 0")
        .computed(format!("varies along a level set of y = 1 by: {}", shown.join(", ")))
        .expected(format!("0 just for least confidence; the loss itself varies by {}", brief(of_loss)), Basis::Run)
        .holds(agree && of_loss < 1e-14 && spreads[1].0 < 1e-12 && 1e-2 < spreads[0].0 && 1e-2 < spreads[2].0)
}

/// Checks that averaging over the label does not remove the curl.
fn averaged() -> PaperClaim {
    let theory = vector::parse("entropy:base=3").expect("a registered score");
    let odds = [0.5, 0.3, 0.2];
    let found: f64 = (0..3).map(|label| odds[label] * curl(&*theory.object, &POINT, label, 0, 1)).sum();
    let entropy = SCORES[0].formula;
    let plain: f64 = (0..3).map(|label| odds[label] * curl_by_differences(&|z| entropy(z), label, POINT)).sum();
    PaperClaim::new(
        "prop:existence_equiv",
        "nor has the entropy's field an objective after averaging over labels (.5, .3, .2)",
    )
    .computed(format!("curl {found:.16}"))
    .expected(format!("0.0022695408474571 to 1e-15; by differences {plain:.10}"), Basis::Reference)
    .holds((found - 0.002_269_540_847_457_080_9).abs() < 1e-15 && (plain - found).abs() < 1e-9)
}

/// Checks that the gradients of two labels are never parallel, so that ∇U would have to vanish.
fn independent_gradients(settings: &ReproductionSettings) -> PaperClaim {
    let coin = Coin::new(settings.seed, "existence gradients");
    let (mut worst, mut least) = (0.0_f64, f64::INFINITY);
    for index in 0..500 {
        let z = [0, 1, 2].map(|j| 6.0 * coin.unit(3 * index + j) - 3.0);
        let (a, b) = (loss_gradient(&z, 0), loss_gradient(&z, 1));
        let determinant = a[0] * b[1] - a[1] * b[0];
        let third = (-loss(&z, 2)).exp();
        worst = worst.max((determinant - third).abs());
        least = least.min(determinant);
    }
    PaperClaim::new(
        "prop:existence_equiv",
        "gradients of two labels are independent for three classes: a rule without the label is locally constant",
    )
    .computed(format!("least determinant at 500 random points {}, off p₃ by at most {}", brief(least), brief(worst)))
    .expected("the third probability, which is positive; to 1e-14", Basis::Theory)
    .holds(worst < 1e-14 && 0.0 < least)
}

/// Checks for logits z = Wx that the curl in two weights is that in the logits times two features.
fn in_parameters() -> PaperClaim {
    let x = [0.7, -1.2];
    let score = &SCORES[0];
    // Weights W with Wx = POINT: rows z_k·x/‖x‖².
    let size = x[0] * x[0] + x[1] * x[1];
    let at = |changed: &[(usize, usize, f64)]| {
        let mut weights = POINT.map(|z| x.map(|x| z * x / size));
        for (k, j, by) in changed {
            weights[*k][*j] += by;
        }
        weights.map(|row| row[0] * x[0] + row[1] * x[1])
    };
    let field = |z: &Logits, k: usize, j: usize| (score.formula)(z) * loss_gradient(z, 1)[k] * x[j];
    let mut worst = 0.0_f64;
    for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let one = derivative(&|t| field(&at(&[(0, a, t)]), 1, b), 0.0, 1e-3);
        let other = derivative(&|t| field(&at(&[(1, b, t)]), 0, a), 0.0, 1e-3);
        worst = worst.max((one - other - score.curls[1] * x[a] * x[b]).abs());
    }
    PaperClaim::new(
        "prop:existence_equiv",
        "in the weights of a linear model the curl is that of the logits times x xᵀ",
    )
    .computed(format!("entropy, y = 2, x = (0.7, −1.2): off by at most {}", brief(worst)))
    .expected("curl times x_a·x_b, to 1e-9", Basis::Run)
    .holds(worst < 1e-9)
}

const COLORS: [Color; 3] = [Color::Blue, Color::Orange, Color::Green];

fn figure() -> Figure {
    let mut along: Vec<Series> = vec![];
    let mut around: Vec<Series> = vec![];
    let sides: Vec<f64> = (1..=40).map(|i| 0.05 * f64::from(i)).collect();
    for (score, color) in SCORES.iter().zip(COLORS) {
        let series = |points| Series { name: score.title.to_owned(), color, mark: SeriesMark::Line, points };
        let shares = (2..=98).map(|i| f64::from(i) / 100.0);
        along.push(series(shares.map(|share| (share, (score.formula)(&on_level_set(share)))).collect()));
        let theory = vector::parse(score.name).expect("a registered score");
        let work = |side: f64| loop_work(&|z| queried_field(&*theory.object, 1, z), &corners(side));
        around.push(series(sides.iter().map(|&side| (side, work(side))).collect()));
    }
    let constant = surprise(&on_level_set(0.5), 0);
    let series = |name: &str, color, points| Series { name: name.to_owned(), color, mark: SeriesMark::Dashed, points };
    along.push(series("h(ℓ) = ℓ/(1 + ℓ)", Color::Gray, vec![(0.02, constant), (0.98, constant)]));
    let built =
        sides.iter().map(|&side| (side, loop_work(&|z| population::field(z).to_vec(), &corners(side)))).collect();
    around.push(series("U = L/M, mean over labels", Color::Gray, built));
    Figure {
        title: "Three classes: no objective".to_owned(),
        caption:
            "Left: scores along a level set of the loss of label 1, as the other two labels share the rest of the \
                  probability; a score with an objective would be constant. Right: the work of U·∇ℓ for label 2 around \
                  a square of logits about (1, 0); a gradient would do none. The construction U = L/M has one."
                .to_owned(),
        panels: vec![
            Panel {
                title: "along a level set of the loss".to_owned(),
                x: Axis { range: Some((0.0, 1.0)), ..Axis::new("share of class 2 in what class 1 leaves") },
                y: Axis { range: Some((0.0, 1.0)), ..Axis::new("U") },
                series: along,
            },
            Panel {
                title: "around a square".to_owned(),
                x: Axis { range: Some((0.0, 2.0)), ..Axis::new("side of the square in logits") },
                y: Axis::new("work of the field U·∇ℓ"),
                series: around,
            },
        ],
    }
}
