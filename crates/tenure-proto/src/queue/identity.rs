//! Who a contender is, as fields that travel in its label.
//!
//! Every layout of every store carries a label. So the fields are written behind it, as `LABEL {host=web3 pid=4711}`,
//! and what reads labels without knowing fields shows them as text. What the label itself tells is not repeated.

use std::{
    borrow::Cow,
    fmt::{self, Write},
};

use super::Label;

/// Who a contender says it is, and what for. It proves nothing.
///
/// ```
/// use tenure_proto::queue::Identity;
///
/// let mut me = Identity::default();
/// (me.host, me.pid) = (Some("web3".into()), Some(4711));
/// assert_eq!(&*me.label(None), "web3/4711");
/// me.reason = Some("monthly report".into());
/// let label = me.label(Some("10.0.0.7:9000"));
/// assert_eq!(&*label, r#"10.0.0.7:9000 {host=web3 pid=4711 reason="monthly report"}"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// The host that it runs on.
    pub host: Option<String>,
    /// The user that it runs as.
    pub user: Option<String>,
    /// The number of its process on that host.
    pub pid: Option<u32>,
    /// The service that it belongs to, such as `shop@1.4.2`.
    pub service: Option<String>,
    /// What it does, such as the name of a command.
    pub operation: Option<String>,
    /// Why it does that, for people.
    pub reason: Option<String>,
}

/// The longest text of a field other than the reason, in bytes.
const LONGEST_FIELD: usize = 96;

impl Identity {
    /// The label of this contender: `label`, or `user@host/pid operation` without one, and behind it the fields that
    /// this does not tell. If the fields do not fit into [`Label::MAX`] bytes, the reason is cut, and the last ones are
    /// left out.
    #[must_use]
    pub fn label(&self, label: Option<&str>) -> Label {
        let label = label.map_or_else(|| self.origin(), str::to_owned);
        let mut label = Label::from(label);
        let room = |label: &Label| Label::MAX.checked_sub(label.len().saturating_add(" {}".len()));
        if room(&label).is_none() && split(&label).is_some() {
            let end = (0..=label.len().saturating_sub(" {}".len())).rev();
            let end = { end }.find(|end| label.is_char_boundary(*end)).unwrap_or(0);
            label = Label::from(label.get(..end).unwrap_or_default());
        }
        let Some(mut room) = room(&label) else { return label };
        let mut fields = String::new();
        for (key, value) in self.untold(&Self::of_origin(&label)) {
            let space = usize::from(!fields.is_empty());
            let before = space.saturating_add(key.len()).saturating_add(1);
            let is_reason = key == REASON;
            let longest = if is_reason { Label::MAX } else { LONGEST_FIELD };
            let most = room.saturating_sub(before).min(longest);
            let Some(value) = quoted(&value, most, is_reason) else { continue };
            room = room.saturating_sub(before).saturating_sub(value.len());
            let space = if fields.is_empty() { "" } else { " " };
            let _ = write!(fields, "{space}{key}={value}");
        }
        // Empty fields keep a label that ends in braces from being read as one with fields.
        if fields.is_empty() && split(&label).is_none() {
            return label;
        }
        format!("{label} {{{fields}}}").into()
    }

    /// What a label and the fields behind it say.
    pub(super) fn of(label: &str, fields: Option<&str>) -> Self {
        let mut identity = Self::of_origin(label);
        for (key, value) in fields.and_then(parse).into_iter().flatten() {
            let value = Some(value);
            match key {
                HOST => identity.host = value,
                USER => identity.user = value,
                PID => identity.pid = value.and_then(|pid| pid.parse().ok()),
                SERVICE => identity.service = value,
                OPERATION => identity.operation = value,
                REASON => identity.reason = value,
                _ => {}
            }
        }
        identity
    }

