//! One decision on one name: lock its file, read, decide, write, unlock, and tell who comes next.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tenure_core::{
    Fault, FaultKind, LockName, may_block,
    proto::{
        Timestamp,
        queue::{DecisionContext, NameState, QueueError, Wake},
    },
    runtime::begin_to_block,
};

use crate::{
    decisions::looks::LivenessChecks,
    disk::{patience::Backoff, slots::ReadBuffer},
    error,
    files::{
        layout::Layout,
        state_file::{StateFile, StateFileGuard},
    },
    inner::{Inner, LIMITS},
    members::stake::ContenderCount,
};

/// How long a file may stay locked. A decision takes microseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is decided, and what becomes of a name without a file. It can be asked several times.
pub(crate) struct Decision<F> {
    pub(crate) decide: F,
    /// Whether the name gets a file for it. Without one nobody contends, and nothing is written.
    pub(crate) creates: bool,
    /// Whether it takes a state that cannot be read for one without contenders.
    pub(crate) repairs: bool,
}

/// What a decision answers: a value, and who should ask again.
pub(crate) type DecisionResult<T> = Result<(T, Vec<Wake>), QueueError>;

/// Says that nobody waits for an answer any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    pub(crate) fn give_up(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

enum AttemptOutcome<T> {
    Done(T),
    /// The file was removed: open it again.
    Reopen,
    /// Another process is inside.
    Locked(PathBuf),
    /// Tokens have reached the ceiling.
    Ceiling(u64),
}

impl Inner {
    /// Decides on the calling task. Nothing happens after the future was dropped: it only waits
    /// before it has begun.
    pub(crate) async fn decide<T, F>(
        self: &Arc<Self>,
        name: &LockName,
        decision: Decision<F>,
    ) -> Result<T, Fault>
    where
        T: Send,
        F: Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<T> + Send + Sync,
    {
        let mut patience = Backoff::of(PATIENCE);
        loop {
            match self.attempt_decision(name, &decision, None)? {
                AttemptOutcome::Done(answer) => {
                    if self.tidying.try_begin() {
                        let inner = self.clone();
                        if begin_to_block(move || inner.tidy()).is_err() {
                            // It is done later, where there is no thread for it now.
                            self.tidying.end_sweep();
                        }
                    }
                    return Ok(answer);
                }
                AttemptOutcome::Reopen => tokio::task::yield_now().await,
                AttemptOutcome::Locked(path) => {
                    let pause = patience.pause().ok_or_else(|| error::stays_locked(&path))?;
                    tokio::time::sleep(pause).await;
                }
                AttemptOutcome::Ceiling(time) => {
                    let inner = self.clone();
                    let raised = may_block(move || inner.clock.raise(time)).await;
                    raised.map_err(error::no_thread)??;
                }
            }
        }
    }

    /// Decides on a thread that may block.
    pub(crate) fn decide_blocking<T, F>(
        &self,
        name: &LockName,
        decision: &Decision<F>,
        given_up: &CancelFlag,
    ) -> Result<T, Fault>
    where
        F: Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<T>,
    {
        self.decide_within(&mut Backoff::of(PATIENCE), name, decision, given_up)
    }

    /// The same with no more patience than there is, which several decisions can share.
    pub(crate) fn decide_within<T, F>(
        &self,
        patience: &mut Backoff,
        name: &LockName,
        decision: &Decision<F>,
        given_up: &CancelFlag,
    ) -> Result<T, Fault>
    where
        F: Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<T>,
    {
        loop {
            match self.attempt_decision(name, decision, Some(given_up))? {
                AttemptOutcome::Done(answer) => {
                    self.tidy_when_due();
                    return Ok(answer);
                }
                AttemptOutcome::Reopen => {}
                AttemptOutcome::Locked(path) => {
                    let pause = patience.pause().ok_or_else(|| error::stays_locked(&path))?;
                    std::thread::sleep(pause);
                }
                AttemptOutcome::Ceiling(time) => self.clock.raise(time)?,
            }
        }
    }

