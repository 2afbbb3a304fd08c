//! JSON for programs. Tokens are strings, as the doubles of many readers lose their low bits;
//! lengths of time are whole milliseconds in fields that end in `_ms`.

use std::{
    path::Path,
    time::{Duration, UNIX_EPOCH},
};

use serde_json::{Value, json};
use tenure::{
    Handle, LockName, LostReason, Token,
    asking::ReleaseAnswer,
    history::{Ending, HistoryEntry},
    inspect::{Contender, Identity, Kind, Mode, Snapshot, Waiting},
    once::{ScheduleState, Skipped},
    store::{Diagnostic, Listing},
};
use tenure_core::plain::misleads;

use super::{CommandFate, Event, human};
use crate::{exit::Failure, explanation::Explanation, label::UserAtHost, outcome::skipped_word};

/// An event, with when and where it was, and the `label` of what this command asks for and holds. A `holder` is whoever
/// has the lock.
pub(crate) fn event(event: &Event<'_>, label: Option<&str>) -> Value {
    let mut value = match *event {
        Event::Store { kind, location, chosen_by } => json!({
            "event": "store", "kind": kind, "store": location, "chosen_by": chosen_by,
        }),
        Event::UnknownVariable { name, meant } => json!({
            "event": "unknown_variable", "variable": name, "meant": meant,
        }),
        Event::PasswordShown => {
            json!({ "event": "password_shown", "message": human::PASSWORD_SHOWN })
        }
        Event::ForeignConfiguration { file, owner } => json!({
            "event": "foreign_configuration", "file": file.display().to_string(), "owner": owner,
        }),
        Event::Waiting { name, holder, ahead } => json!({
            "event": "waiting", "lock": name, "holder": holder.map(contender), "ahead": ahead,
        }),
        Event::StoreUnreachable { name, why } => {
            json!({ "event": "store_unreachable", "lock": name, "message": why })
        }
        Event::QueueFull { name, why } => {
            json!({ "event": "queue_full", "lock": name, "message": why })
        }
        Event::Acquired { name, token, waited } => json!({
            "event": "acquired", "lock": name, "token": token.to_string(), "token_number": token.get(),
            "waited_ms": millis(waited),
        }),
        Event::AcquiredAll { name, tokens, waited } => {
            let tokens = tokens.iter().map(|(name, token)| {
                json!({ "lock": name, "token": token.to_string(), "token_number": token.get() })
            });
            json!({
                "event": "acquired", "lock": name, "tokens": tokens.collect::<Vec<_>>(),
                "waited_ms": millis(waited),
            })
        }
        Event::GivenUp { name, asked } => {
            json!({ "event": "given_up", "lock": name, "asked": asked })
        }
        Event::Renewed { name } => json!({ "event": "renewed", "lock": name }),
        Event::Checked { name, id, valid } => json!({
            "event": "checked", "lock": name, "id": id, "held": valid.is_some(),
            "valid_ms": valid.map_or(0, millis),
        }),
        Event::Refused { why, id } => {
            let why: String = why.chars().take(300).collect();
            json!({ "event": "refused", "message": why, "id": id })
        }
        Event::Stopped { name, left } => {
            json!({ "event": "stopped", "lock": name, "left_ms": millis(left) })
        }
        Event::AtRisk { name, left } => {
            json!({ "event": "at_risk", "lock": name, "left_ms": millis(left) })
        }
        Event::Recovered { name } => json!({ "event": "recovered", "lock": name }),
        Event::ReleaseRequested { name, by, obeys } => json!({
            "event": "release_requested", "lock": name, "by": by.map(identity),
            "command": obeys.map(|obeys| if obeys { "terminated" } else { "runs_on" }),
        }),
        Event::ToldToEnd { name, signal } => json!({
            "event": "release_requested", "lock": name, "by": null, "signal": signal,
        }),
        Event::Asking { name, holders } => {
            let holders: Vec<_> = holders.iter().map(contender).collect();
            json!({ "event": "asking", "lock": name, "holders": holders })
        }
        Event::ReasonNotTold { why } => json!({ "event": "reason_not_told", "message": why }),
        Event::Broken { name, by } => {
            json!({ "event": "broken", "lock": name, "by": identity(by) })
        }
        Event::Lost { name, reason, by, failure, fate } => json!({
            "event": "lost", "lock": name, "reason": self::reason(reason), "failure": failure,
            "by": by.map(identity),
            "command": self::fate(fate),
        }),
        Event::Ended { name, code, signal, ran } => json!({
            "event": "ended", "lock": name, "exit_code": code, "signal": signal,
            "ran_ms": millis(ran),
        }),
        Event::Released { name, held } => {
            json!({ "event": "released", "lock": name, "held_ms": held.map(millis) })
        }
        Event::Detached { name, token, lease, left } => json!({
            "event": "detached", "lock": name, "token": token.to_string(),
            "lease_ms": millis(lease), "left_ms": millis(left),
        }),
        Event::FileStays { name, why } => {
            json!({ "event": "file_stays", "lock": name, "message": why })
        }
        Event::ReleaseFailed { name, why, .. } => {
            json!({ "event": "release_failed", "lock": name, "message": why })
        }
        Event::CampaignFailed { name, why } => {
            json!({ "event": "campaign_failed", "lock": name, "message": why })
        }
        Event::MetricsNotWritten { why } => {
            json!({ "event": "metrics_not_written", "message": why })
        }
        Event::Summary(summary) => json!({
            "event": "summary", "lock": summary.name, "exit_code": summary.code,
            "waited_ms": summary.waited.map(millis), "ran_ms": summary.ran.map(millis),
            "lost": summary.lost.map(reason),
            "tokens": summary.tokens.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "slot": summary.slot.as_ref().map(|news| news.slot.in_utc()),
            "outcome": summary.slot.as_ref().map(|news| news.outcome.word()),
        }),
        Event::WaitingForSlot { name, slot, schedule, begins_in } => json!({
            "event": "waiting_for_slot", "lock": name, "slot": slot.in_utc(), "schedule": schedule,
            "begins_in_ms": millis(begins_in),
        }),
        Event::SlotBegins { name, slot, schedule, tries, .. } => json!({
            "event": "slot_begins", "lock": name, "slot": slot.in_utc(), "schedule": schedule, "tries": tries,
        }),
        Event::SlotStaysOpen { name, slot } => {
            json!({ "event": "slot_stays_open", "lock": name, "slot": slot.in_utc() })
        }
        Event::SlotFinished { name, slot } => {
            json!({ "event": "slot_finished", "lock": name, "slot": slot.in_utc() })
        }
        Event::Serving { address } => {
            json!({ "event": "serving", "address": address.to_string() })
        }
        Event::ExportDown { why } => json!({ "event": "export_down", "message": why }),
        Event::ExportUp => json!({ "event": "export_up" }),
    };
    when_and_where(&mut value);
    value["label"] = label.into();
    value
}

