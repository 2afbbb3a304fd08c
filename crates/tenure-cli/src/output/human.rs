//! Words and sentences for people.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anstyle::{AnsiColor, Style};
use tenure::{
    LostReason, Token,
    inspect::{Contender, Identity},
};
use tenure_core::plain::plain;

use super::{CommandFate, Event};
use crate::{
    exit::Failure,
    explanation::Explanation,
    record::{RunSummary, SlotNews},
};

/// What stands for something the store does not tell.
pub(super) const UNKNOWN: &str = "?";
pub(super) const PASSWORD_SHOWN: &str = "every user of this machine can read the password in --store, in the list of processes; \
     put the URL into TENURE_STORE or into a configuration file";
const BAD: Style = AnsiColor::Red.on_default().bold();

/// Now, in microseconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or(u64::MAX)
}

/// A length of time, rounded to the second where that is fine enough.
pub(crate) fn length(length: Duration) -> String {
    let unit = if length < Duration::from_secs(1) {
        Duration::from_millis(1)
    } else {
        Duration::from_secs(1)
    };
    let units = length.saturating_add(unit / 2).as_nanos() / unit.as_nanos();
    let rounded = unit.saturating_mul(u32::try_from(units).unwrap_or(u32::MAX));
    humantime::format_duration(rounded).to_string()
}

/// How long ago something was that happened at `since`.
pub(crate) fn ago(since: Option<u64>, now: u64) -> String {
    since.map_or(UNKNOWN.into(), |since| length(Duration::from_micros(now.saturating_sub(since))))
}

/// A token as tables show it.
pub(crate) fn token(token: Option<Token>) -> String {
    token.map_or(UNKNOWN.into(), |token| token.to_string())
}

/// Who a contender is, by its own word: its label, and what that does not tell.
pub(crate) fn contender_name(label: &str, details: Option<String>) -> String {
    match (label, details) {
        ("", None) => "a holder without a label".into(),
        ("", Some(details)) => plain(&details),
        (label, None) => plain(label),
        (label, Some(details)) => plain(&format!("{label} ({details})")),
    }
}

/// The same of a holder as part of a sentence, where a label ends by its quotes.
pub(crate) fn quoted(holder: &Contender) -> String {
    let details = holder.details();
    if holder.label.is_empty() {
        return contender_name("", details);
    }
    let details = details.map(|details| format!(" ({details})")).unwrap_or_default();
    plain(&format!("\"{}\"{details}", holder.label))
}

/// Who holds a lock and what for, as part of a sentence.
pub(crate) fn holder(holder: &Contender, now: u64) -> String {
    if holder.lingering {
        return holder_in_brief(holder, now);
    }
    format!("held by {}{}", quoted(holder), held_for(holder, now))
}

/// The same by its label alone, for a line that is as short as a terminal.
pub(crate) fn holder_in_brief(holder: &Contender, now: u64) -> String {
    let label = match &*holder.label {
        "" => contender_name("", holder.details()),
        label => format!("\"{}\"", plain(label)),
    };
    if holder.lingering {
        let rest = holder.left.map(|left| format!(" for another {}", length(left)));
        return format!("released by {label}, but stays taken{}", rest.unwrap_or_default());
    }
    format!("held by {label}{}", held_for(holder, now))
}

fn held_for(holder: &Contender, now: u64) -> String {
    holder.since.map(|since| format!(" for {}", ago(Some(since), now))).unwrap_or_default()
}

/// How many come first, as part of a sentence.
pub(crate) fn ahead(ahead: u32) -> String {
    if ahead == 0 { String::new() } else { format!(", {ahead} ahead") }
}

pub(crate) fn event(event: &Event<'_>) -> String {
    let word = match event {
        Event::Lost { .. } => format!("{BAD}lost{BAD:#}: "),
        _ => String::new(),
    };
    word + &plain(&sentence(event))
}

