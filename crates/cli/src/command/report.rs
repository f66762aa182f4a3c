//! `querist report`: what happened in a run, as a page with figures.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use querist_ledger::Ledger;
use querist_report::html::{self, Block, Page, Section};
use querist_report::{Axis, Color, Figure, Mark, Panel, Series};
use serde_json::{Value, json};

use crate::Output;
use crate::run::history::{BINS, History};
use crate::run::outcome::grouped;
use crate::run::record::Sums;

/// What happened in a run: learning curve, query rate, probabilities, class balance
#[derive(Args)]
pub(crate) struct Arguments {
    /// The ledger of a run
    ledger: PathBuf,
    /// The folder to write the page and its figures to
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Prints the numbers behind the figures as JSON
    #[arg(long)]
    json: bool,
}

const COLORS: [Color; 6] = [Color::Blue, Color::Orange, Color::Green, Color::Purple, Color::Red, Color::Gray];

pub(super) fn run(arguments: &Arguments) -> Result<Output> {
    let ledger = Ledger::read(&arguments.ledger)?;
    let counts = ledger.counts();
    let history = History::read(&ledger)?;
    let figures: Vec<(&str, Figure)> = [
        ("learning-curve", learning_curve(&history)),
        ("query-rate", query_rate(&history)),
        ("probabilities", probabilities(&history)),
        ("class-balance", class_balance(&history)),
    ]
    .into_iter()
    .filter_map(|(name, figure)| figure.map(|figure| (name, figure)))
    .collect();
    let numbers = as_json(&history, &figures);
    let mut sections = vec![Section {
        heading: "The run".to_owned(),
        id: "run".to_owned(),
        body: vec![settings(&history, counts.considered, counts.asked, counts.answered)],
    }];
    for (name, figure) in &figures {
        let (heading, id) = (figure.title.clone(), (*name).to_owned());
        sections.push(Section { heading, id, body: vec![Block::Figure(figure.clone())] });
    }
    let page = Page { title: format!("Run of {}", arguments.ledger.display()), sections };
    let written = write(&arguments.out, &page, &figures, &numbers)?;
    let text = if arguments.json {
        numbers.to_string()
    } else {
        format!("Written to {}: {}", arguments.out.display(), written.join(", "))
    };
    Ok(Output::done(text))
}

fn settings(history: &History, considered: u64, asked: u64, answered: u64) -> Block {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut rows = vec![
        vec!["command".to_owned(), format!("querist {}", text(&history.header["command"]))],
        vec!["data".to_owned(), text(&history.header["data"]["file"])],
    ];
    if let Some(encoder) = &history.encoder {
        rows.push(vec!["columns".to_owned(), encoder.describe()]);
    }
    for (key, value) in history.header["settings"].as_object().into_iter().flatten() {
        // What was not asked for needs no line.
        let idle = value.is_null() || *value == json!(false) || *value == json!("none") || *value == json!(0.0);
        if !idle || key == "seed" {
            rows.push(vec![format!("--{}", key.replace('_', "-")), text(value)]);
        }
    }
    if 0 < considered {
        rows.push(vec!["items considered".to_owned(), grouped(considered)]);
    }
    rows.push(vec!["labels asked for".to_owned(), grouped(asked)]);
    rows.push(vec!["answers".to_owned(), grouped(answered)]);
    let finished = |key: &str| history.finished.as_ref().map(|end| &end[key]).filter(|value| !value.is_null());
    for key in ["progressive_accuracy", "progressive_loss", "inverse_probability_mean", "stopped"] {
        if let Some(value) = finished(key) {
            rows.push(vec![key.replace('_', " "), value.as_f64().map_or_else(|| text(value), |x| format!("{x:.4}"))]);
        }
    }
    for (key, value) in finished("test").and_then(Value::as_object).into_iter().flatten() {
        let number = value.as_u64().map(grouped).or_else(|| value.as_f64().map(|x| format!("{x:.4}")));
        rows.extend(number.map(|number| vec![format!("test {}", key.replace('_', " ")), number]));
    }
    if finished("stalled") == Some(&json!(true)) {
        rows.push(vec!["stalled".to_owned(), "yes: the query rate vanished before the end".to_owned()]);
    }
    let header = vec!["what".to_owned(), "value".to_owned()];
    Block::Table { header, rows, caption: String::new() }
}