    fn attempt_decision<T, F>(
        &self,
        name: &LockName,
        decision: &Decision<F>,
        given_up: Option<&CancelFlag>,
    ) -> Result<AttemptOutcome<T>, Fault>
    where
        F: Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<T>,
    {
        self.check_process()?;
        let Some(file) = self.file(name, decision.creates)? else {
            let at = self.decision_context(&|_| true)?;
            let (answer, _) = (decision.decide)(&mut NameState::default(), &at)?;
            return Ok(AttemptOutcome::Done(answer));
        };
        let Some(section) = file.try_lock_state()? else {
            return Ok(AttemptOutcome::Locked(file.path().to_owned()));
        };
        // From here on nobody else decides on this name, so whoever asks later sees the effect.
        if given_up.is_some_and(CancelFlag::is_given_up) {
            return Err(abandoned());
        }
        let step = self.inside(name, &file, &section, decision)?;
        drop(section);
        match step {
            AttemptOutcome::Done((answer, wake)) => {
                for wake in &wake {
                    self.watch.notify_waiter(wake);
                }
                Ok(AttemptOutcome::Done(answer))
            }
            AttemptOutcome::Reopen => {
                self.files.forget(name, &file);
                Ok(AttemptOutcome::Reopen)
            }
            AttemptOutcome::Locked(path) => Ok(AttemptOutcome::Locked(path)),
            AttemptOutcome::Ceiling(time) => Ok(AttemptOutcome::Ceiling(time)),
        }
    }

    fn inside<T, F>(
        &self,
        name: &LockName,
        file: &StateFile,
        section: &StateFileGuard<'_>,
        decision: &Decision<F>,
    ) -> Result<AttemptOutcome<(T, Vec<Wake>)>, Fault>
    where
        F: Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<T>,
    {
        let ground = self.store_context();
        let mut room = ReadBuffer::new();
        let read = section.read(&ground, &mut room).and_then(|loaded| {
            loaded.as_ref().map_or(Ok(()), |loaded| loaded.check_name(name, file.path()))?;
            Ok(loaded)
        });
        let mut loaded = match read {
            Ok(Some(loaded)) => loaded,
            Ok(None) => return Ok(AttemptOutcome::Reopen),
            Err(fault) if decision.repairs && fault.kind() == FaultKind::Corrupt => {
                section.rebuild_state(&ground, name)?
            }
            Err(fault) => return Err(fault),
        };
        let looks = LivenessChecks::new(|client| self.members.alive(client));
        let alive = |client| looks.alive(client);
        let at = self.decision_context(&alive)?;
        self.keep_fresh(at.now);
        let (before, had) = (loaded.state.last_time, self.count_contenders(&loaded.state));
        let outcome = (decision.decide)(&mut loaded.state, &at)?;
        let last = loaded.state.last_time;
        if last > before && last > self.clock.ceiling() {
            // What was decided is forgotten: nothing was written.
            return Ok(AttemptOutcome::Ceiling(last));
        }
        let has = self.count_contenders(&loaded.state);
        self.members.take_on(had, has, at.now);
        section.write(&ground, &loaded)?;
        self.members.let_go(had, has);
        Ok(AttemptOutcome::Done(outcome))
    }

    fn count_contenders(&self, state: &NameState) -> ContenderCount {
        ContenderCount::of(self.members.own(), state)
    }

    fn file(&self, name: &LockName, create: bool) -> Result<Option<Arc<StateFile>>, Fault> {
        if let Some(file) = self.files.get(name) {
            return Ok(Some(file));
        }
        self.members.check()?;
        let place = Layout::state(name);
        loop {
            let failed = |doing, why| error::io(doing, &self.layout.path_of(&place), why);
            let found = StateFile::open(&self.layout, &place);
            if let Some(file) = found.map_err(|why| failed("open", why))? {
                return Ok(Some(self.files.cache_file(name, file)));
            }
            if !create {
                return Ok(None);
            }
            let created = StateFile::create(&self.store_context(), &place, name);
            if let Some(file) = created.map_err(|why| failed("create", why))? {
                self.tidying.record_created();
                return Ok(Some(self.files.cache_file(name, file)));
            }
        }
    }

    pub(crate) fn decision_context<'a>(
        &self,
        alive: &'a dyn Fn(tenure_core::proto::queue::Client) -> bool,
    ) -> Result<DecisionContext<'a>, Fault> {
        let clock = self.machine.clock();
        let now = clock.now();
        if now == Timestamp::NEVER {
            // Every lease would seem to have ended.
            return Err(Fault::new(
                FaultKind::Misconfigured,
                "the machine's clock since boot cannot be read",
                "see what keeps this process from reading clocks (seccomp, an old kernel)",
            ));
        }
        Ok(DecisionContext {
            now,
            wall: clock.wall(),
            limits: &LIMITS,
            alive,
            reachable: &|_| true,
        })
    }
}

pub(crate) fn abandoned() -> Fault {
    Fault::new(FaultKind::Unreachable, "the caller gave up before it began", "try again")
}
