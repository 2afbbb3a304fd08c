//! Which names there are, for somebody who types one.

use tenure::{Tenure, config::Config};
use tenure_core::plain::plain;

use super::place::CompletionTarget;
/// More than anybody looks through.
const MOST: usize = 1_000;

/// What the word may become; nothing if that cannot be known.
pub(super) fn list_completions(place: &CompletionTarget) -> Vec<String> {
    let Ok(mut config) = Config::load() else { return Vec::new() };
    let (store, before, typed) = match place {
        CompletionTarget::Store { typed } => {
            let names = config.store_names().filter(|name| name.starts_with(typed.as_str()));
            return names.filter(|name| is_fit(name)).map(str::to_owned).collect();
        }
        CompletionTarget::Lock { store, typed } => (store, "", typed),
        CompletionTarget::Locks { store, before, typed } => (store, before.as_str(), typed),
    };
    if let Some(store) = store.as_ref().filter(|store| !store.is_empty()) {
        config.use_store(store, "--store");
    }
    let is_alone = matches!(place, CompletionTarget::Lock { .. });
    let names = in_use(&config, typed);
    let names = names.into_iter().filter(|name| is_fit(name));
    let names = names.filter(|name| is_alone || can_follow_names(name, before));
    names.take(MOST).map(|name| format!("{before}{name}")).collect()
}

/// The names of locks that begin with what was typed.
fn in_use(config: &Config, typed: &str) -> Vec<String> {
    let Ok(url) = config.store() else { return Vec::new() };
    let Ok(runtime) = crate::system::runtime() else { return Vec::new() };
    let names = runtime.block_on(Tenure::names_in_use(url, typed)).unwrap_or_default();
    names.into_iter().map(|name| name.as_str().to_owned()).collect()
}

/// Whether it can be shown on a terminal, and is no option where it is put.
fn is_fit(name: &str) -> bool {
    plain(name) == name && !name.starts_with('-')
}

/// Whether a name can stand behind those that stand there, with commas between them.
fn can_follow_names(name: &str, before: &str) -> bool {
    !name.contains(',') && name.trim() == name && before.split(',').all(|there| there != name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_act_on_a_terminal_or_as_an_option_is_not_offered() {
        assert!(is_fit("deploy:shop") && is_fit("a b") && is_fit("grün"));
        assert!(!is_fit("a\u{202e}b") && !is_fit("-x") && !is_fit("--all"));
    }

    #[test]
    fn of_several_names_each_is_offered_once_and_those_that_cannot_be_among_them_never() {
        assert!(can_follow_names("c", "a,b,") && can_follow_names("a", ""));
        assert!(
            !can_follow_names("a", "a,b,")
                && !can_follow_names("x,y", "")
                && !can_follow_names(" x", "")
        );
    }
}
