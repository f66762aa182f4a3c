//! `querist reproduce`: reproduces the paper, with a verdict for every figure, table and statement.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use querist_render::table;
use querist_reproduce::{Findings, PARTS, PaperClaim, PaperPart, ReproductionSettings, find};
use querist_run::overwrite;
use querist_theory::registry::unknown;
use serde_json::{Value, json};

use crate::Output;
use crate::run::output::whole;
use crate::run::progress::ProgressMeter;

mod page;

/// Recompute the paper: every figure, experiment and statement, with a verdict for each
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate flag")]
pub(crate) struct ReproduceArgs {
    /// The parts to run [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// List the parts
    #[arg(long)]
    list: bool,
    /// The folder to write the page, the figures and their numbers to
    #[arg(long, value_name = "DIR", default_value = "report")]
    out: PathBuf,
    /// Use small samples and few splits: verdicts in seconds, rough figures
    #[arg(long)]
    quick: bool,
    /// Random seed
    #[arg(long, value_parser = whole::<u64>, default_value_t = 1)]
    seed: u64,
    /// Print all claims as JSON
    #[arg(long)]
    json: bool,
    /// Do not show a progress bar
    #[arg(long)]
    quiet: bool,
    /// Number of threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    threads: Option<usize>,
}

/// A part with its findings.
type Found = (&'static PaperPart, Findings);

pub(super) fn run(arguments: &ReproduceArgs) -> Result<Output> {
    if arguments.list {
        let rows: Vec<(String, String)> =
            PARTS.iter().map(|part| (part.name.to_owned(), part.about.to_owned())).collect();
        return Ok(Output::done(format!("Parts of `querist reproduce`\n{}", table::entries(&rows))));
    }
    match arguments.threads {
        Some(threads @ (0 | 257..)) => bail!("--threads = {threads}, need 1 to 256"),
        Some(threads) => querist_engine::set_threads(threads),
        None => {}
    }
    let parts = chosen(&arguments.names)?;
    // Check the folder first: the parts take minutes.
    fs::create_dir_all(&arguments.out)
        .with_context(|| format!("--out: cannot create the folder {}", arguments.out.display()))?;
    let settings = ReproductionSettings { seed: arguments.seed, quick: arguments.quick };
    let mut progress = ProgressMeter::new(Some(parts.len() as u64), "parts", arguments.quiet);
    let mut found: Vec<Found> = vec![];
    for part in parts {
        progress.at(found.len() as u64);
        found.push((part, (part.run)(&settings)));
    }
    progress.done();
    write(&arguments.out, &found, settings)?;
    let text = if arguments.json { as_json(&found, settings).to_string() } else { as_text(&found, &arguments.out) };
    Ok(judged(text, &found))
}

/// Returns the output, with exit code 1 if a claim did not come out as foreseen.
fn judged(text: String, found: &[Found]) -> Output {
    let failed = claims(found).map(|(_, claim)| claim).filter(|claim| !claim.foreseen);
    let listed: Vec<String> = failed.map(|claim| format!("{}: {}", claim.place, claim.statement)).collect();
    if listed.is_empty() {
        return Output::done(text);
    }
    Output { text, code: 1, missing: Some(format!("not as expected: {}", listed.join("; "))) }
}

/// Returns the named parts, or all if there are no names, in the paper's order and without repetition.
fn chosen(names: &[String]) -> Result<Vec<&'static PaperPart>> {
    for name in names {
        if find(name).is_none() {
            bail!("{name}: {}", unknown("part", name, PARTS.iter().map(|part| part.name)));
        }
    }
    Ok(PARTS.iter().filter(|part| names.is_empty() || names.iter().any(|name| name == part.name)).collect())
}

fn claims(found: &[Found]) -> impl Iterator<Item = (&'static PaperPart, &PaperClaim)> {
    found.iter().flat_map(|(part, findings)| findings.claims.iter().map(move |claim| (*part, claim)))
}

fn as_text(found: &[Found], folder: &Path) -> String {
    let mut text = String::new();
    for (part, findings) in found {
        text += &format!("{} ({})\n", part.title, part.name);
        for claim in &findings.claims {
            let mark = if claim.foreseen { "" } else { ", NOT EXPECTED" };
            text += &table::wrap("  ", &format!("{} · {}: {}{mark}", claim.place, claim.statement, claim.verdict));
            text +=
                &table::wrap("      ", &format!("{}; expected ({}): {}", claim.computed, claim.source, claim.expected));
        }
        for remark in &findings.remarks {
            text += &table::wrap("  ", remark);
        }
        text.push('\n');
    }
    let (all, foreseen) =
        claims(found).fold((0, 0), |(all, foreseen), (_, c)| (all + 1, foreseen + usize::from(c.foreseen)));
    text + &format!("{foreseen} of {all} claims as expected. Written to {}: index.html\n", folder.display())
}

fn as_json(found: &[Found], settings: ReproductionSettings) -> Value {
    let claims: Vec<Value> = claims(found)
        .map(|(part, claim)| {
            json!({
                "part": part.name, "place": claim.place, "statement": claim.statement, "computed": claim.computed,
                "expected": claim.expected, "source": claim.source.to_string(),
                "verdict": claim.verdict.to_string(), "foreseen": claim.foreseen,
            })
        })
        .collect();
    let parts: Vec<Value> = found
        .iter()
        .map(|(part, findings)| {
            let plates: Vec<&str> = findings.plates.iter().map(|plate| plate.name.as_str()).collect();
            let tables: Vec<&str> = findings.tables.iter().map(|table| table.name.as_str()).collect();
            json!({"name": part.name, "figures": plates, "tables": tables, "remarks": findings.remarks})
        })
        .collect();
    json!({"seed": settings.seed, "quick": settings.quick, "parts": parts, "claims": claims})
}

fn write(folder: &Path, found: &[Found], settings: ReproductionSettings) -> Result<()> {
    let save = |name: String, bytes: &[u8]| {
        let path = folder.join(name);
        overwrite::save(&path, bytes)
    };
    for (_, findings) in found {
        for plate in &findings.plates {
            save(format!("{}.svg", plate.name), querist_report::svg(&plate.figure).as_bytes())?;
            let drawn = querist_report::png(&plate.figure, 2.0).context("drawing a figure")?;
            save(format!("{}.png", plate.name), &drawn)?;
            save(format!("{}.csv", plate.name), page::numbers(&plate.figure).as_bytes())?;
        }
        for table in &findings.tables {
            save(format!("{}.csv", table.name), page::comma_separated(&table.header, &table.rows).as_bytes())?;
        }
    }
    save("claims.json".to_owned(), format!("{:#}\n", as_json(found, settings)).as_bytes())?;
    save("index.html".to_owned(), page::render(found, settings).as_bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unforeseen_claim_fails_the_reproduction() {
        let claim = |foreseen: bool| PaperClaim { foreseen, ..PaperClaim::new("thm:one", "the mean is 0") };
        let ended = |claims: Vec<PaperClaim>| {
            let output = judged(String::new(), &[(&PARTS[0], Findings { claims, ..Findings::default() })]);
            (output.code, output.missing)
        };
        assert_eq!(ended(vec![claim(true), claim(true)]), (0, None));
        let missing = Some("not as expected: thm:one: the mean is 0".to_owned());
        assert_eq!(ended(vec![claim(true), claim(false)]), (1, missing));
    }
}
