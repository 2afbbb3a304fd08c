//! `tenure break`: take a lock from its holder.

use std::io::{self, BufRead, IsTerminal, Write};

use tenure::{
    Fault, FaultKind, LockName, Tenure,
    look::{Contender, Mode, Snapshot},
};

use super::at;
use crate::{
    args,
    exit::Failure,
    output::{Voice, answer, human, json, tables},
};

pub(super) async fn break_(
    args: args::Break,
    tenure: Tenure,
    voice: &Voice,
) -> Result<u8, Failure> {
    let store = tenure.store();
    let mut seen = match store.inspect(&args.name).await {
        Ok(seen) => Some(seen),
        // Nobody can be told of, and to break the lock is what mends it.
        Err(fault) if fault.kind() == FaultKind::Corrupt => None,
        Err(fault) => return Err(at(&tenure, &args.name, &fault)),
    };
    let is_free = seen.as_ref().is_some_and(|seen| seen.holders.is_empty());
    if !args.yes && !is_free {
        let tells = store.capabilities().tells_evictions;
        if !confirmed(&args.name, seen.as_ref(), tells)? {
            return Err(Failure::Declined(format!("{} was left as it is", args.name)));
        }
        // Who was asked may have thought for long.
        seen = store.inspect(&args.name).await.ok().or(seen);
    }
    let evicted = match store.evict(&args.name).await {
        Ok(evicted) => evicted,
        Err(fault) => return Err(doubtful(&tenure, &args.name, seen.as_ref(), &fault).await),
    };
    answer(&if voice.is_json() {
        json::broken(&args.name, &evicted)
    } else {
        told(&args.name, seen.as_ref(), &evicted)
    })?;
    Ok(0)
}

/// Why it is not known whether it is broken, and who holds it now, as far as that can be seen.
async fn doubtful(
    tenure: &Tenure,
    name: &LockName,
    before: Option<&Snapshot>,
    fault: &Fault,
) -> Failure {
    if fault.kind() != FaultKind::InDoubt {
        return at(tenure, name, fault);
    }
    let shown = human::plain(name.as_str());
    let told = match (before, tenure.store().inspect(name).await) {
        (Some(before), Ok(now)) => after_doubt(before, &now),
        _ => None,
    };
    let told = told.unwrap_or_else(|| "it may have been taken away: look with tenure show".into());
    Failure::Failed(format!(
        "lock {name:?} in {}: {fault}; {shown}: {told}",
        tenure.store().location()
    ))
}

/// What is seen behind a break of which nobody said whether it was done; nothing if nobody held it before.
fn after_doubt(before: &Snapshot, now: &Snapshot) -> Option<String> {
    let each = |holders: &mut dyn Iterator<Item = &Contender>| {
        let each = holders.map(|holder| {
            format!("{} with token {}", human::who(&holder.label), human::token(holder.token))
        });
        each.collect::<Vec<_>>().join(", ")
    };
    let holds = |holder: &&Contender| now.holders.iter().any(|it| it.token == holder.token);
    let gone = each(&mut before.holders.iter().filter(|holder| !holds(holder)));
    let there = each(&mut now.holders.iter());
    match (gone.is_empty(), there.is_empty()) {
        (_, false) => Some(format!("it is held by {there} now")),
        (false, true) => Some(format!("{gone} holds it no more, and nobody else does")),
        (true, true) => None,
    }
}

/// Who holds it, for all that can be told.
fn shown(name: &LockName, seen: Option<&Snapshot>) -> String {
    match seen {
        Some(seen) => tables::snapshot(name, seen),
        None => format!(
            "What the store keeps of {} makes no sense, so nobody can be told who holds it.",
            human::plain(name.as_str())
        ),
    }
}

fn confirmed(name: &LockName, seen: Option<&Snapshot>, tells: bool) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "break asks before it takes a lock away, and here is no terminal to ask on; \
             add --yes to do it without"
                .into(),
        ));
    }
    let mut err = anstream::stderr();
    let question = question(name, seen, tells);
    let mut answer = String::new();
    write!(err, "{question}")
        .and_then(|()| err.flush())
        .and_then(|()| io::stdin().lock().read_line(&mut answer))
        .map_err(|error| Failure::Failed(format!("cannot ask on this terminal: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// What is asked of whoever wants to break a lock, in a store that `tells` its holder of that or does not.
fn question(name: &LockName, seen: Option<&Snapshot>, tells: bool) -> String {
    let when = if tells {
        "killed"
    } else {
        "killed when it renews next, a third of its lease later at most, as this store tells it nothing"
    };
    format!(
        "{}\nIts holder is not asked. A command under `tenure run` is {when}; anything else works \
         on until it looks, and only what checks tokens refuses it.\nTake {} away? [y/N] ",
        shown(name, seen),
        human::plain(name.as_str())
    )
}

fn told(name: &LockName, seen: Option<&Snapshot>, evicted: &[Contender]) -> String {
    let name = human::plain(name.as_str());
    if evicted.is_empty() && seen.is_none() {
        return format!(
            "{name} was repaired: what the store kept of it made no sense. Whoever held it holds it \
             no more."
        );
    }
    if evicted.is_empty() {
        return format!("{name} was free already");
    }
    let each = evicted.iter().map(|holder| {
        let (who, token) = (human::who(&holder.label), human::token(holder.token));
        let then = match holder.mode {
            Mode::Permits { .. } => {
                "What it took is free; no token keeps it from working on.".into()
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
    fn who_breaks_a_lock_is_told_when_its_command_ends() {
        let name = LockName::new("a").unwrap();
        assert!(question(&name, None, true).contains("`tenure run` is killed; anything"));
        let later = question(&name, None, false);
        assert!(
            later.contains("killed when it renews next, a third of its lease later"),
            "{later}"
        );
    }
}
