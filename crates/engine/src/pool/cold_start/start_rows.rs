//! Rows that a cold start draws first: those that contain a word, resemble an example, or have a predicted class.

/// A group of rows that a cold start draws first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartGroup {
    /// The rows, each once in ascending order, with their weights, which are above 0.
    pub rows: Vec<(usize, f64)>,
    /// `true` if the rows come first until the cold start ends, and not only for half of its least number of labels.
    pub lasts: bool,
}

/// Groups of rows that a cold start draws first. Each group with a row left has the same total weight. As in any cold
/// start, a tenth of the draws is spread uniformly over all rows.
///
/// ```
/// use querist_engine::pool::{StartGroup, StartRows};
///
/// let mut start = StartRows::default();
/// start.add(StartGroup { rows: vec![(3, 1.0), (17, 1.0)], lasts: false });
/// start.add(StartGroup::default());
/// assert_eq!(start.groups().len(), 1, "a group without rows is not kept");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartRows {
    groups: Vec<StartGroup>,
}

impl StartRows {
    /// Adds a group, unless it has no rows.
    ///
    /// # Panics
    /// If the rows are not in ascending order, or a weight is not above 0.
    pub fn add(&mut self, group: StartGroup) {
        assert!(group.rows.is_sorted_by(|one, next| one.0 < next.0), "rows of a start group ascend");
        assert!(group.rows.iter().all(|(_, weight)| 0.0 < *weight), "weights of a start group are above 0");
        if !group.rows.is_empty() {
            self.groups.push(group);
        }
    }

    /// Returns the groups.
    pub fn groups(&self) -> &[StartGroup] {
        &self.groups
    }

    /// Returns whether there are no groups.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}