fn sentence(event: &Event<'_>) -> String {
    match *event {
        Event::Store { location, chosen_by: Some(by), .. } => {
            format!("locks are kept in {location}, chosen by {by}")
        }
        Event::Store { location, chosen_by: None, .. } => {
            format!("locks are kept in {location}, as no setting chooses another store")
        }
        Event::PasswordShown => PASSWORD_SHOWN.to_owned(),
        Event::ForeignConfiguration { file, owner } => format!(
            "{} belongs to user {owner}, who can use it to choose where locks are kept; chown it \
             to root, or to the user that tenure runs as",
            file.display()
        ),
        Event::UnknownVariable { name, meant } => {
            let meant = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
            format!("the variable {name} is set, but tenure has no such setting{meant}")
        }
        Event::Waiting { name, holder: who, ahead: others } => {
            let who = who.map_or("no holder yet".into(), |who| holder(who, now()));
            format!("waiting for {name}: {who}{}", ahead(others))
        }
        Event::StoreUnreachable { name, why } => {
            format!("waiting for {name}; the store is unreachable: {why}")
        }
        Event::QueueFull { name, why } => {
            format!("waiting for {name}; its queue is full: {why}")
        }
        Event::Acquired { name, token, waited } => {
            format!("holding {name} with token {token} after waiting {}", length(waited))
        }
        Event::AcquiredAll { name, tokens, waited } => {
            let tokens: Vec<_> = tokens.iter().map(|(_, token)| token.to_string()).collect();
            let (tokens, waited) = (tokens.join(","), length(waited));
            format!("holding {name} with tokens {tokens} after waiting {waited}")
        }
        Event::GivenUp { name, asked: true } => format!("gave up {name} before it was acquired"),
        Event::GivenUp { name, asked: false } => format!(
            "{name} was not acquired, as standard input has ended: a hold lasts no longer than that"
        ),
        Event::Renewed { name } => format!("{name} was renewed"),
        Event::Checked { name, valid, .. } => {
            let name = name.unwrap_or("the lock");
            match valid {
                Some(valid) => {
                    format!("{name} is held, and may be counted on for {}", length(valid))
                }
                None => format!("{name} is not held"),
            }
        }
        Event::Refused { why, .. } => format!("not understood: {why}"),
        Event::ToldToEnd { name, signal } => format!(
            "signal {signal} ends nothing: {name} is released when the program that uses it \
             releases it, closes standard input or ends"
        ),
        Event::Stopped { name, left } => format!(
            "stopped, and so are the renewals: {name} is lost and the command killed in {} unless \
             tenure continues before",
            length(left)
        ),
        Event::AtRisk { name, left } => {
            format!("{name} is at risk: lost in {} unless it is renewed", length(left))
        }
        Event::Recovered { name } => format!("{name} is no longer at risk"),
        Event::ReleaseRequested { name, by, obeys } => {
            let who = by.map_or_else(|| "another process".to_owned(), Identity::to_string);
            let then = if obeys == Some(true) { ": SIGTERM is sent to the command" } else { "" };
            format!("asked to release {name} by {who}{then}")
        }
        Event::Asking { name, holders } => {
            let now = now();
            let holders: Vec<_> =
                holders.iter().map(|holder| holder_in_brief(holder, now)).collect();
            format!("waiting for the release of {name}, {}", holders.join(", "))
        }
        Event::ReasonNotTold { why } => format!("the holder is not told the reason: {why}"),
        Event::Broken { name, by } => format!("{name} was broken by {by}"),
        Event::Lost { name, reason, by, failure, fate } => {
            let why = match (reason, failure) {
                (LostReason::Taken, _) if by.is_some() => {
                    format!("was broken by {}", by.map(Identity::to_string).unwrap_or_default())
                }
                (LostReason::Taken, _) => "was taken away or ended in the store".to_owned(),
                (LostReason::MaxHold, _) => "was held as long as --max-hold allows".to_owned(),
                (_, None) => "could not be renewed in time".to_owned(),
                (_, Some(failure)) => format!("could not be renewed in time, as {failure}"),
            };
            let then = match fate {
                CommandFate::None => "whatever it protects must stop now",
                CommandFate::NotStarted => "the command was not started",
                CommandFate::Killed => "ending the command",
                CommandFate::RunsOn => "the command continues without the lock",
                CommandFate::Ended => {
                    "the command had ended by then, but may have run without the lock"
                }
            };
            format!("{name} {why}; {then}")
        }
        Event::Ended { name, code, signal: None, .. } => {
            format!("the command under {name} ended with exit code {code}")
        }
        Event::Ended { name, signal: Some(signal), .. } => {
            format!("the command under {name} was ended by signal {signal}")
        }
        Event::Released { name, held: None } => format!("released {name}"),
        Event::Released { name, held: Some(held) } => {
            format!("released {name} after holding it for {}", length(held))
        }
        Event::Detached { name, token, left, .. } => {
            format!("{name} stays held for {} with token {token}, by its handle", length(left))
        }
        Event::FileStays { name, why } => {
            format!("{name} was released, and its handle is no longer valid, but {why}")
        }
        // A store that answers after that may have ended the lease by itself.
        Event::ReleaseFailed { name, why, is_lost: true } => {
            format!("{name} may stay taken for a while: {why}")
        }
        Event::ReleaseFailed { name, why, is_lost: false } => {
            format!(
                "{name} may stay taken for a while, and is released when the store answers: {why}"
            )
        }
        Event::CampaignFailed { name, why } => {
            format!("no answer to the campaign for {name}, which continues: {why}")
        }
        Event::MetricsNotWritten { why } => format!("the metrics of this run are missing in {why}"),
        Event::Summary(summary) => self::summary(summary),
        Event::WaitingForSlot { name, slot, schedule, begins_in } => format!(
            "waiting for the slot {} of {name} ({schedule}), which begins in {}",
            slot.in_utc(),
            length(begins_in)
        ),
        Event::SlotBegins { name, slot, schedule, tries, .. } => {
            format!("{name} runs for the slot {} ({schedule}), try {tries}", slot.in_utc())
        }
        Event::SlotStaysOpen { name, slot } => {
            let slot = slot.in_utc();
            format!("the slot {slot} of {name} stays open, as its command was told to end")
        }
        Event::SlotFinished { name, slot } => {
            format!("the slot {} of {name} is finished", slot.in_utc())
        }
        Event::Serving { address } => format!("metrics are at http://{address}/metrics"),
        Event::ExportDown { why } => {
            format!("tenure_export_up is 0 and no lock is exported until the store answers: {why}")
        }
        Event::ExportUp => "the store answers again".to_owned(),
    }
}

