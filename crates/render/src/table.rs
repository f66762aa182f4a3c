//! Text for a terminal: aligned columns, wrapped paragraphs.

/// Returns the number of terminal columns of a text. Combining marks, such as the tilde of ℓ̃, take none.
fn width_of(text: &str) -> usize {
    text.chars().filter(|c| !('\u{300}'..='\u{36f}').contains(c)).count()
}

/// Formats rows under a header. Columns are aligned to the right, with two spaces between them.
pub fn columns(header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| width_of(cell));
        cells.chain([width_of(header[column])]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &[String]| {
        let pad = |(cell, width): (&String, &usize)| " ".repeat(width - width_of(cell)) + cell;
        let padded: Vec<String> = cells.iter().zip(&widths).map(pad).collect();
        format!("  {}\n", padded.join("  "))
    };
    let titles: Vec<String> = header.iter().map(|title| (*title).to_owned()).collect();
    let mut text = line(&titles);
    for row in rows {
        text.push_str(&line(row));
    }
    text
}

/// Formats entries of a name and a description. Names are padded to one width; descriptions are wrapped beside them.
pub fn entries(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(name, _)| width_of(name)).max().unwrap_or(0);
    let mut text = String::new();
    for (name, about) in rows {
        text.push_str(&wrap(&format!("  {name:<width$}  "), about));
    }
    text
}

/// Wraps a paragraph to 100 columns. The first line starts with `lead`; the others are indented by its width.
pub fn wrap(lead: &str, paragraph: &str) -> String {
    let indent = width_of(lead);
    let (mut text, mut line) = (String::new(), lead.to_owned());
    for word in paragraph.split_whitespace() {
        let full = indent < width_of(&line) && 100 < width_of(&line) + 1 + width_of(word);
        if full {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(indent);
        } else if indent < width_of(&line) {
            line.push(' ');
        }
        line.push_str(word);
    }
    text.push_str(line.trim_end());
    text.push('\n');
    text
}
