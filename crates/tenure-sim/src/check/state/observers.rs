//! What those who follow an election are told.

use tenure_core::{LockName, Token};

/// Everybody who follows the leaders of a name.
#[derive(Debug, Default)]
pub(in crate::check) struct Observers(pub(in crate::check) Vec<Observer>);

#[derive(Debug)]
pub(in crate::check) struct Observer {
    pub(in crate::check) process: u64,
    pub(in crate::check) name: LockName,
    /// What it was told last: a term, or that nobody leads.
    pub(in crate::check) told: Option<Option<Token>>,
    greatest: Option<Token>,
}

impl Observer {
    pub(in crate::check) fn new(process: u64, name: &LockName) -> Self {
        Self { process, name: name.clone(), told: None, greatest: None }
    }

    /// What is wrong with the next news, if anything is.
    pub(in crate::check) fn told(&mut self, news: Option<Token>) -> Option<(&'static str, String)> {
        let (process, name) = (self.process, &self.name);
        if self.told.replace(news) == Some(news) {
            let what =
                format!("an observer in process {process} was told {news:?} of {name} twice");
            return Some(("S9", what));
        }
        let before = self.greatest;
        self.greatest = before.max(news);
        (news.is_some() && news < before).then(|| {
            let what = format!(
                "an observer in process {process} was told {news:?} of {name} after {before:?}"
            );
            ("S2", what)
        })
    }
}
