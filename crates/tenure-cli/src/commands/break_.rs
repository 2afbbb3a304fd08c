//! `tenure break`: take a lock from its holder.

use std::io::{self, BufRead, IsTerminal, Write};

use nix::sys::termios::{FlushArg, tcflush};
use tenure::{
    Fault, FaultKind, LockName, Tenure, Token,
    asking::BreakNotice,
    inspect::{Contender, HoldId, Mode, Snapshot},
};
use tenure_core::plain::plain;

use super::store_failure;
use crate::{
    args,
    exit::Failure,
    explanation::Explanation,
    output::{Event, Reporter, human, json, tables, write_answer},
};

pub(super) async fn break_(
    args: args::Break,
    tenure: Tenure,
    voice: &Reporter,
) -> Result<u8, Failure> {
    let name = &args.name;
    let mut seen = inspect_lock(&tenure, name).await?;
    let (seen, evicted) = loop {
        let meant = choose_target(&args, seen.as_ref(), tenure.store().capabilities().pass_bits)?;
        if !args.yes && !meant.is_nobody() {
            let tells = tenure.store().capabilities().tells_evictions;
            if !ask_confirmation(name, seen.as_ref(), &meant, tells)? {
                return Err(Failure::Declined(Explanation::new(format!(
                    "lock {name:?} was not changed"
                ))));
            }
            // Where a hold has no id, all that can be seen of it is to be as it was when the question was asked.
            if meant.is_anybody() {
                let now = inspect_lock(&tenure, name).await?;
                if !same_holders(seen.as_ref(), now.as_ref()) {
                    seen = now;
                    tell_of_another(name);
                    continue;
                }
            }
        }
        let holders = seen.iter().flat_map(|seen| &seen.holders);
        let holders: Vec<_> = holders.filter(|holder| meant.is(holder)).cloned().collect();
        let notice = announce(&tenure, name, &holders, args.reason.as_deref(), voice).await;
        let taken = meant.take(&tenure, name).await;
        // What was not done is not left to be read.
        if let Some(notice) = notice
            && taken.as_ref().is_ok_and(|evicted| !evicted.is_empty())
        {
            notice.leave().await;
        }
        let evicted = match taken {
            Ok(evicted) => evicted,
            Err(fault) => {
                return Err(explain_doubtful_break(&tenure, name, seen.as_ref(), &fault).await);
            }
        };
        if !evicted.is_empty() || meant.is_anybody() || meant.is_nobody() {
            break (seen, evicted);
        }
        // Who was shown is gone. Whoever has it now was not what the answer was about.
        seen = inspect_lock(&tenure, name).await?;
        let now = seen.as_ref().filter(|now| !now.holders.is_empty());
        match now {
            Some(now) if args.yes => return Err(another_holds(name, now)),
            Some(_) => tell_of_another(name),
            None => break (seen, evicted),
        }
    };
    tenure.record_break(name, &evicted, args.reason.clone());
    write_answer(&if voice.is_json() {
        json::break_answer(name, &evicted)
    } else {
        result_message(name, seen.as_ref(), &evicted)
    })?;
    Ok(0)
}

/// Says to the holders who breaks the lock and why. What keeps that from being said does not keep the lock from being
/// broken.
async fn announce(
    tenure: &Tenure,
    name: &LockName,
    holders: &[Contender],
    reason: Option<&str>,
    voice: &Reporter,
) -> Option<BreakNotice> {
    let announced = tenure.announce_break(name.as_str(), holders, reason?).await;
    announced
        .inspect_err(|error| {
            voice.event(&Event::ReasonNotTold { why: &format!("{error:#}") });
        })
        .ok()
}

/// Who holds the name; `None` where what the store keeps makes no sense.
async fn inspect_lock(tenure: &Tenure, name: &LockName) -> Result<Option<Snapshot>, Failure> {
    match tenure.store().inspect(name).await {
        Ok(seen) => Ok(Some(seen)),
        // Nobody can be told of, and to break the lock is what mends it.
        Err(fault) if fault.kind() == FaultKind::Corrupt => Ok(None),
        Err(fault) => Err(store_failure(tenure, name, &fault)),
    }
}

/// From whom the lock is to be taken.
#[derive(Debug, PartialEq, Eq)]
enum EvictTarget {
    /// From whoever has it when it is taken.
    Anybody,
    /// From these alone, if they still have it.
    Holds(Vec<HoldId>),
}

impl EvictTarget {
    fn is_anybody(&self) -> bool {
        *self == Self::Anybody
    }

    fn is_nobody(&self) -> bool {
        matches!(self, Self::Holds(holds) if holds.is_empty())
    }

    fn is(&self, holder: &Contender) -> bool {
        match self {
            Self::Anybody => true,
            Self::Holds(holds) => holder.id.is_some_and(|id| holds.contains(&id)),
        }
    }

