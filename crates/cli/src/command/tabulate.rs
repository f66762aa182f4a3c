//! `querist tabulate`: values of the curves at points.

use anyhow::{Result, bail};
use clap::Args;
use querist_render::table::columns;
use querist_theory::coordinate::Label;
use querist_theory::equivalent::Queried;
use querist_theory::link::Link;
use querist_theory::loss::{Loss, LossTask};
use serde_json::{Value, json};

use crate::Output;
use crate::number::{json, json_option, read_list, require_within, show};

/// Print values, slopes and curvatures of a pair, its link and the inverse link, at the points you choose
#[derive(Args)]
pub(crate) struct TabulateArgs {
    /// A loss: logistic, squared-hinge, expr:EXPRESSION, ... (`querist list`)
    loss: String,
    /// A rule: entropy, margin:mu=0.5, expr:EXPRESSION, ...
    rule: String,
    /// Margins, as 1,2,3 or @FILE with one per line
    #[arg(long, value_name = "LIST|@FILE", allow_hyphen_values = true)]
    s: Option<String>,
    /// Modeled probabilities of y = +1, for both labels
    #[arg(long, value_name = "LIST|@FILE", allow_hyphen_values = true)]
    q: Option<String>,
    /// Label biases z in [0, 1] at which to print the link ψ
    #[arg(long, value_name = "LIST|@FILE", allow_hyphen_values = true)]
    z: Option<String>,
    /// Excess risks at which to print the inverse of ψ
    #[arg(long, value_name = "LIST|@FILE", allow_hyphen_values = true)]
    psi: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The points from the command line.
struct Points {
    s: Vec<f64>,
    q: Vec<f64>,
    z: Vec<f64>,
    psi: Vec<f64>,
}

pub(super) fn run(arguments: &TabulateArgs) -> Result<Output> {
    let pair = Queried::parse(&arguments.loss, &arguments.rule)?;
    let points = points(arguments)?;
    let regression = pair.loss_facts().task == LossTask::Regression;
    if regression && !(points.q.is_empty() && points.z.is_empty() && points.psi.is_empty()) {
        bail!(
            "`{}` is a regression loss: it has no probability and no link; use --s, the prediction",
            pair.loss().name
        );
    }
    let text = if arguments.json { as_json(&pair, &points).to_string() } else { as_text(&pair, &points) };
    Ok(Output::done(text))
}

fn points(arguments: &TabulateArgs) -> Result<Points> {
    let list = |flag: &str, text: &Option<String>| text.as_ref().map_or(Ok(vec![]), |text| read_list(flag, text));
    let mut points = Points {
        s: list("--s", &arguments.s)?,
        q: list("--q", &arguments.q)?,
        z: list("--z", &arguments.z)?,
        psi: list("--psi", &arguments.psi)?,
    };
    require_within("q", &points.q, 0.0, 1.0)?;
    require_within("z", &points.z, 0.0, 1.0)?;
    require_within("psi", &points.psi, 0.0, f64::INFINITY)?;
    if [&arguments.s, &arguments.q, &arguments.z, &arguments.psi].iter().all(|given| given.is_none()) {
        points.s = (-6..=6).map(f64::from).collect();
    }
    Ok(points)
}

fn as_json(pair: &Queried, points: &Points) -> Value {
    let margin: Vec<Value> = points
        .s
        .iter()
        .map(|&s| {
            json!({
                "s": json(s),
                "uncertainty": json(pair.rule().at(s)),
                "loss": json(pair.loss().value(s)),
                "loss_slope": json(pair.loss().slope(s)),
                "equivalent": json(pair.value(s)),
                "equivalent_above_infimum": json_option(pair.above_infimum(s)),
                "equivalent_slope": json(pair.slope(s)),
                "equivalent_curvature": json_option(pair.curvature_at(s)),
            })
        })
        .collect();
    let probability: Vec<Value> = both_labels(&points.q)
        .map(|(q, label)| {
            let at = pair.at_probability(q, label);
            json!({
                "q": json(q),
                "label": label.sign() as i8,
                "uncertainty": json(at.uncertainty),
                "loss": json(at.loss),
                "loss_slope": json(at.loss_slope),
                "equivalent": json(at.equivalent),
                "equivalent_slope": json(at.equivalent_slope),
                "equivalent_curvature": json_option(at.equivalent_curvature),
            })
        })
        .collect();
    let link = link_if_needed(pair, points);
    let of_link = |numbers: &[f64], row: &dyn Fn(&Link, f64) -> Value| -> Vec<Value> {
        link.iter().flat_map(|link| numbers.iter().map(|&x| row(link, x)).collect::<Vec<_>>()).collect()
    };
    json!({
        "loss": pair.loss().name,
        "rule": pair.rule().name,
        "margin": margin,
        "probability": probability,
        "link": of_link(&points.z, &|link, z| {
            let (psi, within) = link.enclosed_value(z);
            json!({
                "z": json(z), "psi": json_option(psi), "psi_enclosure": [json(within.low), json(within.high)],
                "psi_slope": json(link.slope(z)),
            })
        }),
        "inverse": of_link(&points.psi, &|link, u| json!({"psi": json(u), "z": json(link.inverse(u))})),
    })
}

fn as_text(pair: &Queried, points: &Points) -> String {
    let shown = |x: f64| show(x, 10);
    let optional = |x: Option<f64>| x.map_or("kink".to_owned(), shown);
    let mut text = format!("{} queried by {}\n", pair.loss().name, pair.rule().name);
    if !points.s.is_empty() {
        let row = |&s: &f64| {
            let plain = [s, pair.rule().at(s), pair.loss().value(s), pair.value(s), pair.slope(s)].map(shown);
            [&plain[..], &[optional(pair.curvature_at(s))]].concat()
        };
        let rows: Vec<Vec<String>> = points.s.iter().map(row).collect();
        text += &format!("\n{}", columns(&["s", "U", "ℓ", "ℓ̃", "ℓ̃′", "ℓ̃″"], &rows));
    }
    if !points.q.is_empty() {
        let row = |(q, label): (f64, Label)| {
            let at = pair.at_probability(q, label);
            let y = if label == Label::Plus { "+1" } else { "−1" };
            let plain = [at.uncertainty, at.loss, at.equivalent, at.equivalent_slope].map(shown);
            [&[shown(q), y.to_owned()], &plain[..], &[optional(at.equivalent_curvature)]].concat()
        };
        let rows: Vec<Vec<String>> = both_labels(&points.q).map(row).collect();
        text += &format!("\n{}", columns(&["q", "y", "U", "ℓ", "ℓ̃", "dℓ̃/dq", "d²ℓ̃/dq²"], &rows));
    }
    if let Some(link) = link_if_needed(pair, points) {
        let links: Vec<Vec<String>> = points.z.iter().map(|&z| link_row(&link, z)).collect();
        let inverses: Vec<Vec<String>> = points.psi.iter().map(|&u| [u, link.inverse(u)].map(shown).to_vec()).collect();
        if !links.is_empty() {
            text += &format!("\n{}", columns(&["z", "ψ", "ψ′", "ψ at least", "ψ at most"], &links));
        }
        if !inverses.is_empty() {
            text += &format!("\n{}", columns(&["ψ", "z"], &inverses));
        }
    }
    text
}

fn link_row(link: &Link, z: f64) -> Vec<String> {
    let (psi, within) = link.enclosed_value(z);
    let psi = psi.map_or("unknown".to_owned(), |psi| show(psi, 10));
    // Rounding to six digits has a relative error of at most 5e-6, so the printed bounds stay bounds.
    let (low, high) = (within.low * (1.0 - 5e-6), within.high * (1.0 + 5e-6));
    vec![show(z, 10), psi, show(link.slope(z), 10), show(low, 6), show(high, 6)]
}

/// Returns the link, or `None` if no point needs it: its general construction is slow.
fn link_if_needed<'a>(pair: &'a Queried, points: &Points) -> Option<Link<'a>> {
    if points.z.is_empty() && points.psi.is_empty() { None } else { Link::new(pair) }
}

fn both_labels(q: &[f64]) -> impl Iterator<Item = (f64, Label)> + '_ {
    q.iter().flat_map(|&q| [(q, Label::Plus), (q, Label::Minus)])
}
