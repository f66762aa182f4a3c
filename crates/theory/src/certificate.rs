//! Certificates: claims about a pair, each proved, refuted with a witness, or unknown.

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

/// A claim about a pair.
///
/// ```
/// use querist_theory::certificate::Claim;
///
/// let named = Claim::ALL.into_iter().find(|claim| claim.name() == "convex-in-score");
/// assert_eq!(named, Some(Claim::ConvexInScore));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// An equivalent loss exists.
    Integrable,
    /// Its minimizer makes the same decisions as the Bayes rule.
    Calibrated,
    /// Convex in the score.
    ConvexInScore,
    /// Convex in the modeled probability of the label that occurred.
    ConvexInProbability,
    /// The slope is bounded, in the loss's own coordinate.
    Lipschitz,
    /// 0 ≤ U ≤ 1.
    Probability,
    /// U > 0 everywhere.
    Positive,
}

impl Claim {
    /// All claims, in the order of reports.
    pub const ALL: [Claim; 7] = [
        Claim::Integrable,
        Claim::Calibrated,
        Claim::ConvexInScore,
        Claim::ConvexInProbability,
        Claim::Lipschitz,
        Claim::Probability,
        Claim::Positive,
    ];

    /// Returns the name of the claim on the command line.
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

    /// Returns the label of the claim in the paper.
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

/// A proof: a rule and the facts it was applied to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Proof {
    /// The rule.
    pub rule: &'static str,
    /// The facts the rule was applied to.
    pub from: Vec<Because>,
}

/// A point that anyone can re-evaluate.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Witness {
    /// The coordinates of the point.
    pub at: Vec<f64>,
    /// The names of the coordinates of `at`.
    pub coordinates: &'static str,
    /// The quantity evaluated at the point.
    pub quantity: &'static str,
    /// The value of the quantity.
    pub found: f64,
    /// The relation to `needed` that the value violates: `>=`, `>`, `<=`, `<` or `=`.
    pub relation: &'static str,
    /// The value that `found` was compared with.
    pub needed: f64,
    /// Outward-rounded bounds for `found`; `None` where a theorem or an exact zero refutes.
    pub enclosure: Option<Interval>,
    /// Further explanations.
    pub because: Vec<Because>,
}

/// The status of a claim.
///
/// ```
/// use querist_theory::certificate::{Claim, Verdict, certify};
/// use querist_theory::equivalent::Queried;
///
/// let certificate = certify(&Queried::parse("logistic", "threshold:gamma=0.5")?);
/// let Verdict::Refuted(witness) = certificate.verdict(Claim::Positive) else { panic!("U = 0 beyond gamma") };
/// assert_eq!((witness.at.as_slice(), witness.found), (&[1.0][..], 0.0));
/// # Ok::<(), querist_theory::registry::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It holds. Sampled points are never a proof.
    Proved(Proof),
    /// It does not hold.
    Refuted(Witness),
    /// Neither proved nor refuted.
    Unknown {
        /// The attempts that failed.
        tried: Because,
    },
}

/// A claim and its verdict.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Certified {
    /// The claim.
    pub claim: Claim,
    /// The verdict.
    pub verdict: Verdict,
}

/// The constants that the bounds need; `None` where undefined or unknown.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Constants {
    /// `U_max`.
    pub u_max: f64,
    /// The kind of evidence for `u_max`.
    pub u_max_is: KnownMax,
    /// ψ(z) ~ coefficient·z^power.
    pub psi_coefficient: Option<f64>,
    /// 2, or 1 for the hinge.
    pub psi_power: Option<u8>,
    /// ψ(1), where its enclosure determines at least 3 digits.
    pub psi_at_1: Option<f64>,
    /// Outward-rounded bounds for ψ(1).
    pub psi_at_1_enclosure: Option<Interval>,
    /// −H″(1/2) of the loss itself; `None` where H has a kink there.
    pub neg_h2_half: Option<f64>,
    /// sup |ℓ̃′| in the loss's own coordinate, found by search; infinite where proved unbounded.
    pub lipschitz: Option<f64>,
    /// The Lipschitz constant of the loss itself, if it has one.
    pub loss_lipschitz: Option<f64>,
}

/// The verdicts, constants and advice for a pair.
///
/// ```
/// use querist_theory::certificate::{Claim, certify};
/// use querist_theory::equivalent::Queried;
///
/// let certificate = certify(&Queried::parse("logistic", "margin:mu=0.5")?);
/// assert_eq!((certificate.loss.as_str(), certificate.rule.as_str()), ("logistic", "margin:mu=0.5"));
/// assert_eq!(certificate.claims.len(), Claim::ALL.len());
/// assert_eq!(certificate.constants.u_max, 1.0);
/// # Ok::<(), querist_theory::registry::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Certificate {
    /// The loss's name.
    pub loss: String,
    /// The rule's name.
    pub rule: String,
    /// A verdict for each claim.
    pub claims: Vec<Certified>,
    /// The constants that the bounds need.
    pub constants: Constants,
    /// The consequences for the user, in plain words.
    pub advice: Vec<String>,
}

impl Certificate {
    /// Returns the verdict on a claim.
    pub fn verdict(&self, claim: Claim) -> &Verdict {
        self.claims
            .iter()
            .find(|certified| certified.claim == claim)
            .map_or_else(|| unreachable!("a certificate has a verdict for every claim"), |certified| &certified.verdict)
    }
}

/// Certifies a pair.
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
