//! Parts of a selection and of a scale sample, as machines send them to each other.

use querist_engine::select::{ScaleSample, Selection};

/// Checks one input.
///
/// # Panics
///
/// If a property is violated.
pub fn run(data: &[u8]) {
    if let Ok(part) = Selection::from_bytes(data) {
        let bytes = part.to_bytes();
        let again = Selection::from_bytes(&bytes).expect("bytes that were just written");
        assert_eq!(again.to_bytes(), bytes, "a selection written again");
        assert_eq!((again.settings(), again.rows()), (part.settings(), part.rows()), "settings and rows");
        let mut both = Selection::new(part.settings().0, part.settings().1);
        both.merge(part);
        assert_eq!(both.to_bytes(), bytes, "a selection merged with an empty one");
        if let Ok(chosen) = both.finish() {
            assert!(chosen.mean().is_finite(), "the mean of a selection");
        }
    }
    if let Some(sample) = ScaleSample::from_bytes(data) {
        let again = ScaleSample::from_bytes(&sample.to_bytes()).expect("bytes that were just written");
        assert_eq!(again.to_bytes(), sample.to_bytes(), "a sample written again");
    }
}
