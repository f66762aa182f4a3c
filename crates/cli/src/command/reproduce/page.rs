//! The page of a reproduction, and the numbers beside it.

use querist_report::html::{self, Page, PageBlock, Section};
use querist_report::{Figure, Series, SeriesMark};
use querist_reproduce::{Findings, PARTS, ReproductionSettings};

use super::{Found, claims};

/// Returns the page: the command, every claim, then each part with its figures and tables.
pub(super) fn render(found: &[Found], settings: ReproductionSettings) -> String {
    let mut sections = vec![summary(found, settings)];
    for (part, findings) in found {
        sections.push(Section {
            heading: part.title.to_owned(),
            id: part.name.to_owned(),
            body: body(part.about, findings),
        });
    }
    html::render(&Page {
        title: "Understanding Uncertainty Sampling via Equivalent Loss, recomputed".to_owned(),
        sections,
    })
}

fn summary(found: &[Found], settings: ReproductionSettings) -> Section {
    let mut words = vec!["querist", "reproduce"];
    // Without names the command runs all parts.
    if found.len() < PARTS.len() {
        words.extend(found.iter().map(|(part, _)| part.name));
    }
    let quick = if settings.quick { " --quick" } else { "" };
    let command = format!("{} --seed {}{quick}", words.join(" "), settings.seed);
    let count =
        |verdict: &str| claims(found).filter(|(_, claim)| claim.verdict.to_string().starts_with(verdict)).count();
    let corrected = count("holds with");
    let unforeseen: Vec<String> = claims(found)
        .filter(|(_, claim)| !claim.foreseen)
        .map(|(_, claim)| format!("{}: {}", claim.place, claim.statement))
        .collect();
    let mut body = vec![
        PageBlock::Paragraph(format!(
            "Claims: {}. As stated: {}; with a correction of `ERRATA.md`: {corrected}; refuted: {}. This command \
             writes the same bytes:",
            claims(found).count(),
            count("holds") - corrected,
            count("refuted"),
        )),
        PageBlock::Preformatted(command),
        PageBlock::Paragraph(format!(
            "Version {}. Beside this page are each figure as SVG and PNG, its numbers as CSV, and all claims in `claims.json`.",
            env!("CARGO_PKG_VERSION")
        )),
    ];
    if !unforeseen.is_empty() {
        body.push(PageBlock::Paragraph("Not as expected:".to_owned()));
        body.push(PageBlock::List(unforeseen));
    }
    Section { heading: "What was run".to_owned(), id: "run".to_owned(), body }
}

fn body(about: &str, findings: &Findings) -> Vec<PageBlock> {
    let mut about = about.to_owned();
    if let Some(first) = about.get(..1).map(str::to_uppercase) {
        about.replace_range(..1, &first);
    }
    let mut body = vec![PageBlock::Paragraph(about + ".")];
    body.extend(findings.remarks.iter().cloned().map(PageBlock::Paragraph));
    let header = ["where", "verdict", "statement", "computed", "expected"].map(str::to_owned).to_vec();
    let rows = findings
        .claims
        .iter()
        .map(|claim| {
            let mark = if claim.foreseen { "" } else { " (not expected)" };
            vec![
                claim.place.to_owned(),
                format!("{}{mark}", claim.verdict),
                claim.statement.clone(),
                claim.computed.clone(),
                format!("{} ({})", claim.expected, claim.source),
            ]
        })
        .collect();
    body.extend(findings.plates.iter().map(|plate| PageBlock::Figure(plate.figure.clone())));
    body.push(PageBlock::Table { header, rows, caption: String::new() });
    body.extend(findings.tables.iter().map(|table| PageBlock::Table {
        header: table.header.clone(),
        rows: table.rows.clone(),
        caption: table.caption.clone(),
    }));
    body
}

/// Returns the numbers of a figure as CSV, one row per point.
pub(super) fn numbers(figure: &Figure) -> String {
    let mut rows = vec![];
    for (index, panel) in figure.panels.iter().enumerate() {
        let title = if panel.title.is_empty() { format!("{}", index + 1) } else { panel.title.clone() };
        for (index, series) in panel.series.iter().enumerate() {
            let name = if series.name.is_empty() { unnamed(index, series) } else { series.name.clone() };
            let lower = |i: usize| match &series.mark {
                SeriesMark::Band(lower) => lower.get(i).map_or_else(String::new, f64::to_string),
                _ => String::new(),
            };
            rows.extend(
                series
                    .points
                    .iter()
                    .enumerate()
                    .map(|(i, (x, y))| vec![title.clone(), name.clone(), x.to_string(), y.to_string(), lower(i)]),
            );
        }
    }
    comma_separated(&["panel", "series", "x", "y", "y_lower"].map(str::to_owned), &rows)
}

/// Returns a name for a series without a legend entry: its number, color and mark.
fn unnamed(index: usize, series: &Series) -> String {
    let mark = match series.mark {
        SeriesMark::Line => "line",
        SeriesMark::Dashed => "dashed",
        SeriesMark::Dotted => "dotted",
        SeriesMark::Points => "points",
        SeriesMark::Band(_) => "band",
    };
    format!("{} ({} {mark})", index + 1, format!("{:?}", series.color).to_lowercase())
}

/// Returns rows as CSV, with quotes where they are needed.
pub(super) fn comma_separated(header: &[String], rows: &[Vec<String>]) -> String {
    let cell = |cell: &String| {
        if cell.contains([',', '"', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.clone() }
    };
    let line = |cells: &[String]| cells.iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
    std::iter::once(header).chain(rows.iter().map(Vec::as_slice)).map(line).collect()
}

#[cfg(test)]
mod tests {
    use querist_report::{Axis, Color, Panel};

    use super::*;

    #[test]
    fn every_series_of_a_figure_has_its_own_name() {
        let series =
            |name: &str, mark| Series { name: name.to_owned(), color: Color::Blue, mark, points: vec![(1.0, 2.0)] };
        let panel = Panel {
            title: String::new(),
            x: Axis::new("x"),
            y: Axis::new("y"),
            series: vec![
                series("a, b", SeriesMark::Line),
                series("", SeriesMark::Points),
                series("", SeriesMark::Band(vec![0.5])),
            ],
        };
        let figure = Figure { title: String::new(), caption: String::new(), panels: vec![panel] };
        let expected = "panel,series,x,y,y_lower\n1,\"a, b\",1,2,\n1,2 (blue points),1,2,\n1,3 (blue band),1,2,0.5\n";
        assert_eq!(numbers(&figure), expected);
    }
}
