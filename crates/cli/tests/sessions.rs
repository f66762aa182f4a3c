//! Sessions: commands and what they print, as files. `TRYCMD=overwrite cargo test -p querist` writes them anew; read them.

use std::path::Path;

#[test]
fn sessions() {
    // Readers type what they read in the project's folder.
    std::env::set_current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    trycmd::TestCases::new().case("crates/cli/tests/sessions/*.trycmd").case("README.md").case("docs/**/*.md");
}
