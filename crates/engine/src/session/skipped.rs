//! Items that training skips, because the data no longer have them as annotators saw them.

use std::sync::Arc;

use super::Session;

/// The number of ids that a message names.
const NAMED: usize = 5;

/// Names a few ids, then `and n more`.
pub fn name_ids<T: AsRef<str>>(ids: &[T]) -> String {
    let shown: Vec<String> = ids.iter().take(NAMED).map(|id| id.as_ref().escape_debug().to_string()).collect();
    let (shown, more) = (shown.join(", "), ids.len().saturating_sub(NAMED));
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

impl Session {
    /// Returns the drawn items that are no longer in the pool, and those whose content has changed. Training skips
    /// both.
    pub fn differences(&self) -> (&[Arc<str>], &[Arc<str>]) {
        (&self.missing, &self.changed)
    }

    /// Describes the items that training skips, in a sentence for each reason.
    pub fn data_problems(&self) -> Vec<String> {
        let mut problems = vec![];
        if !self.changed.is_empty() {
            let (count, ids) = (self.changed.len(), name_ids(&self.changed));
            let have = if count == 1 { "item has" } else { "items have" };
            problems.push(format!("{count} {have} changed since being asked; training skips: {ids}"));
        }
        if !self.missing.is_empty() {
            let (count, ids) = (self.missing.len(), name_ids(&self.missing));
            let are = if count == 1 { "item that was asked is" } else { "items that were asked are" };
            problems.push(format!("{count} {are} missing from the data; training skips: {ids}"));
        }
        let imports = &self.pool.changed_imports;
        if !imports.is_empty() {
            let (count, ids) = (imports.len(), name_ids(imports));
            let have = if count == 1 { "item with an imported label has" } else { "items with imported labels have" };
            problems.push(format!("{count} {have} changed since the import; training skips: {ids}"));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::name_ids;

    #[test]
    fn five_ids_are_named_and_the_others_counted() {
        let ids: Vec<String> = (1..=8).map(|number| format!("t{number}")).collect();
        assert_eq!(name_ids(&ids[..5]), "t1, t2, t3, t4, t5");
        assert_eq!(name_ids(&ids), "t1, t2, t3, t4, t5 and 3 more");
        assert_eq!(name_ids(&["a\nb"]), "a\\nb");
    }
}
