//! The page of a reproduction, and the numbers beside it.

use querist_report::Figure;
use querist_report::html::{self, Block, Page, Section};
use querist_reproduce::{Findings, Settings};

use super::{Found, claims};

/// One page: what was run, every claim, then each part with its figures and tables.
pub(super) fn render(found: &[Found], settings: Settings) -> String {
    let mut sections = vec![summary(found, settings)];
    for (part, findings) in found {
        sections.push(Section {
            heading: part.title.to_owned(),
            id: part.name.to_owned(),
            body: body(part.about, findings),
        });
    }
    html::render(&Page {
        title: "Understanding Uncertainty Sampling via Equivalent Loss, computed again".to_owned(),
        sections,
    })
}

fn summary(found: &[Found], settings: Settings) -> Section {
    let names: Vec<&str> = found.iter().map(|(part, _)| part.name).collect();
    let quick = if settings.quick { " --quick" } else { "" };
    let command = format!("querist reproduce {} --seed {}{quick}", names.join(" "), settings.seed);
    let count =
        |verdict: &str| claims(found).filter(|(_, claim)| claim.verdict.to_string().starts_with(verdict)).count();
    let corrected = count("holds with");
    let unforeseen: Vec<String> = claims(found)
        .filter(|(_, claim)| !claim.foreseen)
        .map(|(_, claim)| format!("{}: {}", claim.place, claim.statement))
        .collect();
    let mut body = vec![
        Block::Paragraph(format!(
            "{} claims: {} hold, {corrected} hold with a correction of `ERRATA.md`, {} are refuted. The same bytes come out of:",
            claims(found).count(),
            count("holds") - corrected,
            count("refuted"),
        )),
        Block::Preformatted(command),
        Block::Paragraph(format!(
            "Version {}. Beside this page are each figure as SVG and PNG, its numbers as CSV, and all claims in `claims.json`.",
            env!("CARGO_PKG_VERSION")
        )),
    ];
    if !unforeseen.is_empty() {
        body.push(Block::Paragraph("Not as foreseen:".to_owned()));
        body.push(Block::List(unforeseen));
    }
    Section { heading: "What was run".to_owned(), id: "run".to_owned(), body }
}

fn body(about: &str, findings: &Findings) -> Vec<Block> {
    let mut about = about.to_owned();
    if let Some(first) = about.get(..1).map(str::to_uppercase) {
        about.replace_range(..1, &first);
    }
    let mut body = vec![Block::Paragraph(about + ".")];
    body.extend(findings.remarks.iter().cloned().map(Block::Paragraph));
    let header = ["where", "statement", "computed", "expected", "by", "verdict"].map(str::to_owned).to_vec();
    let rows = findings
        .claims
        .iter()
        .map(|claim| {
            let mark = if claim.foreseen { "" } else { " (not foreseen)" };
            vec![
                claim.place.to_owned(),
                claim.statement.clone(),
                claim.computed.clone(),
                claim.expected.clone(),
                claim.source.to_string(),
                format!("{}{mark}", claim.verdict),
            ]
        })
        .collect();
    body.push(Block::Table { header, rows, caption: String::new() });
    body.extend(findings.plates.iter().map(|plate| Block::Figure(plate.figure.clone())));
    body.extend(findings.tables.iter().map(|table| Block::Table {
        header: table.header.clone(),
        rows: table.rows.clone(),
        caption: table.caption.clone(),
    }));
    body
}

/// The numbers behind a figure: one row a point.
pub(super) fn numbers(figure: &Figure) -> String {
    let mut rows = vec![];
    for (place, panel) in figure.panels.iter().enumerate() {
        let title = if panel.title.is_empty() { format!("{}", place + 1) } else { panel.title.clone() };
        for series in &panel.series {
            let lower = |i: usize| match &series.mark {
                querist_report::Mark::Band(lower) => lower.get(i).map_or_else(String::new, f64::to_string),
                _ => String::new(),
            };
            rows.extend(
                series.points.iter().enumerate().map(|(i, (x, y))| {
                    vec![title.clone(), series.name.clone(), x.to_string(), y.to_string(), lower(i)]
                }),
            );
        }
    }
    comma_separated(&["panel", "series", "x", "y", "y_lower"].map(str::to_owned), &rows)
}

/// Rows with commas between cells, quoted where they must be.
pub(super) fn comma_separated(header: &[String], rows: &[Vec<String>]) -> String {
    let cell = |cell: &String| {
        if cell.contains([',', '"', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.clone() }
    };
    let line = |cells: &[String]| cells.iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
    std::iter::once(header).chain(rows.iter().map(Vec::as_slice)).map(line).collect()
}
