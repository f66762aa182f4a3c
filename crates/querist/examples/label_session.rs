//! A labeling session without a server: two annotators, assignments, answers, training and the state in events.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::sync::Arc;

use querist::prelude::*;

const WORDS: [&str; 6] = ["good", "great", "lovely", "bad", "poor", "dull"];

/// Returns texts such as `dull but great`, with a feature for each word in each position.
fn items() -> Vec<Item> {
    let pairs = WORDS.iter().enumerate().flat_map(|(a, first)| {
        WORDS.iter().enumerate().map(move |(b, second)| (a, b, format!("{first} but {second}")))
    });
    let item = |(number, (a, b, text)): (usize, (usize, usize, String))| {
        let mut features = vec![0.0; 2 * WORDS.len()];
        features[a] = 1.0;
        features[WORDS.len() + b] = 1.0;
        Item { id: number.to_string().into(), text, features }
    };
    pairs.cycle().take(360).enumerate().map(item).collect()
}

/// Plays an annotator: the last word decides.
fn read(text: &str) -> Response {
    match WORDS.iter().position(|word| text.ends_with(word)) {
        Some(word) => Response::Label(LabelValue(if word < 3 { 1.0 } else { -1.0 })),
        None => Response::Unsure,
    }
}

fn main() -> Result<()> {
    let mut session = LearnerBuilder::new(Labels::Binary).seed(5).session(items())?;
    let mut fitter = BackgroundFitter::new(Arc::clone(session.pool()));
    let annotators: [Arc<str>; 2] = ["Ada".into(), "Ben".into()];
    // A program stores the events before it acknowledges an answer. Folding them restores the session.
    let mut events = vec![];

    for turn in 0..60_u64 {
        let annotator = &annotators[turn as usize % 2];
        let now = SessionTime { tick: 1000 * turn, clock: 1000 * turn };
        let assigned = session.next(annotator, 1, now, &mut events);
        let ask = assigned.asks[0];
        let item = session.item(ask).expect("an item was assigned");
        let text = (session.pool().content)(item.row.expect("its data are unchanged"));
        let key: Arc<str> = format!("answer-{turn}").into();
        session.answer(annotator, ask, &key, read(&text), now, &mut events).expect("the answer is accepted");

        // Training may run on another thread, while annotators continue.
        let (job, position) = session.fit_job();
        let model = fitter.fit(&job);
        session.adopt(model, position, now, &mut events);
    }

    let status = session.status(60_000);
    println!("{} answers by {} annotators, {} events", status.answered, status.annotators.len(), events.len());
    println!("labels: {:?}, unsure: {}", status.by_label, status.unsure);
    if let Some(assessment) = status.assessment {
        let score = &assessment.score;
        println!("estimated accuracy {:.3}, 95 % interval {:.3} to {:.3}", score.value, score.low, score.high);
    }
    Ok(())
}
