//! Sessions: files with commands and their output. `TRYCMD=overwrite cargo test -p querist-cli` rewrites them; review them.

use std::path::Path;

#[test]
fn sessions() {
    // Readers type the commands in the project's folder.
    std::env::set_current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    trycmd::TestCases::new().case("crates/cli/tests/sessions/*.trycmd").case("README.md").case("docs/**/*.md");
}
