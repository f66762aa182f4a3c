//! The entrants of a comparison, by name: `RULE[@DRAW][/FIT]`.

use std::fmt::{self, Display};
use std::str::FromStr;

use querist_engine::compare::{Entrant, Fit};
use querist_engine::name::{self, NameError};
use querist_engine::pool::{Draw, Objective};
use querist_engine::rule;
use querist_engine::task::Labels;

use crate::error::{Error, Result, bail};

/// A method of learning, by its name in an entrant.
#[derive(Clone, Copy)]
enum FitMethod {
    /// Gradient steps: `sgd`.
    Sgd,
    /// A fit, by the name of its objective.
    Refit(Objective),
}

impl FitMethod {
    const ALL: [Self; 4] = [
        FitMethod::Refit(Objective::AsAsked),
        FitMethod::Refit(Objective::Equivalent),
        FitMethod::Refit(Objective::Original),
        FitMethod::Sgd,
    ];
}

impl Display for FitMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FitMethod::Sgd => f.write_str("sgd"),
            FitMethod::Refit(objective) => objective.fmt(f),
        }
    }
}

impl FromStr for FitMethod {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        name::find("fit", text, &Self::ALL)
    }
}

/// Parses a list of entrants. `random` always comes first, and for classes `top` always comes last, whether they are
/// listed or not.
pub fn parse_all(list: &str, loss: &str, labels: Labels, strength: Option<f64>) -> Result<Vec<Entrant>> {
    let mut names = vec!["random".to_owned()];
    names.extend(split(list).into_iter().filter(|name| name != "random" && name != "top"));
    // Numbers have no decision boundary.
    if labels != Labels::Numbers {
        names.push("top".to_owned());
    } else if split(list).iter().any(|name| name == "top") {
        bail!(
            "`top` takes the rows nearest to the boundary between classes, and numbers have none; use conditional-loss@top"
        );
    }
    let mut seen = vec![];
    for name in &names {
        if seen.contains(name) {
            bail!("--rules has `{name}` twice");
        }
        seen.push(name.clone());
    }
    names.iter().map(|name| parse(name, loss, labels, strength)).collect()
}

/// Splits a list at commas, except within parentheses and before another parameter of the same rule.
fn split(list: &str) -> Vec<String> {
    let (mut pieces, mut depth): (Vec<String>, i32) = (vec![String::new()], 0);
    for letter in list.chars() {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        match pieces.last_mut() {
            Some(last) if letter != ',' || 0 < depth => last.push(letter),
            _ => pieces.push(String::new()),
        }
    }
    let mut whole: Vec<String> = vec![];
    for piece in pieces {
        let piece = piece.trim();
        let is_parameter = piece.contains('=') && !piece.contains(':');
        match whole.last_mut() {
            Some(last) if is_parameter && last.contains(':') => {
                last.push(',');
                last.push_str(piece);
            }
            _ => whole.push(piece.to_owned()),
        }
    }
    whole.into_iter().filter(|piece| !piece.is_empty()).collect()
}

fn parse(name: &str, loss: &str, labels: Labels, strength: Option<f64>) -> Result<Entrant> {
    let (rest, fit) = name.rsplit_once('/').map_or((name, "as-asked"), |(rest, fit)| (rest, fit));
    let during = |error: NameError| Error::Invalid(format!("--rules {name}: {error}"));
    let fit = match fit.parse::<FitMethod>().map_err(during)? {
        FitMethod::Sgd => Fit::Sgd,
        FitMethod::Refit(objective) => Fit::Refit { objective, strength },
    };
    let (rest, draw) = match rest.rsplit_once('@') {
        None => (rest, Draw::Scan),
        Some((rest, draw)) => (rest, draw.parse::<Draw>().map_err(during)?),
    };
    let (rule, draw) = match rest {
        "random" => ("constant".to_owned(), draw),
        "top" => (rule::in_pool("boundary", labels), Draw::Top),
        rule => (rule::in_pool(rule, labels), draw),
    };
    let weighs = matches!(fit, Fit::Refit { objective: Objective::Equivalent | Objective::Original, .. });
    if draw == Draw::Top && weighs {
        bail!("--rules {name}: weights need probabilities, and the most uncertain first has none");
    }
    let rule = rule::parse(&rule, loss, labels).map_err(|error| Error::Invalid(format!("--rules: {error}")))?;
    Ok(Entrant { name: name.to_owned(), rule, draw, fit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_split_where_a_rule_ends() {
        let list = "margin:share=0.1,floor=0.2,entropy, mix:rule=(margin:mu=1,x),floor=0.1,random";
        let expected = ["margin:share=0.1,floor=0.2", "entropy", "mix:rule=(margin:mu=1,x),floor=0.1", "random"];
        assert_eq!(split(list), expected);
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let names = |list: &str, labels| {
            parse_all(list, "logistic", labels, None).map(|all| all.into_iter().map(|e| e.name).collect::<Vec<_>>())
        };
        assert!(names("margin,top/original", Labels::Binary).unwrap_err().to_string().contains("probabilities"));
        assert_eq!(names("top,margin@reject", Labels::Binary).unwrap(), ["random", "margin@reject", "top"]);
        assert!(names("margin,margin", Labels::Binary).is_err());
        assert!(names("margin@best", Labels::Binary).is_err());
        assert!(names("margin/best", Labels::Binary).is_err());
        assert!(names("nonsense", Labels::Binary).is_err());
    }
}
