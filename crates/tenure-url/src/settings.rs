//! The settings after the question mark of a URL.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use tenure_core::Fault;

use crate::{
    Dialect, Secret, ValueError, dialect::encode, duration, nearest, percent::decode,
    redact::SECRETS, values, yes_no,
};

/// The settings after the question mark of a URL.
///
/// A store takes each setting that it knows, whether or not it is given, and then calls [`Settings::finish`]. That call
/// knows which settings were asked for, and refuses the rest. No error shows a value.
#[derive(Clone)]
pub struct Settings {
    dialect: Dialect,
    given: BTreeMap<String, GivenSetting>,
    known: BTreeSet<&'static str>,
    /// The index of the first secret setting.
    secret: Option<usize>,
}

#[derive(Clone)]
struct GivenSetting {
    value: String,
    at: usize,
    has_sign: bool,
    /// The other spelling that was used.
    alias: Option<&'static str>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("known", &self.known).finish_non_exhaustive()
    }
}

impl Settings {
    /// Reads `a=1&b=2`.
    pub(crate) fn read(dialect: Dialect, query: &str) -> Result<Self, Fault> {
        let mut settings =
            Self { dialect, given: BTreeMap::new(), known: BTreeSet::new(), secret: None };
        if query.contains('?') {
            return Err(dialect.not_encoded("a second ? follows the first", '?'));
        }
        for (at, pair) in query.split('&').enumerate().filter(|(_, pair)| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let is_secret = is_secret(key);
            // The end of a password whose `?` seems to end the hosts.
            if pair.contains('@') && !(is_secret && is_key(key)) {
                return Err(dialect.not_encoded("an @ comes after the ?", '?'));
            }
            if is_secret {
                settings.secret.get_or_insert(at);
            }
            let shown = if settings.may_show(key, at) { key } else { "a setting" };
            let value =
                decode(value).map_err(|error| dialect.wrong(format!("{shown}: {error:#}")))?;
            let given = GivenSetting { value, at, has_sign: pair.contains('='), alias: None };
            if settings.given.insert(key.to_owned(), given).is_some() {
                return Err(dialect.wrong_but(format!("{shown} is given twice"), "give it once"));
            }
        }
        Ok(settings)
    }

    /// Whether a key is certainly not part of a password.
    fn may_show(&self, key: &str, at: usize) -> bool {
        is_key(key) && self.secret.is_none_or(|secret| at <= secret)
    }

    /// Takes `alias` for `setting`: the spelling of other programs.
    ///
    /// # Errors
    /// A fault if both are given.
    pub fn alias(&mut self, alias: &'static str, setting: &'static str) -> Result<(), Fault> {
        let Some(given) = self.given.remove(alias) else { return Ok(()) };
        let given = GivenSetting { alias: Some(alias), ..given };
        if let Some(other) = self.given.insert(setting.to_owned(), given) {
            let both =
                format!("{alias} and {} are the same setting", other.alias.unwrap_or(setting));
            return Err(self.dialect.wrong_but(both, format!("leave {alias} out")));
        }
        Ok(())
    }

    /// Returns whether a setting is given and not yet taken.
    #[must_use]
    pub fn has(&self, setting: &str) -> bool {
        self.given.contains_key(setting)
    }

    /// Takes the text of a setting.
    pub fn take(&mut self, setting: &'static str) -> Option<String> {
        self.as_written(setting).map(|(_, value)| value)
    }

    /// Takes the text of a setting of other programs. Errors do not list it among the known settings.
    pub fn take_unlisted(&mut self, setting: &str) -> Option<String> {
        self.given.remove(setting).map(|given| given.value)
    }

    /// The name that was used for a setting, and its text.
    fn as_written(&mut self, setting: &'static str) -> Option<(&'static str, String)> {
        self.known.insert(setting);
        let given = self.given.remove(setting)?;
        Some((given.alias.unwrap_or(setting), given.value))
    }

    /// Takes a password.
    pub fn secret(&mut self, setting: &'static str) -> Option<Secret> {
        self.take(setting).map(Secret::from)
    }

    /// Takes a duration, as [`duration()`] parses it.
    ///
    /// # Errors
    /// A fault if the value is not a duration.
    pub fn duration(&mut self, setting: &'static str) -> Result<Option<Duration>, Fault> {
        self.parsed(setting, duration)
    }

    /// Takes a whole number.
    ///
    /// # Errors
    /// A fault if the value is not a whole number, or does not fit.
    pub fn number<N: TryFrom<u64>>(&mut self, setting: &'static str) -> Result<Option<N>, Fault> {
        self.parsed(setting, values::number)
    }