    async fn take(&self, tenure: &Tenure, name: &LockName) -> Result<Vec<Contender>, Fault> {
        let store = tenure.store();
        let Self::Holds(holds) = self else { return store.evict(name).await };
        let mut evicted = Vec::new();
        for hold in holds {
            evicted.extend(store.evict_hold(name, *hold).await?);
        }
        Ok(evicted)
    }
}

/// Whom the command line means of those who were seen. Who is asked first is asked about those alone; where nobody is
/// asked nor named, whoever has the lock is meant.
fn choose_target(
    args: &args::Break,
    seen: Option<&Snapshot>,
    pass_bits: bool,
) -> Result<EvictTarget, Failure> {
    let Some(seen) = seen else {
        return if args.token.is_none() && args.hold.is_none() {
            Ok(EvictTarget::Anybody)
        } else {
            let what = "its state cannot be read, so tenure cannot tell its holds apart";
            let what = format!("lock {:?}: {what}", args.name);
            Err(Failure::Usage((what, "leave out --token and --hold").into()))
        };
    };
    let is_named = args.token.is_some() || args.hold.is_some();
    // Passes inside a process change the last bits of a token, and the store knows only the first.
    let same = |one: Token, other: Token| {
        if pass_bits { one.time() == other.time() } else { one == other }
    };
    let is_meant = |holder: &&Contender| {
        args.hold.is_none_or(|hold| holder.id == Some(hold))
            && args.token.is_none_or(|token| holder.token.is_some_and(|its| same(its, token)))
    };
    let holders: Vec<_> = seen.holders.iter().filter(is_meant).collect();
    if is_named && holders.is_empty() && !seen.holders.is_empty() {
        return Err(another_holds(&args.name, seen));
    }
    let ids: Vec<_> = holders.iter().filter_map(|holder| holder.id).collect();
    if is_named && ids.len() < holders.len() {
        let what = format!(
            "lock {:?} was not changed: the hold has no id in this store, so it cannot be broken \
             alone",
            args.name
        );
        let help = "leave out --token to take the lock from all holders";
        return Err(Failure::Declined((what, help).into()));
    }
    if !is_named && (args.yes && !seen.holders.is_empty() || ids.len() < holders.len()) {
        return Ok(EvictTarget::Anybody);
    }
    Ok(EvictTarget::Holds(ids))
}

fn another_holds(name: &LockName, now: &Snapshot) -> Failure {
    let holders: Vec<_> = now
        .holders
        .iter()
        .map(|holder| {
            format!("{} with token {}", human::quoted(holder), human::token(holder.token))
        })
        .collect();
    let why = Explanation::new(format!(
        "lock {name:?} was not changed: the hold that you named is gone, and the lock is held by \
         {}",
        holders.join(", ")
    ));
    Failure::Declined(why.advise(format!("see who holds it now: tenure show {name}")))
}

fn tell_of_another(name: &LockName) {
    let name = plain(name.as_str());
    // Without a terminal to tell it on the question cannot be asked either.
    let _ = writeln!(anstream::stderr(), "{name}: its holders have changed.");
}

/// Whether they look the same, but for what is left of their leases.
fn same_holders(before: Option<&Snapshot>, now: Option<&Snapshot>) -> bool {
    let all = |seen: Option<&Snapshot>| {
        seen.map(|seen| {
            let each = seen.holders.iter();
            each.map(|one| (one.id, one.token, one.label.clone(), one.since)).collect::<Vec<_>>()
        })
    };
    all(before) == all(now)
}

/// Why it is not known whether it is broken, and who holds it now, as far as that can be seen.
async fn explain_doubtful_break(
    tenure: &Tenure,
    name: &LockName,
    before: Option<&Snapshot>,
    fault: &Fault,
) -> Failure {
    if fault.kind() != FaultKind::InDoubt {
        return store_failure(tenure, name, fault);
    }
    let told = match (before, tenure.store().inspect(name).await) {
        (Some(before), Ok(now)) => after_doubt(before, &now),
        _ => None,
    };
    let told = told.unwrap_or_else(|| "it may have been broken".into());
    let why = Explanation::of_fault(name.as_str(), tenure.store().location(), fault);
    Failure::Failed(
        why.append_message(&told).advise(format!("see who holds it now: tenure show {name}")),
    )
}

