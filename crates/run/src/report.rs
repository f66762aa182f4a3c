//! The report of a run: a page with its settings, results and figures.

use querist_ledger::Ledger;
use querist_report::Figure;
use querist_report::html::{Page, PageBlock, Section};
use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::history::History;

mod balance;
mod curve;
mod plot;
mod rate;
mod reliability;
mod spread;
mod table;

/// The report of a run.
pub struct RunReport {
    /// The figures, with the reason for each that is missing.
    pub figures: [RunFigure; 5],
    /// The page with the table and the figures.
    pub page: Page,
    /// The settings, results and points of the figures.
    pub numbers: Value,
}

/// A figure of a report.
pub struct RunFigure {
    /// The name of its files.
    pub name: &'static str,
    /// The heading of its section.
    pub heading: &'static str,
    /// The figure, or a sentence with the reason why there is none.
    pub figure: Result<Figure, String>,
}

impl RunReport {
    /// Reads the ledger of a run and draws its figures.
    ///
    /// # Errors
    /// If the ledger cannot be read, or is not the ledger of a run.
    pub fn of(ledger: &Ledger) -> Result<Self> {
        let history = History::read(ledger)?;
        let figure = |name, heading, figure| RunFigure { name, heading, figure };
        let figures = [
            figure("learning-curve", "Learning curve", curve::learning_curve(&history)),
            figure("query-rate", "Query rate over time", rate::query_rate(&history)),
            if history.header["command"] == "stream" {
                figure("probabilities", "Probabilities", spread::probabilities(&history))
            } else {
                figure("uncertainty", "Uncertainty", spread::uncertainty(&history))
            },
            figure("class-balance", "Class balance", balance::class_balance(&history)),
            figure("reliability", "Reliability of probabilities", reliability::reliability(&history)),
        ];
        let table = table::table(&history, history.considered.iter().sum(), ledger.count("asked"));
        let mut sections = vec![Section { heading: "The run".to_owned(), id: "run".to_owned(), body: vec![table] }];
        sections.extend(figures.iter().map(RunFigure::section));
        let name = ledger.path().file_name().unwrap_or_default().display();
        let page = Page { title: format!("Run of {name}"), sections };
        let numbers = as_json(&history, &figures);
        Ok(Self { figures, page, numbers })
    }
}

impl RunFigure {
    fn section(&self) -> Section {
        let block = match &self.figure {
            Ok(figure) => PageBlock::Figure(figure.clone()),
            Err(why) => PageBlock::Paragraph(format!("There is no figure: {why}")),
        };
        Section { heading: self.heading.to_owned(), id: self.name.to_owned(), body: vec![block] }
    }
}

/// Returns the series of the figures by name, and the reasons for missing figures.
fn as_json(history: &History, figures: &[RunFigure]) -> Value {
    let series = |figure: &Figure| -> Value {
        let all = figure.panels.iter().flat_map(|panel| &panel.series);
        Value::Object(all.map(|series| (series.name.clone(), json!(series.points))).collect())
    };
    let (mut drawn, mut missing) = (Map::new(), Map::new());
    for RunFigure { name, figure, .. } in figures {
        match figure {
            Ok(figure) => drawn.insert((*name).to_owned(), series(figure)),
            Err(why) => missing.insert((*name).to_owned(), why.clone().into()),
        };
    }
    json!({"run": history.header, "finished": history.finished, "figures": drawn, "missing": missing})
}