    /// Takes yes or no, as [`yes_no`] parses it.
    ///
    /// # Errors
    /// A fault if the value is neither.
    pub fn yes_no(&mut self, setting: &'static str) -> Result<Option<bool>, Fault> {
        self.parsed(setting, yes_no)
    }

    /// Takes one of these words.
    ///
    /// # Errors
    /// A fault for any other word, which lists these words.
    pub fn word<T: Clone>(
        &mut self,
        setting: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, Fault> {
        let Some((setting, text)) = self.as_written(setting) else { return Ok(None) };
        if let Some((_, meant)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(Some(meant.clone()));
        }
        let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        Err(self.dialect.unknown_value(setting, &text, &words))
    }

    /// Refuses the settings that were not taken. The fault names the first one, unless it may be part of a password,
    /// and the nearest known setting.
    ///
    /// # Errors
    /// A fault if a setting is left.
    pub fn finish(self) -> Result<(), Fault> {
        let Some((key, given)) = self.given.iter().min_by_key(|(_, given)| given.at) else {
            return Ok(());
        };
        let key = given.alias.unwrap_or(key);
        let near = nearest(key, self.known.iter().copied());
        // A password with `&` in it looks like one that a setting follows.
        let meant = near.filter(|_| key.len() > 3 && given.has_sign);
        let may_show = is_key(key) && (self.may_show(key, given.at) || meant.is_some());
        let known = self.known.iter().copied().collect::<Vec<_>>().join(", ");
        if !may_show {
            let message = "an unknown setting, hidden because it may be part of a password";
            return Err(self
                .dialect
                .wrong_but(message, format!("{}; known settings: {known}", encode('&'))));
        }
        let near = near.map(|near| format!("did you mean {near:?}? ")).unwrap_or_default();
        let message = format!("unknown setting {key:?}");
        Err(self.dialect.wrong_but(message, format!("{near}known settings: {known}")))
    }

    fn parsed<T>(
        &mut self,
        setting: &'static str,
        parse: impl Fn(&str) -> Result<T, ValueError>,
    ) -> Result<Option<T>, Fault> {
        let Some((setting, text)) = self.as_written(setting) else { return Ok(None) };
        if text.is_empty() {
            let error = ValueError::Empty;
            return Err(self.dialect.wrong_but(format!("{setting} {error:#}"), error.help()));
        }
        let wrong = |error: ValueError| {
            self.dialect.wrong_but(format!("{setting} {error:#}"), error.help())
        };
        parse(&text).map(Some).map_err(wrong)
    }
}

/// The longest key that is shown, in bytes.
const LONGEST: usize = 40;

/// Whether this has the form of a setting's name.
fn is_key(key: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !key.is_empty() && key.len() <= LONGEST && key.chars().all(is_part)
}

/// Whether the value of this setting is a secret.
fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SECRETS.iter().any(|secret| key.ends_with(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECT: Dialect = Dialect { store: "Some", schemes: &["some"], example: "some://host" };

    fn settings(query: &str) -> Settings {
        Settings::read(DIALECT, query).unwrap()
    }

    fn finished(url: &str) -> String {
        let mut settings = DIALECT.read(url).unwrap().settings;
        for setting in ["connect_timeout", "password", "sslmode", "prefix"] {
            settings.take(setting);
        }
        format!("{:#}", settings.finish().unwrap_err())
    }

    #[test]
    fn each_setting_is_taken_once() {
        let mut given = settings("a=x%26y&t=1m30s&n=7&b=on&w=two&password=p@ss&&flag");
        assert_eq!(given.take("a").as_deref(), Some("x&y"));
        assert_eq!(given.duration("t").unwrap(), Some(Duration::from_secs(90)));
        assert_eq!(given.number::<u8>("n").unwrap(), Some(7));
        assert_eq!(given.yes_no("b").unwrap(), Some(true));
        assert_eq!(given.word("w", &[("one", 1), ("two", 2)]).unwrap(), Some(2));
        assert!(!format!("{given:?}").contains("p@ss"));
        assert_eq!(given.secret("password").as_ref().map(Secret::expose), Some("p@ss"));
        assert_eq!((given.take("flag").as_deref(), given.take("a")), (Some(""), None));
        given.finish().unwrap();
    }

    #[test]
    fn an_unknown_setting_is_named_with_the_nearest_one() {
        for url in ["some://h?sslmod=s3ntinel", "some://me:s3ntinel@h?sslmod=s3ntinel"] {
            let said = finished(url);
            assert!(
                said.contains("unknown setting \"sslmod\"; did you mean \"sslmode\"?"),
                "{said}"
            );
            assert!(
                said.contains("known settings: connect_timeout, password, prefix, sslmode"),
                "{said}"
            );
            assert!(!said.contains("s3ntinel"), "{said}");
        }
        let said = finished("some://me:s3ntinel@h?pool_size=3");
        assert!(said.contains("unknown setting \"pool_size\"; known settings"), "{said}");
        let said = finished("some://h?password=s3ntinel&connectTimeout=3s");
        assert!(said.contains("\"connectTimeout\"; did you mean \"connect_timeout\"?"), "{said}");
    }

    #[test]
    fn what_may_be_a_piece_of_a_password_is_not_shown() {
        for url in [
            "some://h?password=a&s3ntinel",
            "some://h?password=a&s3ntinel=b",
            "some://h?password=a&s3ntinel==",
            "some://me:1234?s3ntinel!",
            "some://h?s3ntinels3ntinels3ntinels3ntinels3ntinels3ntinel=1",
        ] {
            let said = finished(url);
            assert!(said.contains("unknown setting") && said.contains("%26"), "{said}");
            assert!(!said.contains("s3ntinel"), "{said}");
        }
    }

    #[test]
    fn a_wrong_value_is_told_by_its_setting_alone() {
        let wrong = |query: &str| {
            let mut given = settings(query);
            let outcome = given.duration("t").map(drop);
            let outcome = outcome.and_then(|()| given.number::<u8>("n").map(drop));
            let outcome = outcome.and_then(|()| given.yes_no("b").map(drop));
            let outcome =
                outcome.and_then(|()| given.word("w", &[("one", 1), ("two", 2)]).map(drop));
            format!("{:#}", outcome.unwrap_err())
        };
        for (query, said) in [
            ("t=77", "t has no unit; write a number and its unit: 500ms, 2s, 1m, 1h, 1d"),
            ("t=77moons", "t has an unknown unit"),
            ("t=", "t has no value"),
            ("n=777", "n is too large"),
            ("n=77x", "n is not a whole number"),
            ("b=77", "b is neither yes nor no"),
            ("w=77", "w is one or two"),
        ] {
            let found = wrong(query);
            assert!(found.contains(said) && !found.contains("77"), "{query}: {found}");
        }
    }

    #[test]
    fn a_setting_that_is_given_twice_is_refused() {
        for query in ["a=1&a=2", "a=1&b=2&a=1"] {
            let fault = Settings::read(DIALECT, query).unwrap_err();
            assert!(format!("{fault:#}").contains("a is given twice"), "{fault:#}");
        }
        let said =
            format!("{:#}", Settings::read(DIALECT, "password=x&s3ntinel&s3ntinel").unwrap_err());
        assert!(said.contains("twice") && !said.contains("s3ntinel"), "{said}");
        let said = format!(
            "{:#}",
            settings("timeout=1s&connect=2s").alias("timeout", "connect").unwrap_err()
        );
        assert!(said.contains("timeout and connect are the same"), "{said}");
    }

    #[test]
    fn another_spelling_is_the_same_setting() {
        let mut given = settings("timeout=1s&verify=no");
        given.alias("timeout", "connect").unwrap();
        given.alias("wait", "connect").unwrap();
        assert_eq!(given.duration("connect").unwrap(), Some(Duration::from_secs(1)));
        assert_eq!(given.take_unlisted("verify").as_deref(), Some("no"));
        given.clone().finish().unwrap();
        let mut given = settings("timeout=1");
        given.alias("timeout", "connect").unwrap();
        let said = format!("{:#}", given.duration("connect").unwrap_err());
        assert!(said.contains("timeout has no unit"), "{said}");
        let mut given = settings("timeout=1");
        given.alias("timeout", "connect").unwrap();
        let said = format!("{:#}", given.finish().unwrap_err());
        assert!(said.contains("unknown setting \"timeout\""), "{said}");
    }

    #[test]
    fn what_stands_behind_the_question_mark_is_encoded() {
        for query in ["a=1?b=2", "a=s3ntinel@h", "s3ntinel@h", "a%password=s3ntinel@h", "a=%zz"] {
            let said = format!("{:#}", Settings::read(DIALECT, query).unwrap_err());
            assert!(said.contains('%') && !said.contains("s3ntinel"), "{said}");
        }
    }
}
