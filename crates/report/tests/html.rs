//! The content of HTML pages; pages are also valid XML except for a few elements, so an XML parser can check them.

mod common;

use common::{figure, panel, series};
use querist_report::SeriesMark;
use querist_report::html::{Page, PageBlock, Section, render};
use roxmltree::Document;

fn section(id: &str, body: Vec<PageBlock>) -> Section {
    Section { heading: format!("About {id}"), id: id.into(), body }
}

fn page(sections: Vec<Section>) -> String {
    render(&Page { title: "A <title> & more".into(), sections })
}

/// Converts the page to XML by closing its few elements without an end tag.
fn as_xml(page: &str) -> String {
    let body = page.strip_prefix("<!DOCTYPE html>\n").expect("a doctype");
    body.lines()
        .map(|line| if line.starts_with("<meta") { line.replace('>', "/>") } else { line.into() })
        .collect::<Vec<String>>()
        .join("\n")
}

fn everything() -> Vec<PageBlock> {
    let mut two = figure(vec![series("<name>", SeriesMark::Line, &[(0.0, 1.0), (1.0, 2.0)])]);
    two.panels.push(panel(Vec::new()));
    let cells = |row: [&str; 2]| row.map(str::to_owned).to_vec();
    vec![
        PageBlock::Paragraph("1 < 2 & \"3\"".into()),
        PageBlock::List(vec!["<li>".into(), "second".into()]),
        PageBlock::Table {
            header: cells(["na<me", "value"]),
            rows: vec![cells(["a&b", "−1.5"]), cells(["c", "20"])],
            caption: "<caption>".into(),
        },
        PageBlock::Figure(two),
        PageBlock::Preformatted("  <pre>\n\tkept".into()),
    ]
}

#[test]
fn a_page_is_well_formed_with_all_text_escaped() {
    let page = page(vec![section("all", everything())]);
    let xml = as_xml(&page);
    let document = Document::parse(&xml).expect("a page is well-formed");
    let text_of = |tag: &str| -> Vec<String> {
        let nodes = document.descendants().filter(|node| node.has_tag_name(tag));
        nodes.filter_map(|node| node.text()).map(str::to_owned).collect()
    };
    assert_eq!(text_of("title"), ["A <title> & more"]);
    assert_eq!(text_of("h1"), ["A <title> & more"]);
    assert_eq!(text_of("p"), ["1 < 2 & \"3\""]);
    assert_eq!(text_of("li"), ["<li>", "second"]);
    assert_eq!(text_of("th"), ["na<me", "value"]);
    assert_eq!(text_of("td"), ["a&b", "−1.5", "c", "20"]);
    assert_eq!(text_of("caption"), ["<caption>"]);
    assert_eq!(text_of("pre"), ["  <pre>\n\tkept"]);
}

#[test]
fn a_page_is_self_contained() {
    let page = page(vec![section("all", everything())]);
    assert!(page.contains("<html lang=\"en\">"));
    assert!(!page.contains("<script") && !page.contains("<link") && !page.contains("src="));
    assert!(!page.contains("url(") && !page.contains("@import"));
}

#[test]
fn a_figure_has_all_its_panels_and_its_caption() {
    let page = page(vec![section("all", everything())]);
    assert_eq!(page.matches("<svg").count(), 2);
    assert!(page.contains("<figcaption><strong>figure</strong> caption</figcaption>"));
}

#[test]
fn columns_of_numbers_are_marked() {
    let page = page(vec![section("all", everything())]);
    assert_eq!(page.matches("class=\"number\"").count(), 3);
}

#[test]
fn long_pages_have_a_table_of_contents() {
    let sections = |count: usize| (0..count).map(|i| section(&format!("part {i}"), Vec::new()));
    assert!(!page(sections(2).collect()).contains("<nav"));
    let long = page(sections(3).collect());
    for index in 0..3 {
        assert!(long.contains(&format!("href=\"#part-{index}\"")));
        assert!(long.contains(&format!("<section id=\"part-{index}\">")));
    }
}

#[test]
fn the_same_page_gives_the_same_text() {
    let sections = || vec![section("all", everything())];
    assert_eq!(page(sections()), page(sections()));
}

#[test]
fn text_between_backquotes_is_code() {
    let page = |text: &str| {
        render(&Page { title: "t".into(), sections: vec![section("i", vec![PageBlock::Paragraph(text.into())])] })
    };
    assert!(page("use `a<b` here").contains("<p>use <code>a&lt;b</code> here</p>"));
    // A lone backquote is just a character.
    assert!(page("a ` b").contains("<p>a ` b</p>"));
}
