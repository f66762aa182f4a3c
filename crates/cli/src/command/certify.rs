//! `querist certify`: the objective that a pair optimizes, and its properties.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use querist_render::{certificate, certificate_page, pair_figure};
use querist_report::html::{self, PageBlock, Section};
use querist_run::overwrite;
use querist_theory::certificate::{Certificate, Claim, Verdict, certify, certify_classes};
use querist_theory::equivalent::Queried;
use querist_theory::registry::unknown;

use crate::Output;
use crate::run::output::whole;

/// Show the loss that a query rule optimizes, and which claims about it are proved, refuted or unknown
#[derive(Args)]
pub(crate) struct CertifyArgs {
    /// A loss: logistic, squared-hinge, expr:EXPRESSION, ... (`querist list`), or softmax-cross-entropy
    loss: String,
    /// A rule: entropy, margin:mu=0.5, expr:EXPRESSION, ...
    rule: String,
    /// Number of classes, for softmax-cross-entropy
    #[arg(long, value_name = "K", value_parser = whole::<usize>)]
    classes: Option<usize>,
    /// Exit with 1 unless this claim is proved; may be repeated
    #[arg(long, value_name = "CLAIM")]
    require: Vec<String>,
    /// Write a page with the figure, the figure as SVG and PNG, and the certificate as JSON
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Omit the facts that the proofs use
    #[arg(long)]
    brief: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &CertifyArgs) -> Result<Output> {
    let required = required_claims(&arguments.require)?;
    let of_classes = arguments.loss.starts_with("softmax");
    let (certificate, pair) = match (of_classes, arguments.classes) {
        (true, Some(classes)) => (certify_classes(&arguments.loss, &arguments.rule, classes)?, None),
        (true, None) => bail!("`{}` needs --classes K", arguments.loss),
        (false, Some(_)) => bail!("--classes needs softmax-cross-entropy; `{}` is for two classes", arguments.loss),
        (false, None) => {
            let pair = Queried::parse(&arguments.loss, &arguments.rule)?;
            (certify(&pair), Some(pair))
        }
    };
    let mut text = if arguments.json {
        certificate::as_json(&certificate).to_string()
    } else {
        certificate::as_text(&certificate, arguments.brief)
    };
    if let Some(folder) = &arguments.out {
        let written = write(folder, &certificate, pair.as_ref())?;
        if !arguments.json {
            text += &format!("\nWritten to {}: {}\n", folder.display(), written.join(", "));
        }
    }
    let missing: Vec<&str> = required
        .iter()
        .filter(|claim| !matches!(certificate.verdict(**claim), Verdict::Proved(_)))
        .map(|claim| claim.name())
        .collect();
    if missing.is_empty() {
        return Ok(Output::done(text));
    }
    Ok(Output { text, code: 1, missing: Some(format!("required, but not proved: {}", missing.join(", "))) })
}

fn required_claims(names: &[String]) -> Result<Vec<Claim>> {
    let find = |name: &String| {
        let claim = Claim::ALL.into_iter().find(|claim| claim.name() == name);
        claim.with_context(|| {
            format!("--require {name}: {}", unknown("claim", name, Claim::ALL.iter().map(|c| c.name())))
        })
    };
    names.iter().map(find).collect()
}

/// Writes the page and its figures; returns the names of the files.
fn write(folder: &Path, certificate: &Certificate, pair: Option<&Queried>) -> Result<Vec<&'static str>> {
    fs::create_dir_all(folder).with_context(|| format!("--out: cannot create the folder {}", folder.display()))?;
    let save = |name: &'static str, bytes: &[u8]| {
        let path = folder.join(name);
        overwrite::save(&path, bytes)
    };
    let mut written = vec!["index.html", "certificate.json"];
    let mut page = certificate_page::as_page(certificate);
    if let Some(pair) = pair {
        let figure = pair_figure::of_pair(pair);
        save("figure.svg", querist_report::svg(&figure).as_bytes())?;
        save("figure.png", &querist_report::png(&figure, 2.0).context("drawing the figure")?)?;
        written.extend(["figure.svg", "figure.png"]);
        let body = vec![PageBlock::Figure(figure)];
        page.sections.insert(0, Section { heading: "The pair".to_owned(), id: "pair".to_owned(), body });
    }
    save("index.html", html::render(&page).as_bytes())?;
    save("certificate.json", format!("{:#}\n", certificate::as_json(certificate)).as_bytes())?;
    Ok(written)
}