    /// What a label tells that is an origin: `user@host/pid operation`.
    fn of_origin(label: &str) -> Self {
        let Some((user_at_host, rest)) = label.split_once('/') else { return Self::default() };
        let (pid, operation) = match rest.split_once(' ') {
            Some((pid, operation)) => (pid, Some(operation)),
            None => (rest, None),
        };
        let is_number = pid.bytes().all(|byte| byte.is_ascii_digit());
        let Some(pid) = pid.parse().ok().filter(|_| is_number) else { return Self::default() };
        let (user, host) = match user_at_host.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, user_at_host),
        };
        let owned = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Self {
            host: owned(host),
            user: user.and_then(owned),
            pid: Some(pid),
            operation: operation.and_then(owned),
            ..Self::default()
        }
    }

    /// `user@host/pid operation`, as far as they are known.
    fn origin(&self) -> String {
        let mut origin = String::new();
        if let Some(user) = &self.user {
            let _ = write!(origin, "{user}@");
        }
        let host = self.host.as_deref().unwrap_or("localhost");
        match self.pid {
            Some(pid) => {
                let _ = write!(origin, "{host}/{pid}");
            }
            None => origin.push_str(host),
        }
        if let Some(operation) = &self.operation {
            let _ = write!(origin, " {operation}");
        }
        origin
    }

    /// The fields that `told` lacks, the most important first.
    fn untold(&self, told: &Self) -> impl Iterator<Item = (&'static str, Cow<'_, str>)> {
        let pid = self.pid.filter(|_| self.pid != told.pid).map(|pid| pid.to_string().into());
        let fields = [
            (HOST, untold_text(&self.host, &told.host)),
            (USER, untold_text(&self.user, &told.user)),
            (PID, pid),
            (SERVICE, untold_text(&self.service, &None)),
            (OPERATION, untold_text(&self.operation, &told.operation)),
            (REASON, untold_text(&self.reason, &None)),
        ];
        fields.into_iter().filter_map(|(key, value)| Some((key, value?)))
    }

    /// What a label does not tell of this, for people: `alice@web3/4711 backup.sh of shop@1.4.2: monthly report`.
    pub(crate) fn beside(&self, label: &str) -> Option<String> {
        let told = Self::of_origin(label);
        // Something may stand behind that, as behind the label of a detached hold.
        let is_told = (&told.host, &told.user, told.pid) == (&self.host, &self.user, self.pid)
            && label.starts_with(&self.origin());
        let mut text = if is_told || self.host.is_none() { String::new() } else { self.origin() };
        if let Some(service) = &self.service {
            let of = if text.is_empty() { "" } else { " of " };
            let _ = write!(text, "{of}{service}");
        }
        if let Some(reason) = &self.reason {
            let colon = if text.is_empty() { "" } else { ": " };
            let _ = write!(text, "{colon}{reason}");
        }
        Some(text).filter(|text| !text.is_empty())
    }
}

/// For people: `alice@web3/4711 backup.sh of shop@1.4.2: monthly report`.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.beside("").as_deref().unwrap_or("an unknown contender"))
    }
}

fn untold_text<'a>(mine: &'a Option<String>, told: &Option<String>) -> Option<Cow<'a, str>> {
    let text = mine.as_deref().filter(|text| !text.is_empty() && Some(*text) != told.as_deref());
    text.map(Cow::Borrowed)
}

const HOST: &str = "host";
const USER: &str = "user";
const PID: &str = "pid";
const SERVICE: &str = "service";
const OPERATION: &str = "operation";
const REASON: &str = "reason";

/// A label, and the fields behind it without their braces, if it has any.
pub(super) fn split(label: &str) -> Option<(&str, &str)> {
    const BEFORE: &str = " {";
    // None of tenure's is longer, and looking through it costs more than its length.
    if label.len() > Label::MAX {
        return None;
    }
    let inner = label.strip_suffix('}')?;
    // From the end: no value has an unescaped quote, so what begins within one does not parse up to the end.
    inner.rmatch_indices(BEFORE).find_map(|(at, _)| {
        let (label, fields) = inner.split_at_checked(at)?;
        let fields = fields.get(BEFORE.len()..)?;
        parse(fields).map(|_| (label, fields))
    })
}

/// The fields of `key=value key="value"`; `None` if the text is anything else.
fn parse(mut text: &str) -> Option<Vec<(&str, String)>> {
    let mut fields = Vec::new();
    while !text.is_empty() {
        if !fields.is_empty() {
            text = text.strip_prefix(' ')?;
        }
        let (key, rest) = text.split_once('=')?;
        let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase());
        let (value, rest) = if let Some(rest) = rest.strip_prefix('"') {
            unquoted(rest)?
        } else {
            let end = rest.find(' ').unwrap_or(rest.len());
            let (value, rest) = rest.split_at_checked(end)?;
            if value.is_empty() || needs_quotes(value) {
                return None;
            }
            (value.to_owned(), rest)
        };
        if !is_key || (!rest.is_empty() && !rest.starts_with(' ')) {
            return None;
        }
        fields.push((key, value));
        text = rest;
    }
    Some(fields)
}

/// The text up to the closing quote, and what comes behind that.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, text.get(at.saturating_add(1)..)?)),
            '\\' => value.push(letters.next()?.1),
            letter => value.push(letter),
        }
    }
    None
}

/// A value as it is written, in at most so many bytes: cut if it may be, else `None` if it does not fit.
fn quoted(value: &str, most: usize, cut: bool) -> Option<String> {
    let written = |text: &str| {
        if needs_quotes(text) { Quoted(text).to_string() } else { text.to_owned() }
    };
    // One that is much too long is not looked at any further.
    if value.len() <= most {
        let whole = written(value);
        if whole.len() <= most {
            return Some(whole).filter(|text| !text.is_empty());
        }
    }
    let ends = (1..=most.min(value.len())).rev().filter(|_| cut);
    ends.filter_map(|end| value.get(..end))
        .map(|begin| written(&format!("{begin}…")))
        .find(|text| text.len() <= most)
}

