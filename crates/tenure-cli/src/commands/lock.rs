//! `tenure lock`: a lock that stays held when this command is over.

use std::path::Path;

use tenure::{
    DetachError, Fault, Tenure,
    config::Config,
    store::{Capabilities, Reason},
};

use crate::{
    args,
    exit::Failure,
    handle::{
        file,
        replace::{HandleReplacePolicy, PendingHandleFile},
    },
    output::{
        Reporter,
        handing_over::{check_stdout_readable, hand_over},
        json, write_answer,
    },
    run::{
        acquire::{acquire, open_store},
        detaching::{DetachedHold, NotDetached, check_lease_length, detach},
        patience::WaitTimer,
        signals::{ENDING, Signals},
    },
    settings::{LockKind, RunSettings},
    store,
};

pub(super) async fn lock(
    args: &args::Lock,
    config: &Config,
    voice: &Reporter,
) -> Result<u8, Failure> {
    if args.handle.as_deref() == Some(Path::new("-")) {
        return Err(Failure::Usage(
            (
                "--handle - names no file",
                "leave it out to print the handle, or write ./- for a file of that name",
            )
                .into(),
        ));
    }
    if args.handle.is_none() {
        check_stdout_readable()?;
    }
    let plan = RunSettings::for_lock(args, config)?;
    voice.set_holder_label(plan.event_label());
    let wait = WaitTimer::begin(plan.patience);
    let mut signals = Signals::new();
    signals.listen(&ENDING).map_err(Failure::failed)?;
    let tenure =
        signals.unless_ended(open_store(config, args.name.as_str(), &plan, &wait, voice)).await?;
    store::report_location(&tenure, config, voice);
    let held = signals.unless_ended(acquire_and_detach(args, &plan, &wait, &tenure, voice)).await;
    let done = match held {
        // From here on no signal keeps the handle from whoever waits for it.
        Ok(stays) => deliver_handle(args, &stays, &tenure, voice).await,
        Err(failure) => Err(failure),
    };
    super::close_store(&tenure, &done).await;
    done
}

/// Takes the lock and detaches it.
async fn acquire_and_detach(
    args: &args::Lock,
    plan: &RunSettings,
    wait: &WaitTimer,
    tenure: &Tenure,
    voice: &Reporter,
) -> Result<DetachedHold, Failure> {
    // All that can be refused is refused before anything is taken.
    if let Some(fault) = detach_fault(tenure.store().capabilities()) {
        return Err(super::store_failure(tenure, &args.name, &fault));
    }
    check_lease_length(tenure, &args.name, plan.kind.of_name(), args.lease)?;
    let replaces = match plan.kind {
        // Whoever holds the lock alone knows that what an older handle was of is over.
        LockKind::Mutex => HandleReplacePolicy::OlderOf {
            name: args.name.clone(),
            store: tenure.store().kind().to_owned(),
        },
        _ => HandleReplacePolicy::None,
    };
    let file = args.handle.as_deref().map(|path| PendingHandleFile::new(path, replaces));
    let file = file.transpose().map_err(Failure::usage)?;
    let held = acquire(tenure, &[&args.name], plan, wait, voice).await?;
    detach(held, args.lease, file).await.map_err(not_detached)
}

/// Why nothing stays held in a store, if that is so.
fn detach_fault(can: &Capabilities) -> Option<Fault> {
    const NO: Reason = Reason {
        what: "this store holds no lock without a process",
        help: "run everything that needs the lock under one `tenure run`, or use another store",
    };
    (!can.detach).then(|| can.reasons.detach.unwrap_or(NO).into())
}

fn not_detached(not: NotDetached) -> Failure {
    match not {
        NotDetached::Unwritten(why) => {
            Failure::Failed(why.append_message("so the lock is released"))
        }
        NotDetached::Refused(error, written) => {
            // In doubt the file may be what a hold is released by.
            if let Some((path, handle)) = written
                && !matches!(error, DetachError::InDoubt(_))
            {
                let _ = file::remove(&path, &handle);
            }
            match error {
                DetachError::Lost(_) => Failure::Lost(error.into()),
                _ => Failure::failed(error),
            }
        }
    }
}

/// Gives the handle to whoever asked for it, and the lock back if nobody takes it.
async fn deliver_handle(
    args: &args::Lock,
    stays: &DetachedHold,
    tenure: &Tenure,
    voice: &Reporter,
) -> Result<u8, Failure> {
    let in_file = args.handle.is_some();
    let answered =
        |shows_handle| json::lock_answer(&stays.handle, stays.token, stays.left, shows_handle);
    let told = match (voice.is_json(), in_file) {
        (true, true) => write_answer(&answered(false)),
        (true, false) => hand_over(&answered(true)),
        (false, true) => Ok(()),
        (false, false) => hand_over(&stays.handle.expose()),
    };
    if let Err(failure) = told {
        if !in_file {
            let _ = tenure.release_detached(&stays.handle).await;
        }
        return Err(failure);
    }
    voice.show(&stays.event());
    Ok(0)
}

#[cfg(test)]
mod tests {
    use tenure::store::{MemoryStore, Store};

    use super::*;

    #[test]
    fn a_store_that_keeps_no_hold_says_why() {
        let mut can = MemoryStore::new().capabilities().clone();
        assert!(detach_fault(&can).is_none());
        can.detach = false;
        assert!(detach_fault(&can).unwrap().to_string().contains("without a process"));
        can.reasons.detach = Some(Reason { what: "its own", help: "reason" });
        assert!(detach_fault(&can).unwrap().to_string().contains("its own"));
    }
}
