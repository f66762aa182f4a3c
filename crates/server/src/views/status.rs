//! The status of the session, built for replies and the event stream.

use querist_engine::estimate::{ClassScores, ClippedMean, Estimate};
use querist_engine::pool::{Assessment, Draw};
use querist_engine::session::{Session, SessionStatus};
use querist_engine::task::Labels;

use super::finite;
use crate::app_state::AppState;
use crate::catalog::Catalog;
use crate::wire::status::{
    AccuracyEstimate, AgreementReply, AnnotatorCount, ClassScoresReply, ClippedLossReply, CurvePointReply, DrawKind,
    IntervalReply, ModelState, StatusReply, StopAdvice, StopDecision, StoreHealth, TaskKind, TwinEstimate,
};

/// The maximum number of annotators in the event stream.
const MAX_STREAMED_ANNOTATORS: usize = 30;
/// The approximate maximum number of points in a curve.
const MAX_CURVE_POINTS: usize = 200;

/// Returns the status for event streams. It lists only the first annotators, since each change is sent to everyone.
pub(crate) fn streamed_status(state: &AppState) -> StatusReply {
    let mut status = status(state);
    status.annotators.truncate(MAX_STREAMED_ANNOTATORS);
    status
}

/// Returns the status of the session, without the caller's name.
pub(crate) fn status(state: &AppState) -> StatusReply {
    let problem = state.store.problem();
    state.store.read(|session, now| {
        let status = session.status(now.tick);
        let settings = session.settings();
        let catalog = &state.catalog;
        let count =
            |code: f64| status.by_label.iter().find(|(label, _)| label.0 == code).map_or(0, |(_, count)| *count);
        StatusReply {
            title: catalog.title.clone(),
            run: state.access.run(),
            task: match settings.labels {
                Labels::Binary => TaskKind::Binary,
                Labels::Classes(_) => TaskKind::Classes,
                Labels::Numbers => TaskKind::Number,
            },
            labels: catalog.labels.iter().map(|(name, _)| name.clone()).collect(),
            annotators: annotator_counts(&status),
            annotator_count: status.annotators.len(),
            answers: status.annotators.iter().map(|(_, answered)| answered).sum(),
            answered: status.answered,
            skipped: status.skipped,
            unsure: status.unsure,
            pending: status.pending,
            by_class: catalog.labels.iter().map(|(name, code)| (name.clone(), count(*code).into())).collect(),
            pool: status.pool,
            budget: settings.budget,
            overlap: settings.overlap,
            draw: if status.draw == Draw::Top { DrawKind::Top } else { DrawKind::Scan },
            rate_per_minute: finite(status.rate),
            seconds_left: status.seconds_left.and_then(finite),
            estimate: status.assessment.map(|assessment| accuracy_estimate(catalog, assessment)),
            twin: status.assessment.and_then(twin_estimate),
            curve: curve(&status),
            stop: stop_advice(&status),
            agreement: agreement(&status),
            model: ModelState {
                answers: status.model_labels,
                kind: status.model_kind,
                fitting: status.is_behind,
                cold: status.is_cold,
            },
            data_problems: data_problems(state, session),
            store: StoreHealth { writable: problem.is_none(), problem: problem.map(|problem| problem.message) },
            you: None,
        }
    })
}

/// Describes the items that are skipped and the images that have changed, with one sentence for each reason.
pub(crate) fn data_problems(state: &AppState, session: &Session) -> Vec<String> {
    session.data_problems().into_iter().chain(state.images.problems()).collect()
}

fn annotator_counts(status: &SessionStatus<'_>) -> Vec<AnnotatorCount> {
    let counts = status.annotators.iter();
    counts.map(|(name, answered)| AnnotatorCount { name: name.to_string(), answered: *answered }).collect()
}

fn accuracy_estimate(catalog: &Catalog, assessment: &Assessment) -> AccuracyEstimate {
    let score = &assessment.score;
    AccuracyEstimate {
        accuracy: finite(score.value),
        low: finite(score.low),
        high: finite(score.high),
        anytime_low: score.anytime.and_then(|ends| finite(ends.0)),
        anytime_high: score.anytime.and_then(|ends| finite(ends.1)),
        effective_n: finite(score.effective_n),
        warning: score.warning.map(|warning| warning.to_string()),
        r_squared: assessment.regression.as_ref().map(|regression| interval(&regression.r_squared)),
        mean_loss: assessment.loss.as_ref().map(interval),
        clipped_loss: assessment.clipped_loss.as_ref().map(clipped_loss),
        classes: class_scores(catalog, &assessment.classes),
    }
}

fn clipped_loss(ClippedMean { limit, mean }: &ClippedMean) -> ClippedLossReply {
    let IntervalReply { value, low, high } = interval(mean);
    ClippedLossReply { limit: finite(*limit), value, low, high }
}

fn interval(estimate: &Estimate) -> IntervalReply {
    IntervalReply { value: finite(estimate.value), low: finite(estimate.low), high: finite(estimate.high) }
}

fn class_scores(catalog: &Catalog, scores: &[ClassScores]) -> Vec<ClassScoresReply> {
    let class = |((name, _), scores): (&(String, f64), &ClassScores)| ClassScoresReply {
        class: name.clone(),
        precision: scores.precision.as_ref().map(interval),
        recall: scores.recall.as_ref().map(interval),
        f1: scores.f1.as_ref().map(interval),
    };
    catalog.labels.iter().zip(scores).map(class).collect()
}

fn twin_estimate(assessment: &Assessment) -> Option<TwinEstimate> {
    let twin = assessment.twin.as_ref()?;
    let (accuracy, low, high) = (finite(twin.value), finite(twin.low), finite(twin.high));
    let at_equal_labels = assessment.twin_at_equal_labels.as_ref().map(interval);
    Some(TwinEstimate { accuracy, low, high, labels: assessment.twin_labels, at_equal_labels })
}

fn curve(status: &SessionStatus<'_>) -> Vec<CurvePointReply> {
    let point = |index: usize| {
        let point = &status.curve[index];
        let (value, low, high) = (finite(point.value), finite(point.low), finite(point.high));
        CurvePointReply { labels: point.labels, value, low, high }
    };
    thinned(status.curve.len()).into_iter().map(point).collect()
}

fn stop_advice(status: &SessionStatus<'_>) -> StopAdvice {
    match status.advice {
        Some(advice) => StopAdvice {
            advice: if advice.stop { StopDecision::Stop } else { StopDecision::Continue },
            why: advice.why.clone(),
        },
        None => StopAdvice {
            advice: StopDecision::Continue,
            why: match status.draw {
                Draw::Top => {
                    "there is no advice, because draws of the most uncertain item (`--draw top`) have no \
                              probabilities, and so no estimates"
                }
                Draw::Scan | Draw::Reject => "there are too few labels for advice",
            }
            .to_owned(),
        },
    }
}

fn agreement(status: &SessionStatus<'_>) -> Option<AgreementReply> {
    let agreement = status.agreement.as_ref()?;
    let (share, kappa) = (finite(agreement.share), finite(agreement.kappa));
    Some(AgreementReply { items: agreement.items, share, kappa })
}

/// Returns the indexes of the points that are shown. Except for the last one, they stay the same when a point is added,
/// until the step doubles. So patches of a curve are small.
fn thinned(points: usize) -> Vec<usize> {
    let step = points.div_ceil(MAX_CURVE_POINTS).next_power_of_two();
    (0..points).filter(|index| index.is_multiple_of(step) || index + 1 == points).collect()
}
