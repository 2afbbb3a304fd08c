//! `tenure ask-release`: ask the holder of a lock to release it.

use tenure::{Tenure, asking::ReleaseAnswer};
use tenure_core::plain::plain;

use crate::{
    args,
    exit::Failure,
    explanation::Explanation,
    output::{Reporter, human, json, write_answer},
    run::signals::{ENDING, Signals},
};

pub(super) async fn ask_release(
    args: args::AskRelease,
    tenure: Tenure,
    voice: &Reporter,
) -> Result<u8, Failure> {
    let name = args.name.as_str();
    let mut asking = tenure.ask_release(name);
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
            asking.await.map_err(|error| Failure::failed(&error))
        })
        .await?;
    if voice.is_json() {
        write_answer(&json::release_answer(&args.name, &answer))?;
    }
    let told = match answer {
        ReleaseAnswer::Free => format!("{} was already free", plain(name)),
        ReleaseAnswer::Released => format!("{} was released", plain(name)),
        ReleaseAnswer::Held(holders) => {
            let now = human::now();
            let holders: Vec<_> = holders.iter().map(|holder| human::holder(holder, now)).collect();
            let why = Explanation::new(format!(
                "lock {name:?} was not released in time: {}",
                holders.join(", ")
            ));
            let help = format!("wait longer, or take it away: tenure break {name} --reason TEXT");
            let why = why.advise(help);
            return Err(Failure::Busy { why, tried: false, away: false });
        }
        _ => return Ok(0),
    };
    if !voice.is_json() {
        write_answer(&told)?;
    }
    Ok(0)
}
