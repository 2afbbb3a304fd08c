//! `tenure run`: a command under a lock.

use std::time::Instant;

use tenure::{LockName, config::Config};

use crate::{
    args,
    exit::Failure,
    output::{Event, Voice},
    run::{
        acquire::acquire,
        signals::{ENDING, Signals},
        under_lock::UnderLock,
    },
    settings::Plan,
};

pub(super) async fn run(args: args::Run, config: &Config, voice: &Voice) -> Result<u8, Failure> {
    let plan = Plan::to_run(&args, config)?;
    let mut signals = Signals::default();
    signals.listen(&ENDING).map_err(Failure::failed)?;
    let tenure = tokio::select! {
        tenure = super::open(config) => tenure?,
        signal = signals.next() => return Err(Failure::Interrupted { signal: signal as i32 }),
    };
    let store = tenure.store();
    voice.event(&Event::Store { kind: store.kind(), location: &store.location() });

    let asked = Instant::now();
    let names: Vec<&LockName> = args.names().collect();
    let held = tokio::select! {
        held = acquire(&tenure, &names, &plan, voice) => held,
        signal = signals.next() => Err(Failure::Interrupted { signal: signal as i32 }),
    };
    let done = match held {
        Ok(held) => {
            let waited = asked.elapsed();
            let under_lock = UnderLock {
                names: &names,
                command: &args.hold.command,
                tenure: &tenure,
                plan: &plan,
                voice,
            };
            under_lock.run(held, &mut signals, waited).await.map(|done| done.code)
        }
        Err(failure) => Err(failure),
    };
    super::leave(&tenure, &done).await;
    done
}