fn when_and_where(value: &mut Value) {
    value["time"] = moment(human::now()).into();
    value["host"] = UserAtHost::from_system().host().into();
}

pub(crate) fn failure(failure: &Failure, code: u8) -> Value {
    let kind = match failure {
        Failure::Usage(_) => "usage",
        Failure::Busy { .. } => "busy",
        Failure::Declined(_) => "declined",
        Failure::Interrupted { .. } => "interrupted",
        Failure::Skipped { .. } => "skipped",
        Failure::Lost(_) => "handle_lost",
        Failure::Away(_) | Failure::Failed(_) => "error",
    };
    let Explanation { message, causes, help, facts } = failure.explanation();
    let mut value = json!({
        "event": kind, "kind": facts.kind, "lock": facts.lock, "store": facts.store,
        "message": message, "causes": causes, "help": help,
        "holder": facts.holder.as_ref().map(contender), "ahead": facts.ahead,
        "token": facts.token().map(|token| token.to_string()),
        "waited_ms": facts.waited.map(millis), "retry_after_ms": facts.retry_after().map(millis),
        "exit_code": code,
    });
    if let Failure::Skipped { skipped, is_missed, .. } = failure {
        value["slot"] = skipped.slot.id.in_utc().into();
        value["reason"] = skipped_word(skipped.why).into();
        value["missed"] = (*is_missed).into();
        if let Skipped::Finished { token } | Skipped::Overlaps { token } = skipped.why {
            value["token"] = token.to_string().into();
        }
    }
    when_and_where(&mut value);
    value
}