/// What is seen behind a break of which nobody said whether it was done; nothing if nobody held it before.
fn after_doubt(before: &Snapshot, now: &Snapshot) -> Option<String> {
    let each = |holders: &mut dyn Iterator<Item = &Contender>| {
        let each = holders.map(|holder| {
            format!("{} with token {}", human::quoted(holder), human::token(holder.token))
        });
        each.collect::<Vec<_>>().join(", ")
    };
    let holds = |holder: &&Contender| now.holders.iter().any(|it| it.token == holder.token);
    let gone = each(&mut before.holders.iter().filter(|holder| !holds(holder)));
    let there = each(&mut now.holders.iter());
    match (gone.is_empty(), there.is_empty()) {
        (_, false) => Some(format!("it is now held by {there}")),
        (false, true) => Some(format!("{gone} lost it, and it has no other holder")),
        (true, true) => None,
    }
}

/// Who holds it, for all that can be told.
fn shown(name: &LockName, seen: Option<&Snapshot>) -> String {
    match seen {
        Some(seen) => tables::snapshot(name, seen),
        None => format!(
            "The state of {} makes no sense, so its holders are unknown.",
            plain(name.as_str())
        ),
    }
}

fn ask_confirmation(
    name: &LockName,
    seen: Option<&Snapshot>,
    meant: &EvictTarget,
    tells: bool,
) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage(
            (
                "break asks for confirmation, and there is no terminal",
                "write --yes to break the lock without confirmation",
            )
                .into(),
        ));
    }
    // What was typed before is no answer to what is asked now.
    let _ = tcflush(io::stdin(), FlushArg::TCIFLUSH);
    let mut err = anstream::stderr();
    let question = question(name, seen, meant, tells);
    let mut answer = String::new();
    write!(err, "{question}")
        .and_then(|()| err.flush())
        .and_then(|()| io::stdin().lock().read_line(&mut answer))
        .map_err(|error| {
            let why = Explanation::new("the question cannot be asked on this terminal");
            Failure::Failed(
                why.because(&error).advise("write --yes to break the lock without confirmation"),
            )
        })?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// What is asked of whoever wants to break a lock, in a store that `tells` its holder of that or does not.
fn question(name: &LockName, seen: Option<&Snapshot>, meant: &EvictTarget, tells: bool) -> String {
    let when = if tells {
        "killed"
    } else {
        "killed at its next renewal, at most a third of its lease from now, as this store does \
         not notify it"
    };
    let holders = seen.map_or(&[][..], |seen| &seen.holders);
    let named: Vec<_> = holders.iter().filter(|holder| meant.is(holder)).collect();
    let from = match (named.as_slice(), holders.len()) {
        (_, 0 | 1) => String::new(),
        ([one], _) => {
            format!(
                " from {} with token {}",
                human::contender_name(&one.label, one.details()),
                human::token(one.token)
            )
        }
        (all, _) => format!(" from all {} (with --token, from one)", all.len()),
    };
    format!(
        "{}\nIts holder is not asked. A command under `tenure run` is {when}; any other program \
         continues until it checks, and only a resource that checks tokens refuses it.\nTake {} \
         away{from}? [y/N] ",
        shown(name, seen),
        plain(name.as_str())
    )
}

fn result_message(name: &LockName, seen: Option<&Snapshot>, evicted: &[Contender]) -> String {
    let name = plain(name.as_str());
    if evicted.is_empty() && seen.is_none() {
        return format!(
            "{name} was repaired: its state made no sense. No earlier holder has it any more."
        );
    }
    if evicted.is_empty() {
        return format!("{name} was already free");
    }
    let each = evicted.iter().map(|holder| {
        let (who, token) = (human::quoted(holder), human::token(holder.token));
        let then = match holder.mode {
            Mode::Permits { .. } => {
                "Its permits are free; no token keeps it from continuing.".into()
            }
            _ if holder.token.is_none() => {
                "It has no token, so nothing refuses what it still writes.".into()
            }
            _ => format!(
                "Its token {token} is fenced off: a resource that checks tokens refuses it once it \
                 has seen the next one."
            ),
        };
        format!("{name} was taken from {who}. {then}")
    });
    each.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_token_is_not_called_fenced_off() {
        let name = LockName::new("stock:42").unwrap();
        let mut holder = Contender::new("(another library)".to_owned(), Mode::Exclusive);
        let said = |holder: &Contender| result_message(&name, None, std::slice::from_ref(holder));
        assert!(said(&holder).contains("no token"), "{}", said(&holder));
        holder.token = Token::from_raw(7);
        assert!(said(&holder).contains("7 is fenced off"), "{}", said(&holder));
    }

    #[test]
    fn who_breaks_a_lock_is_told_when_its_command_ends() {
        let name = LockName::new("a").unwrap();
        let asked = |tells| question(&name, None, &EvictTarget::Anybody, tells);
        assert!(asked(true).contains("`tenure run` is killed; any other"));
        let later = asked(false);
        assert!(
            later.contains("killed at its next renewal, at most a third of its lease from now"),
            "{later}"
        );
    }
}