fn line(name: &str, color: Color, mark: Mark, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.to_owned(), color, mark, points }
}

fn one_panel(title: &str, caption: &str, x: Axis, y: Axis, series: Vec<Series>) -> Figure {
    let panels = vec![Panel { title: String::new(), x, y, series }];
    Figure { title: title.to_owned(), caption: caption.to_owned(), panels }
}

/// A stream is measured before each label is used, a pool on its test rows.
fn learning_curve(history: &History) -> Option<Figure> {
    if 1 < history.measured.len() {
        return Some(measured(history));
    }
    let points = history.finished.as_ref().and_then(|end| end["curve"].as_array());
    if let Some(points) = points.filter(|points| 1 < points.len()) {
        let series = |place: usize| -> Vec<(f64, f64)> {
            points.iter().filter_map(|p| Some((p[0].as_f64()?, p[place].as_f64()?))).collect()
        };
        return Some(one_panel(
            "Learning curve",
            "Accuracy on the test rows (R² for numbers) as labels come in: of the average of all parameters so far, and of the last ones.",
            Axis::new("labels"),
            Axis::new(if history.classes.is_empty() { "R² on the test rows" } else { "accuracy on the test rows" }),
            vec![
                line("average", Color::Blue, Mark::Line, series(1)),
                line("last", Color::Orange, Mark::Dashed, series(3)),
            ],
        ));
    }
    let mut before = Sums::default();
    let (mut window, mut overall, mut labels) = (vec![], vec![], 0);
    // Numbers are never right or wrong: their loss is shown instead.
    let numbers = history.classes.is_empty();
    let good = |sums: Sums| if numbers { sums.loss } else { sums.right as f64 };
    for piece in &history.pieces {
        labels += piece.asked;
        let new = piece.sums.labeled.saturating_sub(before.labeled);
        if 0 < new {
            window.push((labels as f64, (good(piece.sums) - good(before)) / new as f64));
            overall.push((labels as f64, good(piece.sums) / piece.sums.labeled as f64));
        }
        before = piece.sums;
    }
    (1 < window.len()).then(|| {
        one_panel(
            "Learning curve",
            "How well rows were predicted before their label was used, in each piece of the stream and over all so far.",
            Axis::new("labels"),
            Axis::new(if numbers { "progressive loss" } else { "progressive accuracy" }),
            vec![
                line("each piece", Color::Blue, Mark::Points, window),
                line("so far", Color::Orange, Mark::Line, overall),
            ],
        )
    })
}

/// What was estimated while people labelled.
fn measured(history: &History) -> Figure {
    let points = |of: fn(&(f64, f64, f64, f64)) -> f64| -> Vec<(f64, f64)> {
        history.measured.iter().map(|point| (point.0, of(point))).collect()
    };
    let lows = history.measured.iter().map(|point| point.2).collect();
    let score = if history.classes.is_empty() { "estimated loss" } else { "estimated accuracy" };
    one_panel(
        "Learning curve",
        "The score on the whole pool, estimated from the labels that were asked for, with its interval of 95 %.",
        Axis::new("labels"),
        Axis::new(score),
        vec![
            line("interval", Color::Blue, Mark::Band(lows), points(|point| point.3)),
            line("estimate", Color::Blue, Mark::Line, points(|point| point.1)),
        ],
    )
}

fn query_rate(history: &History) -> Option<Figure> {
    let (mut time, mut expected, mut asked) = (0, vec![], vec![]);
    for piece in &history.pieces {
        let middle = time as f64 + piece.items as f64 / 2.0;
        time += piece.items;
        expected.push((middle, piece.expected / piece.items as f64));
        asked.push((middle, piece.asked as f64 / piece.items as f64));
    }
    (1 < expected.len()).then(|| {
        one_panel(
            "Query rate over time",
            "The mean probability of asking and the share that was asked, piece by piece. A rate that vanishes is a stall.",
            Axis::new("observations"),
            Axis { range: None, ..Axis::new("share") },
            vec![
                line("asked", Color::Orange, Mark::Points, asked),
                line("mean probability", Color::Blue, Mark::Line, expected),
            ],
        )
    })
}