fn needs_quotes(value: &str) -> bool {
    value.contains(|letter: char| {
        letter.is_whitespace() || letter.is_control() || "{}\"\\=".contains(letter)
    })
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for letter in self.0.chars() {
            if matches!(letter, '"' | '\\') {
                f.write_char('\\')?;
            }
            f.write_char(letter)?;
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::queue::{Contender, Mode};

    fn me() -> Identity {
        Identity {
            host: Some("web3".into()),
            user: Some("alice".into()),
            pid: Some(4711),
            operation: Some("backup.sh".into()),
            ..Identity::default()
        }
    }

    fn seen(label: &str) -> Contender {
        Contender::new(label, Mode::Exclusive)
    }

    #[test]
    fn a_label_of_our_own_tells_all_but_service_and_reason() {
        assert_eq!(&*me().label(None), "alice@web3/4711 backup.sh");
        assert_eq!(seen("alice@web3/4711 backup.sh").identity(), me());
        let service = Some("shop@1.4.2".to_owned());
        let told = Identity { service, reason: Some("night \"run\"".into()), ..me() };
        let label = told.label(None);
        assert_eq!(
            &*label,
            r#"alice@web3/4711 backup.sh {service=shop@1.4.2 reason="night \"run\""}"#
        );
        let seen = seen(&label);
        assert_eq!((&*seen.label, seen.identity()), ("alice@web3/4711 backup.sh", told));
        assert_eq!(seen.details().as_deref(), Some(r#"shop@1.4.2: night "run""#));
    }

    #[test]
    fn what_a_label_does_not_tell_is_behind_it() {
        let label = me().label(Some("10.0.0.7:9000"));
        assert_eq!(&*label, "10.0.0.7:9000 {host=web3 user=alice pid=4711 operation=backup.sh}");
        let seen = seen(&label);
        assert_eq!((&*seen.label, seen.identity()), ("10.0.0.7:9000", me()));
        assert_eq!(seen.details().as_deref(), Some("alice@web3/4711 backup.sh"));
    }

    #[test]
    fn a_label_of_anybody_else_is_text_alone() {
        for label in ["", "(Redisson) a:1", "web3", "web3/x", "web3/", "a {b}", "a {b=c", "a {B=c}"]
        {
            let seen = seen(label);
            assert_eq!((&*seen.label, seen.identity()), (label, Identity::default()), "{label}");
            assert_eq!(seen.details(), None);
        }
        // Of a later version, which has other fields too.
        assert_eq!(seen("a {host=b zone=c}").identity().host.as_deref(), Some("b"));
    }

    #[test]
    fn a_long_reason_is_cut_and_a_long_label_stays_whole() {
        let told = Identity { reason: Some("é".repeat(300)), ..me() };
        let label = told.label(None);
        assert!((Label::MAX - 1..=Label::MAX).contains(&label.len()), "{}", label.len());
        let reason = seen(&label).identity().reason.unwrap();
        assert!(reason.starts_with("ééé") && reason.ends_with('…'), "{reason}");
        let detached = me().label(Some("alice@web3/4711 backup.sh (detached)"));
        assert_eq!(seen(&detached).details(), None, "it is told already");
        let long = "x".repeat(Label::MAX);
        assert_eq!(&*told.label(Some(&long)), long);
    }

    #[test]
    fn no_field_spoils_a_label_whatever_it_has_in_it() {
        let told = Identity { reason: Some("a\u{1b}b\u{0}".into()), ..me() };
        let label = told.label(Some("10.0.0.7:9000"));
        assert_eq!(seen(&label).label, "10.0.0.7:9000");
        assert_eq!(seen(&label).identity().reason.as_deref(), Some("a b "));
        let huge = Identity { reason: Some("x".repeat(1 << 20)), ..me() };
        assert_eq!(huge.label(None).len(), Label::MAX);
        let huge = Identity { service: Some("x".repeat(1 << 20)), ..me() };
        assert_eq!(huge.label(None), me().label(None));
    }

    #[test]
    fn a_label_that_looks_like_fields_and_leaves_no_room_is_cut_rather_than_read_as_them() {
        for length in Label::MAX - 3..=Label::MAX {
            let end = " {host=x}";
            let long = "x".repeat(length - end.len()) + end;
            assert_eq!(long.len(), length);
            let label = me().label(Some(&long));
            assert_eq!(seen(&label).identity().host, None, "{length}");
            assert!(long.starts_with(&seen(&label).label) && label.len() <= Label::MAX);
        }
        let endless = " {".repeat(1 << 20) + "}";
        assert_eq!(seen(&endless).label, endless);
    }

    proptest! {
        #[test]
        fn whatever_fields_and_label_say_they_come_back(
            label in "[a-z {}=\"\\\\/@]{0,24}",
            [host, service, reason] in proptest::array::uniform3("[a-z {}=\"\\\\/@é]{1,24}"),
        ) {
            let (host, service, reason) = (Some(host), Some(service), Some(reason));
            let told = Identity { host, service, reason, pid: Some(7), ..Identity::default() };
            let seen = seen(&told.label(Some(&label)));
            prop_assert_eq!(&seen.label, &label);
            let Identity { host, pid, service, reason, .. } = seen.identity();
            prop_assert_eq!((host, pid), (told.host, told.pid));
            prop_assert_eq!((service, reason), (told.service, told.reason));
            let bare = Identity::default().label(Some(&label));
            prop_assert_eq!(Contender::new(&*bare, Mode::Shared).label, label);
        }
    }
}