/// The answer of `ls`.
pub(crate) fn listing(listing: &Listing) -> String {
    let names: Vec<_> = listing.names.iter().map(|(name, seen)| named(name, seen)).collect();
    json!({ "names": names, "more": listing.more, "missing": listing.missing }).printed()
}

/// The answer of `show`.
pub(crate) fn snapshot(
    name: &LockName,
    seen: &Snapshot,
    asks: Option<&Identity>,
    last: Option<&HistoryEntry>,
    schedule: Option<&ScheduleState>,
) -> String {
    let mut answer = named(name, seen);
    answer["last"] = last.map(past_hold).into();
    answer["schedule"] = schedule.map(super::schedule::json).into();
    answer["release_requested_by"] = asks.map(identity).into();
    answer.printed()
}

/// The answer of `history`.
pub(crate) fn history(name: &LockName, entries: &[HistoryEntry]) -> String {
    let entries: Vec<_> = entries.iter().map(past_hold).collect();
    json!({ "lock": name.as_str(), "entries": entries }).printed()
}

fn past_hold(entry: &HistoryEntry) -> Value {
    let Identity { host, user, pid, service, operation, reason, .. } = &entry.who;
    let lost = match entry.ended {
        Some(Ending::Lost(why)) => Some(self::reason(why)),
        _ => None,
    };
    json!({
        "token": entry.token.to_string(), "kind": entry.kind.as_str(),
        "mode": if entry.shared { "shared" } else { "exclusive" },
        "label": entry.label, "host": host, "user": user, "pid": pid, "service": service,
        "operation": operation, "reason": reason,
        "from": entry.from.map(moment), "until": entry.until.map(moment),
        "held_ms": entry.held().map(millis),
        "ended": entry.ended.map(Ending::as_str), "lost": lost, "exit_code": entry.exit_code,
        "slot": entry.slot.as_ref().map(|run| run.slot.in_utc()),
        "try": entry.slot.as_ref().map(|run| run.tries),
        "broken_by": entry.broken_by.as_ref().map(identity),
    })
}

/// The answer of `break`.
pub(crate) fn break_answer(name: &LockName, evicted: &[Contender]) -> String {
    let evicted: Vec<_> = evicted.iter().map(contender).collect();
    json!({ "lock": name.as_str(), "evicted": evicted }).printed()
}

/// The answer of `lock`, with the handle if that is not in a file.
pub(crate) fn lock_answer(
    handle: &Handle,
    token: Token,
    left: Duration,
    shows_handle: bool,
) -> String {
    let mut answer = json!({
        "lock": handle.name().as_str(), "token": token.to_string(),
        "lease_ms": millis(handle.lease()), "left_ms": millis(left),
    });
    if shows_handle {
        answer["handle"] = handle.expose().into();
    }
    answer.printed()
}

/// The answer of `renew`.
pub(crate) fn renew_answer(name: &LockName, left: Duration) -> String {
    json!({ "lock": name.as_str(), "left_ms": millis(left) }).printed()
}

/// The answer of `unlock`.
pub(crate) fn unlock_answer(name: &LockName) -> String {
    json!({ "lock": name.as_str(), "released": true }).printed()
}

/// The answer of `man --dir`.
pub(crate) fn pages<'p>(dir: &Path, pages: impl Iterator<Item = &'p str>) -> String {
    json!({ "dir": dir.to_string_lossy(), "pages": pages.collect::<Vec<_>>() }).printed()
}

/// The answer of `doctor`.
pub(crate) fn diagnostics(
    kind: &str,
    location: &str,
    chosen_by: Option<&str>,
    diagnostics: &[Diagnostic],
) -> String {
    let diagnostics: Vec<_> = diagnostics
        .iter()
        .map(|diagnostic| {
            json!({
                "severity": diagnostic.severity.as_str(), "what": diagnostic.what, "found": diagnostic.found,
                "promise": diagnostic.promise, "help": diagnostic.help,
            })
        })
        .collect();
    json!({ "kind": kind, "store": location, "chosen_by": chosen_by, "diagnostics": diagnostics })
        .printed()
}

