//! Which loss does entropy sampling optimize, and what holds of it?

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use querist::prelude::*;

fn main() -> Result<()> {
    let certificate = querist::certify("logistic", "entropy")?;
    print!("{}", certificate_text(&certificate, false));

    // A program can depend on a verdict.
    for rule in ["entropy", "margin:mu=0.5", "critical"] {
        let certificate = querist::certify("logistic", rule)?;
        let verdict = match certificate.verdict(Claim::ConvexInScore) {
            Verdict::Proved(_) => "convex in the score",
            Verdict::Refuted { .. } => "not convex in the score",
            Verdict::Unknown { .. } => "unknown",
        };
        println!("logistic queried by {rule}: {verdict}");
    }
    Ok(())
}
