//! Which figures of a server are taken together.

/// Figures that are taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Group {
    Pairs,
    Handoff,
    Crowd,
    Holds,
}

impl Group {
    /// All of them if none is chosen, in the order in which they are taken.
    pub(crate) fn chosen(only: &[Self]) -> impl Iterator<Item = Self> + '_ {
        let all = [Self::Pairs, Self::Handoff, Self::Crowd, Self::Holds];
        all.into_iter().filter(|group| only.is_empty() || only.contains(group))
    }
}
