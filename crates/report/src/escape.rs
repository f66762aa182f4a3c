//! Escapes text for use inside an element or a quoted attribute of XML and HTML.

/// Replaces the five special characters, and the characters that XML forbids.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' | '\r' => safe.push(character),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            _ => safe.push(character),
        }
    }
    safe
}

/// Escapes a sentence for HTML and marks the text between backquotes as code.
pub(crate) fn sentence(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    // An odd number of pieces means that every backquote is paired.
    if pieces.len().is_multiple_of(2) {
        return escape(text);
    }
    let mark = |(i, piece): (usize, &&str)| {
        if i % 2 == 1 { format!("<code>{}</code>", escape(piece)) } else { escape(piece) }
    };
    pieces.iter().enumerate().map(mark).collect()
}
