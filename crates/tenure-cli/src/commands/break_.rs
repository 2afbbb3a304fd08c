//! `tenure break`: take a lock from its holder.

use std::io::{self, BufRead, IsTerminal, Write};

use tenure::{
    LockName, Tenure,
    proto::queue::{Contender, Mode, Snapshot},
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
    let seen = store.inspect(&args.name).await.map_err(|fault| at(&tenure, &args.name, &fault))?;
    if !args.yes && !seen.holders.is_empty() && !confirmed(&args.name, &seen)? {
        return Err(Failure::Failed(format!("{} was left as it is", args.name)));
    }
    let evicted = store.evict(&args.name).await.map_err(|fault| at(&tenure, &args.name, &fault))?;
    answer(&if voice.is_json() {
        json::broken(&args.name, &evicted)
    } else {
        told(&args.name, &evicted)
    })?;
    Ok(0)
}

fn confirmed(name: &LockName, seen: &Snapshot) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "break asks before it takes a lock away, and here is no terminal to ask on; \
             add --yes to do it without"
                .into(),
        ));
    }
    let mut err = anstream::stderr();
    let shown = tables::snapshot(name, seen);
    let name = human::plain(name.as_str());
    let question = format!(
        "{shown}\nIts holder is not asked. A command under `tenure run` is killed; anything else works \
         on until it looks, and only what checks tokens refuses it.\nTake {name} away? [y/N] "
    );
    let mut answer = String::new();
    write!(err, "{question}")
        .and_then(|()| err.flush())
        .and_then(|()| io::stdin().lock().read_line(&mut answer))
        .map_err(|error| Failure::Failed(format!("cannot ask on this terminal: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn told(name: &LockName, evicted: &[Contender]) -> String {
    let name = human::plain(name.as_str());
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
