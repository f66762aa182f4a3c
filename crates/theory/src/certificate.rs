//! Certificates: what holds of a pair, each claim proved, refuted with a witness, or unknown.

use crate::equivalent::Queried;
use crate::expression::Interval;
use crate::link::{Link, sharp_middle};
use crate::lipschitz;
use crate::registry::Because;
use crate::uncertainty::KnownMax;

mod advice;
mod calibrated;
mod classes;
mod convex;
mod scalar;

pub use classes::{CONDITIONAL_LOSS, certify_classes};

/// What can be claimed of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// An equivalent loss exists.
    Integrable,
    /// Minimizing it decides as the Bayes rule does.
    Calibrated,
    /// Convex in the score.
    ConvexInScore,
    /// Convex in the modeled probability of the label that occurred.
    ConvexInProbability,
    /// Its slope is bounded, in the loss's own coordinate.
    Lipschitz,
    /// 0 ≤ U ≤ 1.
    Probability,
    /// U > 0 everywhere.
    Positive,
}

impl Claim {
    /// All of them, in the order they are reported.
    pub const ALL: [Claim; 7] = [
        Claim::Integrable,
        Claim::Calibrated,
        Claim::ConvexInScore,
        Claim::ConvexInProbability,
        Claim::Lipschitz,
        Claim::Probability,
        Claim::Positive,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Claim::Integrable => "integrable",
            Claim::Calibrated => "calibrated",
            Claim::ConvexInScore => "convex-in-score",
            Claim::ConvexInProbability => "convex-in-probability",
            Claim::Lipschitz => "lipschitz",
            Claim::Probability => "probability",
            Claim::Positive => "positive",
        }
    }

    /// Where the paper speaks of it.
    pub fn label(self) -> &'static str {
        match self {
            Claim::Integrable => "prop:existence_equiv",
            Claim::Calibrated => "prop:link_calculate",
            Claim::ConvexInScore => "subsec:convexity",
            Claim::ConvexInProbability => "apd:convex-details",
            Claim::Lipschitz => "apd:Lipschitz",
            Claim::Probability | Claim::Positive => "sec:setup",
        }
    }
}

/// A proof: which rule, from which facts.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The rule.
    pub rule: &'static str,
    /// The facts it was applied to.
    pub from: Vec<Because>,
}

/// A point that anyone can re-evaluate.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// Where.
    pub at: Vec<f64>,
    /// The names of the coordinates of `at`.
    pub coordinates: &'static str,
    /// What was evaluated there.
    pub quantity: &'static str,
    /// What it was.
    pub found: f64,
    /// How it should have compared with `needed`: `>=`, `>`, `<=` or `=`.
    pub relation: &'static str,
    /// What it was compared with.
    pub needed: f64,
    /// Outward-rounded bounds for `found`; `None` where a theorem or an exact zero refutes.
    pub enclosure: Option<Interval>,
    /// Anything more there is to say.
    pub because: Vec<Because>,
}

/// What is known of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It holds. Never on the strength of sampled points.
    Proved(Proof),
    /// It does not hold.
    Refuted(Witness),
    /// Not known.
    Unknown {
        /// What was tried.
        tried: Because,
    },
}

/// A claim and its verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Certified {
    /// The claim.
    pub claim: Claim,
    /// The verdict.
    pub verdict: Verdict,
}

/// Numbers the bounds need. `None` where not defined or not known.
#[derive(Clone, Debug, PartialEq)]
pub struct Constants {
    /// `U_max`.
    pub u_max: f64,
    /// How `u_max` is known.
    pub u_max_is: KnownMax,
    /// ψ(z) ~ coefficient·z^power.
    pub psi_coefficient: Option<f64>,
    /// 2, or 1 for the hinge.
    pub psi_power: Option<u8>,
    /// ψ(1), where it is enclosed to 3 digits or better.
    pub psi_at_1: Option<f64>,
    /// Outward-rounded bounds for ψ(1).
    pub psi_at_1_enclosure: Option<Interval>,
    /// −H″(1/2) of the loss itself; `None` where H has a kink there.
    pub neg_h2_half: Option<f64>,
    /// sup |ℓ̃′| in the loss's own coordinate, found by search; infinite where it is proved to be unbounded.
    pub lipschitz: Option<f64>,
    /// The same of the loss itself, where it has one.
    pub loss_lipschitz: Option<f64>,
}

/// All that is known of a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// The loss's name.
    pub loss: String,
    /// The rule's name.
    pub rule: String,
    /// A verdict for each claim.
    pub claims: Vec<Certified>,
    /// The numbers the bounds need.
    pub constants: Constants,
    /// What follows for the user, in plain words.
    pub advice: Vec<String>,
}

impl Certificate {
    /// The verdict on a claim.
    pub fn verdict(&self, claim: Claim) -> &Verdict {
        self.claims
            .iter()
            .find(|certified| certified.claim == claim)
            .map_or_else(|| unreachable!("a certificate has a verdict for every claim"), |certified| &certified.verdict)
    }
}

/// The certificate of a pair.
///
/// ```
/// use querist_theory::certificate::{Claim, Verdict, certify};
/// use querist_theory::equivalent::Queried;
/// let pair = Queried::parse("squared-hinge", "margin:mu=1")?;
/// assert!(matches!(certify(&pair).verdict(Claim::ConvexInScore), Verdict::Proved(_)));
/// # Ok::<(), querist_theory::registry::NameError>(())
/// ```
pub fn certify(pair: &Queried) -> Certificate {
    let claims: Vec<Certified> =
        Claim::ALL.into_iter().map(|claim| Certified { claim, verdict: scalar::verdict(pair, claim) }).collect();
    let mut certificate = Certificate {
        loss: pair.loss().name.clone(),
        rule: pair.rule().name.clone(),
        claims,
        constants: constants(pair),
        advice: vec![],
    };
    certificate.advice = advice::advise(pair, &certificate);
    certificate
}

fn constants(pair: &Queried) -> Constants {
    let link = Link::new(pair);
    let start = link.as_ref().and_then(Link::start);
    let (psi_at_1, enclosure) = link.as_ref().map_or((None, Interval::UNKNOWN), |link| link.enclosed_value(1.0));
    let is_sharp = sharp_middle(enclosure).is_some();
    let quadratic = start.is_some_and(|start| start.power == 2);
    Constants {
        u_max: pair.rule_facts().max,
        u_max_is: pair.rule().known_max(),
        psi_coefficient: start.map(|start| start.coefficient),
        psi_power: start.map(|start| start.power),
        psi_at_1: psi_at_1.filter(|_| is_sharp),
        psi_at_1_enclosure: is_sharp.then_some(enclosure),
        neg_h2_half: link.as_ref().filter(|_| quadratic).and_then(Link::neg_h2_half),
        lipschitz: lipschitz::greatest_slope(pair),
        loss_lipschitz: pair.loss_facts().lipschitz.as_ref().map(|(constant, _)| *constant),
    }
}
