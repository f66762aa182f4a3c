//! Makes any text safe inside an element or a quoted attribute of XML and HTML.

/// Replaces the five characters with a meaning, and the ones no XML document may hold.
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

/// The same for a sentence of HTML, in which what stands between backquotes is code.
pub(crate) fn sentence(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    // An odd number of pieces means that every backquote has its partner.
    if pieces.len().is_multiple_of(2) {
        return escape(text);
    }
    let mark = |(i, piece): (usize, &&str)| {
        if i % 2 == 1 { format!("<code>{}</code>", escape(piece)) } else { escape(piece) }
    };
    pieces.iter().enumerate().map(mark).collect()
}
