//! Sessions: commands and what they print, as files. `TRYCMD=overwrite cargo test -p querist` writes them anew; read them.

#[test]
fn sessions() {
    trycmd::TestCases::new().case("tests/sessions/*.trycmd").case("../../README.md").case("../../docs/*.md");
}
