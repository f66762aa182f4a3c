//! The files of the page, which are compiled into the program.

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const DRAWING: &str = "image/svg+xml";

/// The path, media type and content of each file.
const ASSETS: [(&str, &str, &[u8]); 27] = [
    ("/assets/api.js", SCRIPT, include_bytes!("../page/api.js")),
    ("/assets/chart.js", SCRIPT, include_bytes!("../page/chart.js")),
    ("/assets/choices.js", SCRIPT, include_bytes!("../page/choices.js")),
    ("/assets/dom.js", SCRIPT, include_bytes!("../page/dom.js")),
    ("/assets/figures.js", SCRIPT, include_bytes!("../page/figures.js")),
    ("/assets/filter.js", SCRIPT, include_bytes!("../page/filter.js")),
    ("/assets/icon.svg", DRAWING, include_bytes!("../page/icon.svg")),
    ("/", HTML, include_bytes!("../page/index.html")),
    ("/assets/item.js", SCRIPT, include_bytes!("../page/item.js")),
    ("/assets/keys.js", SCRIPT, include_bytes!("../page/keys.js")),
    ("/assets/live.js", SCRIPT, include_bytes!("../page/live.js")),
    ("/assets/main.js", SCRIPT, include_bytes!("../page/main.js")),
    ("/assets/marks.js", SCRIPT, include_bytes!("../page/marks.js")),
    ("/assets/notices.js", SCRIPT, include_bytes!("../page/notices.js")),
    ("/assets/objective.js", SCRIPT, include_bytes!("../page/objective.js")),
    ("/assets/outbox.js", SCRIPT, include_bytes!("../page/outbox.js")),
    ("/assets/pictures.js", SCRIPT, include_bytes!("../page/pictures.js")),
    ("/assets/progress.js", SCRIPT, include_bytes!("../page/progress.js")),
    ("/assets/saving.js", SCRIPT, include_bytes!("../page/saving.js")),
    ("/assets/scale.js", SCRIPT, include_bytes!("../page/scale.js")),
    ("/assets/session.js", SCRIPT, include_bytes!("../page/session.js")),
    ("/assets/settings.js", SCRIPT, include_bytes!("../page/settings.js")),
    ("/assets/states.js", SCRIPT, include_bytes!("../page/states.js")),
    ("/assets/store.js", SCRIPT, include_bytes!("../page/store.js")),
    ("/assets/strip.js", SCRIPT, include_bytes!("../page/strip.js")),
    ("/assets/style.css", STYLE, include_bytes!("../page/style.css")),
    ("/assets/words.js", SCRIPT, include_bytes!("../page/words.js")),
];

/// Returns the media type and content of the file at a path.
pub(crate) fn find(path: &str) -> Option<(&'static str, &'static [u8])> {
    ASSETS.iter().find(|(known, _, _)| *known == path).map(|(_, kind, content)| (*kind, *content))
}
