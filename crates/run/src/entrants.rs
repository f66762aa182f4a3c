//! The entrants of a comparison, by name: `RULE[@DRAW][/FIT]`.

use std::fmt::{self, Display};
use std::str::FromStr;

use querist_engine::compare::{Entrant, Fit};
use querist_engine::name::{self, NameError};
use querist_engine::pool::{Draw, Objective};
use querist_engine::rule;
use querist_engine::task::Labels;

use crate::error::{Result, bail};

/// A method of learning, by its name in an entrant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// The name of an entrant, `RULE[@DRAW][/FIT]`. The rule is checked by [`EntrantName::resolve`], which knows the labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntrantName {
    rule: String,
    draw: Option<Draw>,
    fit: Option<FitMethod>,
}

impl Display for EntrantName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rule)?;
        self.draw.map_or(Ok(()), |draw| write!(f, "@{draw}"))?;
        self.fit.map_or(Ok(()), |fit| write!(f, "/{fit}"))
    }
}

impl FromStr for EntrantName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let during = |error: NameError| NameError { name: text.to_owned(), ..error };
        let (rest, fit) = text.rsplit_once('/').map_or((text, None), |(rest, fit)| (rest, Some(fit)));
        let (rule, draw) = rest.rsplit_once('@').map_or((rest, None), |(rest, draw)| (rest, Some(draw)));
        Ok(Self {
            rule: rule.to_owned(),
            draw: draw.map(Draw::from_str).transpose().map_err(during)?,
            fit: fit.map(FitMethod::from_str).transpose().map_err(during)?,
        })
    }
}

impl EntrantName {
    /// Creates the entrant for a loss and its labels; `strength` is λ of a fit, or `None` to choose it from the answers.
    pub fn resolve(&self, loss: &str, labels: Labels, strength: Option<f64>) -> Result<Entrant, NameError> {
        let fit = match self.fit.unwrap_or(FitMethod::Refit(Objective::AsAsked)) {
            FitMethod::Sgd => Fit::Sgd,
            FitMethod::Refit(objective) => Fit::Refit { objective, strength },
        };
        let draw = self.draw.unwrap_or(Draw::Scan);
        let (rule, draw) = match self.rule.as_str() {
            "random" => ("constant".to_owned(), draw),
            "top" => (rule::in_pool("boundary", labels), Draw::Top),
            rule => (rule::in_pool(rule, labels), draw),
        };
        let weighs = matches!(fit, Fit::Refit { objective: Objective::Equivalent | Objective::Original, .. });
        if draw == Draw::Top && weighs {
            let message = "weights need probabilities, and the most uncertain first has none".to_owned();
            return Err(NameError { name: self.to_string(), message });
        }
        Ok(Entrant { name: self.to_string(), rule: rule::parse(&rule, loss, labels)?, draw, fit })
    }

    fn has_only_rule(&self, rule: &str) -> bool {
        *self == Self { rule: rule.to_owned(), draw: None, fit: None }
    }
}

/// Parses a list of entrants. `random` always comes first, and for classes `top` always comes last, whether they are
/// listed or not.
pub fn parse_all(list: &str, loss: &str, labels: Labels, strength: Option<f64>) -> Result<Vec<Entrant>> {
    let listed: Vec<EntrantName> = split(list).iter().map(|name| name.parse()).collect::<Result<_, _>>()?;
    // Numbers have no decision boundary.
    let top = (labels != Labels::Numbers).then_some("top");
    if top.is_none() && listed.iter().any(|name| name.has_only_rule("top")) {
        bail!(
            "`top` takes the rows nearest to the boundary between classes, and numbers have none; use conditional-loss@top"
        );
    }
    let mut names: Vec<EntrantName> = vec!["random".parse()?];
    names.extend(listed.into_iter().filter(|name| !name.has_only_rule("random") && !name.has_only_rule("top")));
    names.extend(top.map(EntrantName::from_str).transpose()?);
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            bail!("`{name}` is listed twice");
        }
    }
    names.iter().map(|name| Ok(name.resolve(loss, labels, strength)?)).collect()
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
    fn a_name_is_printed_as_it_was_parsed() {
        for name in ["margin:mu=1", "entropy@reject", "top/sgd", "boundary:share=0.1,floor=0.2@top/as-asked"] {
            assert_eq!(name.parse::<EntrantName>().unwrap().to_string(), name);
        }
        let error = "margin@scam".parse::<EntrantName>().unwrap_err().to_string();
        assert_eq!(error, "`margin@scam`: unknown draw; did you mean `scan`?");
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
