//! `tenure run --attach`: the lock that a command runs under is held already, by a handle.

use std::time::Duration;

use tenure::{Handle, Tenure};

use crate::{
    args,
    exit::Failure,
    handle::{
        read::{LoadedHandle, given_to_run},
        replace::{HandleReplacePolicy, PendingHandleFile},
    },
    run::{
        detaching::{EndAction, check_lease_length},
        held::AnyGuard,
    },
    settings::RunSettings,
};

/// What is attached, and where its next handle goes if it is detached again.
#[derive(Debug)]
pub(super) struct PendingAttach {
    handle: Handle,
    again: Option<(Duration, PendingHandleFile)>,
}

impl PendingAttach {
    /// Reads the handle, and sees that the file can have the next one before any work is done.
    pub(super) fn from_args(args: &args::Run) -> Result<Self, Failure> {
        let LoadedHandle { handle, file } = given_to_run(args.handle.as_deref())?;
        if let Some(name) = args.name.as_ref().filter(|name| *name != handle.name()) {
            let what = format!("the handle is of lock {:?}, not of {name:?}", handle.name());
            let help = "leave the name out, or give another handle";
            return Err(Failure::Usage((what, help).into()));
        }
        let lease = args.lease.unwrap_or(handle.lease());
        let prepare = |file| {
            PendingHandleFile::new(file, HandleReplacePolicy::This(Box::new(handle.clone())))
                .map_err(Failure::usage)
        };
        let prepared = file.as_deref().map(prepare).transpose()?;
        Ok(Self { handle, again: prepared.map(|file| (lease, file)) })
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// What is held from now on, and what becomes of it in the end.
    pub(super) async fn attach(
        self,
        tenure: &Tenure,
        plan: &RunSettings,
    ) -> Result<(AnyGuard, EndAction), Failure> {
        if let Some((lease, _)) = &self.again {
            check_lease_length(tenure, self.handle.name(), self.handle.kind(), *lease)?;
        }
        let mut attach = tenure.attach(&self.handle).ttl(plan.ttl);
        if let Some(longest) = plan.max_hold {
            attach = attach.max_hold(longest);
        }
        if let Some(label) = &plan.label {
            attach = attach.label(label);
        }
        if let Some(operation) = &plan.operation {
            attach = attach.operation(operation);
        }
        if let Some(reason) = &plan.reason {
            attach = attach.reason(reason);
        }
        let guard = attach.await.map_err(|error| Failure::by_handle(&error))?;
        let at_end =
            self.again.map_or(EndAction::Release, |(lease, file)| EndAction::Detach(lease, file));
        Ok((AnyGuard::One(guard), at_end))
    }
}
