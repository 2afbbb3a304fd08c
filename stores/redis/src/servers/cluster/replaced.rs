//! Who took over from whom.

/// How many are kept in mind, the last ones.
const KEPT: usize = 64;

/// Who lost all its slots to one other node, by identity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReplacedNodes(Vec<(String, String)>);

impl ReplacedNodes {
    /// Takes in that the slots of `id` have gone to the node `by`.
    pub(super) fn note(&mut self, id: &str, by: &str) {
        if id.is_empty() || by.is_empty() || id == by {
            return;
        }
        self.forget(by);
        self.forget(id);
        if self.0.len() >= KEPT {
            self.0.remove(0);
        }
        self.0.push((id.to_owned(), by.to_owned()));
    }

    /// It has slots.
    pub(super) fn forget(&mut self, id: &str) {
        self.0.retain(|(gone, _)| gone != id);
    }

    /// Who has now what it had, if that is known.
    pub(super) fn replacement_of(&self, id: &str) -> Option<&str> {
        let next = |id: &str| self.0.iter().find(|(gone, _)| gone == id).map(|(_, by)| by.as_str());
        let mut by = next(id)?;
        for _ in &self.0 {
            match next(by) {
                Some(later) => by = later,
                None => break,
            }
        }
        Some(by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_row_has_it() {
        let mut replaced = ReplacedNodes::default();
        replaced.note("a", "b");
        replaced.note("b", "c");
        assert_eq!(
            (
                replaced.replacement_of("a"),
                replaced.replacement_of("b"),
                replaced.replacement_of("c")
            ),
            (Some("c"), Some("c"), None)
        );
        // It took over again.
        replaced.note("c", "a");
        assert_eq!((replaced.replacement_of("b"), replaced.replacement_of("a")), (Some("a"), None));
    }

    #[test]
    fn who_is_not_known_took_over_from_nobody() {
        let mut replaced = ReplacedNodes::default();
        replaced.note("", "b");
        replaced.note("b", "");
        replaced.note("b", "b");
        assert_eq!(replaced, ReplacedNodes::default());
    }

    #[test]
    fn only_so_many_are_kept_in_mind() {
        let mut replaced = ReplacedNodes::default();
        for number in 0..=KEPT {
            replaced.note(&format!("old{number}"), "new");
        }
        assert_eq!(
            (replaced.0.len(), replaced.replacement_of("old0"), replaced.replacement_of("old1")),
            (KEPT, None, Some("new"))
        );
    }
}