/// A run in one line.
fn summary(summary: &RunSummary) -> String {
    let RunSummary { name, waited, ran, tokens, lost, slot, code } = summary;
    let mut parts = Vec::new();
    match waited {
        Some(waited) => parts.push(format!("waited {}", length(*waited))),
        None => parts.push("not acquired".to_owned()),
    }
    parts.extend(ran.map(|ran| format!("ran {}", length(ran))));
    parts.push(format!("exit code {code}"));
    if !tokens.is_empty() {
        let tokens: Vec<_> = tokens.iter().map(ToString::to_string).collect();
        parts.push(format!("token {}", tokens.join(",")));
    }
    parts.extend(lost.map(|_| "lost".to_owned()));
    let of_slot = |SlotNews { slot, outcome }: &SlotNews| {
        format!("slot {} {}", slot.in_utc(), outcome.phrase())
    };
    parts.extend(slot.as_ref().map(of_slot));
    format!("{name}: {}", parts.join(", "))
}

/// What failed, what caused it and what helps, each in a line of its own.
pub(crate) fn failure(failure: &Failure) -> String {
    let Explanation { message, causes, help, .. } = failure.explanation();
    let first = match failure {
        Failure::Declined(_) | Failure::Skipped { .. } => format!("tenure: {}", plain(message)),
        _ => format!("tenure: {BAD}error{BAD:#}: {}", plain(message)),
    };
    let line = |part: &str, text: &String| format!("\n  {part}: {}", plain(text));
    let causes: String = causes.iter().map(|cause| line("caused by", cause)).collect();
    let help = help.iter().map(|help| line("help", help));
    help.fold(first + &causes, |lines, help| lines + &help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_fit_for_reading() {
        assert_eq!(length(Duration::from_micros(12_345)), "12ms");
        assert_eq!(length(Duration::from_micros(12_500)), "13ms");
        assert_eq!(length(Duration::from_micros(999_900)), "1s");
        assert_eq!(length(Duration::from_millis(1_499)), "1s");
        assert_eq!(length(Duration::from_millis(1_990)), "2s", "no second is lost");
        assert_eq!(length(Duration::from_millis(83_999)), "1m 24s");
    }
}
