//! What all handles of one opened store share.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    Fault, FaultKind,
    proto::{Timestamp, queue::Limits},
    runtime::ready_to_block,
    store::{Capabilities, LeaseScope, Reasons},
};

use crate::{
    error,
    files::{
        clock_file::TokenClockFile,
        floor::TokenFloorFile,
        layout::{BOOTS, LOCKS, Layout, MEMBERS, Root},
        open_files::OpenFileCache,
        state_file::StoreContext,
        tidying::SweepSchedule,
    },
    hints::watch::HintChannel,
    machine::{Machine, file_system::FileSystem, lock_directory::LockDirectory},
    members::{Members, boots},
    threads,
};

pub(crate) const KIND: &str = "file";

/// A killed holder is noticed by the head of the queue, which looks this often.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) const LIMITS: Limits = Limits {
    claim_window: Duration::from_millis(200),
    position_ttl: Duration::from_secs(10),
    look: LOOK,
    max_waiters: 1_000,
    max_holders: 1_000,
    notices_absence: true,
    kinds_may_mix: true,
};

pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    shared: true,
    permits: true,
    fifo: true,
    handoff: true,
    implicit_handoff: false,
    pass_bits: true,
    lease: LeaseScope::Hold,
    longest_lease: Duration::MAX,
    longest_detached_read_write: Duration::MAX,
    longest_keep: Duration::MAX,
    calls_outlive_drop: false,
    notices_death: true,
    raise: true,
    together: false,
    detach: true,
    slot_records: true,
    history: true,
    kinds_may_mix: LIMITS.kinds_may_mix,
    incarnation: true,
    tells_evictions: true,
    tells_release_requests: false,
    position_ttl: LIMITS.position_ttl,
    place_back: true,
    claim_window: LIMITS.claim_window,
    max_waiters: LIMITS.max_waiters,
    max_holders: LIMITS.max_holders,
    reasons: Reasons::NONE,
};

/// How far opening a store came.
#[derive(Debug, Default)]
pub(crate) struct OpenTrace {
    /// What is being tried.
    pub(crate) at: &'static str,
    /// What went well, and what was found.
    pub(crate) done: Vec<(&'static str, String)>,
}

impl OpenTrace {
    fn begin(&mut self, step: &'static str) {
        self.at = step;
    }

    fn complete_step(&mut self, found: String) {
        self.done.push((self.at, found));
    }
}

/// One opened store.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) machine: Arc<dyn Machine>,
    pub(crate) place: LockDirectory,
    pub(crate) file_system: FileSystem,
    pub(crate) layout: Arc<Layout>,
    pub(crate) boot: [u8; 16],
    pub(crate) clock: TokenClockFile,
    pub(crate) floor: TokenFloorFile,
    pub(crate) members: Arc<Members>,
    pub(crate) watch: HintChannel,
    pub(crate) files: OpenFileCache,
    pub(crate) tidying: SweepSchedule,
}

impl Inner {
    pub(crate) fn open(
        place: LockDirectory,
        machine: Arc<dyn Machine>,
    ) -> Result<Arc<Self>, Fault> {
        Self::open_traced(place, machine, &mut OpenTrace::default())
    }

    /// Opens the store step by step, and writes down how far it came.
    pub(crate) fn open_traced(
        place: LockDirectory,
        machine: Arc<dyn Machine>,
        journal: &mut OpenTrace,
    ) -> Result<Arc<Self>, Fault> {
        let chosen = place.chosen;
        journal.begin("boot");
        let boot = machine.boot_id()?;
        let digits = format!("{:032x}", u128::from_be_bytes(boot));
        journal.complete_step(format!("this machine tells its boots apart: {}", &digits[..8]));
        journal.begin("place");
        let root = Root::prepare(&*machine, &place.dir)?;
        let path = root.path();
        journal.complete_step(format!("{}, {chosen}", path.display()));
        journal.begin("file system");
        let file_system = machine
            .file_system(path)
            .map_err(|why| error::io("look at the file system of", path, why))?;
        file_system.check(path)?;
        journal.complete_step(file_system.to_string());
        journal.begin("format");
        // The clock comes first: it marks the directory as a store.
        let clock = TokenClockFile::find(machine.clone(), &root, boot)?;
        journal.complete_step("one that this version knows".to_owned());
        journal.begin("files");
        let (boots, own_boot) = (root.make(&root.dir, BOOTS)?, boots::name_of(boot));
        let boot_dir = root.make(&boots, &own_boot)?;
        let members = root.make(&boot_dir, MEMBERS)?;
        let locks = root.make(&boot_dir, LOCKS)?;
        let layout = Arc::new(Layout { root, boot: boot_dir, locks });
        let members = Arc::new(Members::join(layout.clone(), members, machine.clock().now())?);
        boots::refuse_living(&boots, &own_boot)?;
        let clock = clock.start()?;
        let floor = TokenFloorFile::open(machine.clone(), &layout, boot)?;
        // What is held is renewed there, also when the system has no thread to spare.
        ready_to_block().and_then(|()| threads::ensure_worker()).map_err(error::no_thread)?;
        let watch = HintChannel::open(members.clone());
        let inner = Arc::new(Self {
            machine,
            place,
            file_system,
            layout,
            boot,
            clock,
            floor,
            members,
            watch,
            files: OpenFileCache::default(),
            tidying: SweepSchedule::default(),
        });
        boots::remove_dead(&boots, &own_boot);
        inner.remove_unfinished(&boots);
        inner.tidy_at_open();
        Ok(inner)
    }

    pub(crate) fn store_context(&self) -> StoreContext<'_> {
        StoreContext {
            machine: &*self.machine,
            boot: self.boot,
            layout: &self.layout,
            clock: &self.clock,
            floor: &self.floor,
        }
    }

    /// Refuses a store that came through a fork: both processes would be in every section at
    /// once, since a kernel lock belongs to the open file that they share.
    pub(crate) fn check_process(&self) -> Result<(), Fault> {
        if self.members.are_ours() {
            return Ok(());
        }
        Err(Fault::new(
            FaultKind::Misconfigured,
            format!(
                "this store was opened before this process ({}) was forked",
                std::process::id()
            ),
            "open the store again after a fork, and use no guard from before it",
        ))
    }

    /// Keeps the files that the store stands on from looking as if nobody needed them.
    pub(crate) fn keep_fresh(&self, now: Timestamp) {
        if self.members.keep_fresh(now) {
            self.clock.touch();
            self.floor.touch();
        }
    }
}