/// Bars as bands: one step a bin.
fn bars(name: &str, color: Color, counts: &[u64; BINS]) -> Series {
    let total = counts.iter().sum::<u64>().max(1) as f64;
    let edge = |k: usize| k as f64 / BINS as f64;
    let points: Vec<(f64, f64)> = (0..BINS)
        .flat_map(|k| {
            let share = counts[k] as f64 / total;
            [(edge(k), share), (edge(k + 1), share)]
        })
        .collect();
    line(name, color, Mark::Band(vec![0.0; points.len()]), points)
}

fn probabilities(history: &History) -> Option<Figure> {
    let mut series = vec![];
    if 0 < history.considered.iter().sum::<u64>() {
        series.push(bars("all items", Color::Blue, &history.considered));
    }
    if 0 < history.taken.iter().sum::<u64>() {
        series.push(bars("those asked", Color::Orange, &history.taken));
    }
    (!series.is_empty()).then(|| {
        one_panel(
            "Probabilities",
            "How the probabilities that were used spread over [0, 1].",
            Axis { range: Some((0.0, 1.0)), ..Axis::new("probability of asking") },
            Axis::new("share of items"),
            series,
        )
    })
}

/// The share of each class among the answers so far.
fn class_balance(history: &History) -> Option<Figure> {
    let classes = &history.classes;
    if !(2..=12).contains(&classes.len()) || history.labels.len() < 2 {
        return None;
    }
    let codes = &history.codes;
    let every = history.labels.len().div_ceil(200);
    let mut counts = vec![0_u64; classes.len()];
    let mut shares = vec![vec![]; classes.len()];
    for (place, label) in history.labels.iter().enumerate() {
        if let Some(class) = codes.iter().position(|code| code == label) {
            counts[class] += 1;
        }
        if (place + 1) % every == 0 || place + 1 == history.labels.len() {
            for (share, count) in shares.iter_mut().zip(&counts) {
                share.push(((place + 1) as f64, *count as f64 / (place + 1) as f64));
            }
        }
    }
    let series = classes.iter().zip(shares).enumerate().map(|(place, (class, points))| {
        let mark = if place < COLORS.len() { Mark::Line } else { Mark::Dashed };
        line(class, COLORS[place % COLORS.len()], mark, points)
    });
    Some(one_panel(
        "Class balance",
        "The share of each class among the answers so far.",
        Axis::new("answers"),
        Axis { range: Some((0.0, 1.0)), ..Axis::new("share of answers") },
        series.collect(),
    ))
}

fn as_json(history: &History, figures: &[(&str, Figure)]) -> Value {
    let figures: serde_json::Map<String, Value> = figures
        .iter()
        .map(|(name, figure)| {
            let series: serde_json::Map<String, Value> = figure
                .panels
                .iter()
                .flat_map(|panel| &panel.series)
                .map(|series| (series.name.clone(), json!(series.points)))
                .collect();
            ((*name).to_owned(), Value::Object(series))
        })
        .collect();
    json!({"run": history.header, "finished": history.finished, "figures": figures})
}

fn write(folder: &Path, page: &Page, figures: &[(&str, Figure)], numbers: &Value) -> Result<Vec<String>> {
    fs::create_dir_all(folder).with_context(|| format!("--out: cannot make the folder {}", folder.display()))?;
    let mut written = vec![];
    let mut save = |name: String, bytes: &[u8]| -> Result<()> {
        let path = folder.join(&name);
        fs::write(&path, bytes).with_context(|| format!("--out: cannot write {}", path.display()))?;
        written.push(name);
        Ok(())
    };
    save("index.html".to_owned(), html::render(page).as_bytes())?;
    save("report.json".to_owned(), format!("{numbers:#}\n").as_bytes())?;
    for (name, figure) in figures {
        save(format!("{name}.svg"), querist_report::svg(figure).as_bytes())?;
        save(format!("{name}.png"), &querist_report::png(figure, 2.0).context("drawing a figure")?)?;
    }
    Ok(written)
}