/// JSON as it is printed.
pub(crate) trait ToJsonLine {
    /// In one line, with nothing in it that misleads who reads it on a terminal: labels and what servers say come
    /// from elsewhere.
    fn printed(&self) -> String;
}

impl ToJsonLine for Value {
    fn printed(&self) -> String {
        let mut line = String::new();
        for c in self.to_string().chars() {
            if misleads(c) {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    line += &format!("\\u{unit:04x}");
                }
            } else {
                line.push(c);
            }
        }
        line
    }
}

fn named(name: &LockName, seen: &Snapshot) -> Value {
    let holders: Vec<_> = seen.holders.iter().map(contender).collect();
    let waiters: Vec<_> = seen.waiters.iter().map(waiter).collect();
    json!({ "name": name.as_str(), "holders": holders, "waiters": waiters })
}

/// The answer of `ask-release`.
pub(crate) fn release_answer(name: &LockName, answer: &ReleaseAnswer, now: &[Contender]) -> String {
    let ended = match answer {
        ReleaseAnswer::Free => "free",
        ReleaseAnswer::Held(_) => "held",
        _ => "released",
    };
    let holders: Vec<_> = now.iter().map(contender).collect();
    json!({ "lock": name.as_str(), "answer": ended, "holders": holders }).printed()
}

fn identity(of: &Identity) -> Value {
    let Identity { host, user, pid, service, operation, reason, .. } = of;
    json!({
        "host": host, "user": user, "pid": pid, "service": service, "operation": operation,
        "reason": reason,
    })
}

fn contender(holder: &Contender) -> Value {
    let Identity { host, user, pid, service, operation, reason, .. } = holder.identity();
    json!({
        "label": holder.label, "host": host, "user": user, "pid": pid, "service": service,
        "operation": operation, "reason": reason,
        "token": holder.token.map(|token| token.to_string()),
        "since": holder.since.map(moment),
        "left_ms": holder.left.map(millis), "kind": holder.kind.map(Kind::as_str),
        "mode": mode(holder.mode), "lingering": holder.lingering,
        "hold": holder.id.map(|id| id.to_string()),
    })
}

fn waiter(waiter: &Waiting) -> Value {
    let Identity { host, user, pid, service, operation, reason, .. } = waiter.identity();
    json!({
        "label": waiter.label, "host": host, "user": user, "pid": pid, "service": service,
        "operation": operation, "reason": reason, "since": waiter.since.map(moment),
        "kind": waiter.kind.map(Kind::as_str), "mode": mode(waiter.mode),
    })
}

fn mode(mode: Mode) -> Value {
    match mode {
        Mode::Exclusive => json!("exclusive"),
        Mode::Shared => json!("shared"),
        Mode::Permits { take, of } => json!({ "permits": take, "of": of }),
    }
}

pub(super) fn reason(reason: LostReason) -> &'static str {
    match reason {
        LostReason::Taken => "taken",
        LostReason::MaxHold => "max_hold",
        _ => "deadline",
    }
}

fn fate(fate: CommandFate) -> Option<&'static str> {
    match fate {
        CommandFate::None => None,
        CommandFate::NotStarted => Some("not_started"),
        CommandFate::Killed => Some("killed"),
        CommandFate::RunsOn => Some("runs_on"),
        CommandFate::Ended => Some("ended"),
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// A moment as RFC 3339 has it.
pub(super) fn moment(micros: u64) -> String {
    // What lies beyond the year 9999 cannot be written so; the last moment that can is shown.
    let last = Duration::from_secs(253_402_300_799);
    let since = Duration::from_micros(micros).min(last);
    humantime::format_rfc3339_millis(UNIX_EPOCH + since).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_escaped_and_read_as_it_was() {
        let said = "a\u{1b}[2J\u{9b}1m\u{202e}b\u{200f}ä\u{1f512}";
        let line = json!({ "label": said }).printed();
        assert!(!line.chars().any(misleads), "{line}");
        assert!(line.contains("ä\u{1f512}"), "{line}");
        let read: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["label"], said);
    }
}
