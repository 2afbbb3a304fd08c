//! `tenure ask-release`: ask the holder of a lock to release it.

use tenure::{
    LockName, Tenure,
    asking::ReleaseAnswer,
    inspect::{Contender, Snapshot},
};
use tenure_core::plain::plain;

use crate::{
    args,
    exit::Failure,
    explanation::Explanation,
    output::{Event, Reporter, human, json, write_answer},
    run::signals::{ENDING, Signals},
};

pub(super) async fn ask_release(
    args: args::AskRelease,
    tenure: Tenure,
    voice: &Reporter,
) -> Result<u8, Failure> {
    let mut asking = tenure.ask_release(&args.name);
    if let Some(reason) = args.reason {
        asking = asking.reason(reason);
    }
    if let Some(wait) = args.wait {
        asking = asking.wait(wait);
    }
    let mut signals = Signals::new();
    signals.listen(&ENDING).map_err(Failure::failed)?;
    // The request ends with this command.
    let answer = signals
        .unless_interrupted("interrupted while waiting for the holder", async {
            let seen = tenure.inspect(&args.name).await;
            let mut holders = seen.map_err(|error| Failure::failed(&error))?.holders;
            holders.retain(|holder| !holder.lingering);
            if !holders.is_empty() {
                voice.show(&Event::Asking { name: args.name.as_str(), holders: &holders });
            }
            asking.await.map_err(|error| Failure::failed(&error))
        })
        .await?;
    // Another one may have it by now, or it stays taken after its release.
    let now = match &answer {
        ReleaseAnswer::Held(holders) => Snapshot::new(holders.clone(), Vec::new()),
        _ => tenure.inspect(&args.name).await.map_err(|error| Failure::failed(&error))?,
    };
    if voice.is_json() {
        write_answer(&json::release_answer(&args.name, &answer, &now.holders))?;
    }
    if let ReleaseAnswer::Held(holders) = answer {
        return Err(not_released(&args.name, &tenure, &holders));
    }
    if !voice.is_json() {
        write_answer(&message(&args.name, &answer, &now.holders))?;
    }
    Ok(0)
}

fn message(name: &LockName, answer: &ReleaseAnswer, now: &[Contender]) -> String {
    let name = plain(name.as_str());
    let holders = each(now);
    match answer {
        ReleaseAnswer::Free if now.is_empty() => format!("{name} was already free"),
        ReleaseAnswer::Free => format!("{name} had no holder to ask; it is {holders}"),
        _ if now.is_empty() => format!("{name} was released"),
        _ => format!("{name} was released, and is now {holders}"),
    }
}

fn not_released(name: &LockName, tenure: &Tenure, holders: &[Contender]) -> Failure {
    let store = tenure.store().location();
    let what =
        format!("lock {:?} in {store} was not released in time: {}", name.as_str(), each(holders));
    let help = format!("wait longer, or take it away: tenure break {name} --reason TEXT");
    let why = Explanation::new(what).advise(help);
    let why = why.held_by(name.as_str(), store, holders.first().cloned()).kind(Some("timed_out"));
    Failure::Busy { why, tried: false, away: false }
}

fn each(holders: &[Contender]) -> String {
    let now = human::now();
    let holders: Vec<_> = holders.iter().map(|holder| human::holder(holder, now)).collect();
    holders.join(", ")
}
