//! Self-contained HTML pages with text, tables and figures: no scripts, no external files.

use crate::draw::columns;
use crate::escape::{escape, sentence};
use crate::figure::Figure;
use crate::svg::panel_svg;

const STYLE: &str = include_str!("page.css");
/// The number of sections from which a page has a table of contents.
const MANY_SECTIONS: usize = 3;

/// A page; all text in it is plain text, in which `backquotes` mark code.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The title of the document and its first heading.
    pub title: String,
    /// The sections, from top to bottom.
    pub sections: Vec<Section>,
}

/// A part of a page under one heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// The anchor of the section within the page; unique per section.
    pub id: String,
    /// The content of the section.
    pub body: Vec<PageBlock>,
}

/// A block of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum PageBlock {
    /// Running text.
    Paragraph(String),
    /// A bulleted list.
    List(Vec<String>),
    /// Rows of cells; numeric columns are right-aligned.
    Table {
        /// The names of the columns.
        header: Vec<String>,
        /// The cells, row by row.
        rows: Vec<Vec<String>>,
        /// The caption; empty for none.
        caption: String,
    },
    /// A figure with its title and caption below.
    Figure(Figure),
    /// Text whose spaces and line breaks matter.
    Preformatted(String),
}

/// Renders a page as one HTML document.
pub fn render(page: &Page) -> String {
    let title = escape(&page.title);
    let contents = contents(&page.sections);
    let sections: String = page.sections.iter().map(section).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>{title}</h1>\n{contents}<main>\n{sections}</main>\n</body>\n</html>\n"
    )
}

fn contents(sections: &[Section]) -> String {
    if sections.len() < MANY_SECTIONS {
        return String::new();
    }
    let link = |section: &Section| {
        let (id, heading) = (address(&section.id), escape(&section.heading));
        format!("<li><a href=\"#{id}\">{heading}</a></li>\n")
    };
    let links: String = sections.iter().map(link).collect();
    format!("<nav aria-label=\"Contents\">\n<ol>\n{links}</ol>\n</nav>\n")
}

/// Turns an id into an anchor: identifiers cannot contain spaces.
fn address(id: &str) -> String {
    escape(&id.split_whitespace().collect::<Vec<_>>().join("-"))
}

fn section(section: &Section) -> String {
    let (id, heading) = (address(&section.id), escape(&section.heading));
    let body: String = section.body.iter().map(block).collect();
    format!("<section id=\"{id}\">\n<h2>{heading}</h2>\n{body}</section>\n")
}

fn block(block: &PageBlock) -> String {
    match block {
        PageBlock::Paragraph(text) => format!("<p>{}</p>\n", sentence(text)),
        PageBlock::Preformatted(text) => {
            format!("<pre tabindex=\"0\">{}</pre>\n", escape(text))
        }
        PageBlock::List(items) => {
            let item = |text: &String| format!("<li>{}</li>\n", sentence(text));
            let items: String = items.iter().map(item).collect();
            format!("<ul>\n{items}</ul>\n")
        }
        PageBlock::Table { header, rows, caption } => table(header, rows, caption),
        PageBlock::Figure(figure) => figure_block(figure),
    }
}

fn table(header: &[String], rows: &[Vec<String>], caption: &str) -> String {
    let class = |column: usize| {
        if is_numeric(rows, column) { " class=\"number\"" } else { "" }
    };
    let cells = |row: &[String], tag: &str, scope: &str| -> String {
        let cell =
            |(column, text): (usize, &String)| format!("<{tag}{scope}{}>{}</{tag}>", class(column), sentence(text));
        let cells: String = row.iter().enumerate().map(cell).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let caption = if caption.is_empty() { String::new() } else { format!("<caption>{}</caption>\n", escape(caption)) };
    let head = cells(header, "th", " scope=\"col\"");
    let body: String = rows.iter().map(|row| cells(row, "td", "")).collect();
    // The focusable wrapper makes a wide table scrollable from the keyboard.
    format!(
        "<div class=\"scroll\" tabindex=\"0\">\n<table>\n{caption}<thead>\n{head}</thead>\n\
         <tbody>\n{body}</tbody>\n</table>\n</div>\n"
    )
}

/// Returns whether a column has only numbers, apart from empty cells.
fn is_numeric(rows: &[Vec<String>], column: usize) -> bool {
    let mut cells = rows
        .iter()
        .filter_map(|row| row.get(column))
        .map(|text| text.trim().trim_end_matches('%').replace('−', "-"))
        .filter(|text| !text.is_empty())
        .peekable();
    cells.peek().is_some() && cells.all(|text| text.parse::<f64>().is_ok())
}

fn figure_block(figure: &Figure) -> String {
    let panels: String = figure.panels.iter().map(|panel| panel_svg(figure, panel)).collect();
    let title =
        if figure.title.is_empty() { String::new() } else { format!("<strong>{}</strong> ", escape(&figure.title)) };
    let caption = escape(&figure.caption);
    let class = if columns(figure) > 2 { "panels small" } else { "panels" };
    format!(
        "<figure>\n<div class=\"{class}\">\n{panels}</div>\n\
         <figcaption>{title}{caption}</figcaption>\n</figure>\n"
    )
}
