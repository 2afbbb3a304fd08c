//! One session with the ensemble, and what is known of its life.

pub(crate) mod pause;
pub(crate) mod probe;
pub(crate) mod sessions;

use std::{
    fmt,
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tenure_core::{Clock, Fault, SystemClock, Timestamp};
use tokio::time::timeout;

use crate::{
    ZookeeperOptions,
    client::{Client, CreateMode, CreateOptions, Error, MultiWriteError, SessionState, Stat},
    contenders::{encoding::PROBE, tokens::TokenForm},
    error,
    validity::{self, Heartbeats},
};

/// How many nodes are looked at by one call.
pub(crate) const BATCH: usize = 250;

/// How often a call that found a node missing is sent for the others.
const TRIES: u32 = 8;

/// A session. It ends by itself, or when the last one who uses it drops it.
pub(crate) struct Session {
    client: Client,
    /// Which one of this process.
    number: u64,
    place: String,
    limit: Duration,
    validity: Duration,
    /// Of what a probe is created and gone again in one call.
    probe: String,
    options: Arc<ZookeeperOptions>,
    life: Mutex<SessionValidity>,
    replaced: AtomicBool,
}

struct SessionValidity {
    /// From when the validity counts: the sending of the last write that the ensemble committed in this session, or
    /// somewhat before it if nothing was said for long before that.
    proven: Timestamp,
    /// When that write went out.
    written: Timestamp,
    said: Heartbeats,
    /// Since when there is this connection.
    connected: Timestamp,
}

impl Session {
    /// A session that has just begun; `sent` is when it was asked for.
    pub(crate) fn new(
        client: Client,
        number: u64,
        options: &Arc<ZookeeperOptions>,
        place: &str,
        sent: Timestamp,
    ) -> Result<Self, Fault> {
        let length = client.session_timeout();
        let validity = validity::guaranteed_validity(length, options.tick);
        // A third of it has to be enough for a renewal.
        if validity < Duration::from_millis(100) {
            return Err(error::too_short(place, length));
        }
        Ok(Self {
            probe: format!("{}/{PROBE}{:016x}", options.base, client.session_id().0),
            options: options.clone(),
            client,
            number,
            place: place.to_owned(),
            limit: options.response_timeout.min(validity / 3),
            validity,
            // A session that begins is a write.
            life: Mutex::new(SessionValidity {
                proven: sent,
                written: sent,
                said: Heartbeats::new(sent, length, options.tick),
                connected: sent,
            }),
            replaced: AtomicBool::new(false),
        })
    }

    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// How long an answer is waited for.
    pub(crate) const fn limit(&self) -> Duration {
        self.limit
    }

    pub(crate) const fn validity(&self) -> Duration {
        self.validity
    }

    /// How long the ensemble keeps it.
    pub(crate) fn length(&self) -> Duration {
        self.client.session_timeout()
    }

    /// Whether nothing of it can count any more.
    pub(crate) fn is_over(&self) -> bool {
        self.replaced.load(Ordering::Acquire) || self.client.state().is_terminated()
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.client.state() == SessionState::SyncConnected
    }

    /// It has a connection again.
    pub(crate) fn reconnected(&self, at: Timestamp) {
        self.lock_validity().connected = at;
    }

    /// Says something, so that it is known when a server has heard of it last: what the client says by itself it
    /// does not tell.
    pub(crate) async fn send_heartbeat(&self) {
        if !self.is_connected() {
            return;
        }
        let sent = SystemClock.now();
        let answer = timeout(self.limit, self.client.check_stat("/")).await;
        if let Ok(Ok(_) | Err(Error::NoAuth)) = answer {
            self.lock_validity().said.add(sent, SystemClock.now());
        }
    }

    /// From when its validity counts: about when the last write went out that was committed in it.
    pub(crate) fn proven(&self) -> Timestamp {
        self.lock_validity().proven
    }

    /// Whether a grant at `now` needs a write first: the last one is too old, or was seen on a connection
    /// before this one.
    pub(crate) fn needs_proof(&self, now: Timestamp) -> bool {
        self.is_proof_older(now, validity::oldest_proof(self.validity, self.options.grace))
    }

    /// When to ask again, if a grant at `now` would end before a renewal counts: the servers have just stood still.
    pub(crate) fn vouches_from(&self, now: Timestamp) -> Option<Timestamp> {
        let life = self.lock_validity();
        let end = life.proven.saturating_add(self.validity);
        life.said.too_soon(now, end, self.options.grace, (self.length(), self.options.tick))
    }

    /// Whether it is time for a write while a name is waited for, so that most grants need none.
    pub(crate) fn needs_proof_waiting(&self, now: Timestamp) -> bool {
        self.is_proof_older(now, self.validity / 2)
    }

    fn is_proof_older(&self, now: Timestamp, oldest: Duration) -> bool {
        let life = self.lock_validity();
        life.written < life.connected || now.since(life.proven) > oldest
    }

    /// A write that went out at `sent` was committed, in the session with this number.
    pub(crate) fn record_commit(&self, sent: Timestamp, session: i64) -> Result<(), Fault> {
        if session != self.client.session_id().0 {
            // Some servers go on with another session and do not say so.
            self.replaced.store(true, Ordering::Release);
            return Err(error::replaced(&self.place));
        }
        let mut life = self.lock_validity();
        life.written = life.written.max(sent);
        if let Some(from) = life.said.counts_from(sent) {
            life.proven = life.proven.max(from);
        }
        Ok(())
    }

    /// An answer in time.
    pub(crate) async fn read<T>(
        &self,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<Result<T, Error>, Fault> {
        self.call(call, false).await
    }

    /// The same for a call that may have taken effect if no answer comes.
    pub(crate) async fn write<T>(
        &self,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<Result<T, Error>, Fault> {
        self.call(call, true).await
    }

    /// The answer, where it is one of those that tell of nodes; a fault for all others.
    async fn call<T>(
        &self,
        call: impl Future<Output = Result<T, Error>>,
        writes: bool,
    ) -> Result<Result<T, Error>, Fault> {
        let answer = timeout(self.limit, call).await;
        match answer.map_err(|_| error::timed_out(&self.place, writes))? {
            Ok(answer) => Ok(Ok(answer)),
            Err(
                told @ (Error::NoNode | Error::NodeExists | Error::NotEmpty | Error::BadVersion),
            ) => Ok(Err(told)),
            Err(error) => Err(self.fault(error, writes)),
        }
    }

    pub(crate) fn fault(&self, error: Error, writes: bool) -> Fault {
        error::of_call(&self.place, error, writes)
    }

    /// Makes what was committed before visible on this connection.
    pub(crate) async fn sync(&self) -> Result<(), Fault> {
        let synced = self.read(self.client.sync(self.base())).await?;
        // Nothing is there yet; what can be read then is what was committed.
        synced
            .or_else(|told| if told == Error::NoNode { Ok(()) } else { Err(told) })
            .map_err(|told| self.fault(told, false))
    }

    /// What is known of a node by all that was committed before this call, also at a server that is behind.
    pub(crate) async fn stat(&self, path: &str) -> Result<Option<Stat>, Fault> {
        // A session is answered in its order. A request goes out when it is made, so it is made after the other one.
        let stat = async { self.read(self.client.check_stat(path)).await };
        let (synced, stat) = futures_util::future::join(self.sync(), stat).await;
        synced?;
        Ok(stat?.ok().flatten())
    }

    /// Commits a write in this session that changes nothing, and says of each of these nodes whether it is
    /// there at that moment.
    pub(crate) async fn prove(&self, paths: &[&str]) -> Result<Vec<bool>, Fault> {
        let mut there = vec![true; paths.len()];
        for batch in (0..paths.len().max(1)).step_by(BATCH) {
            self.prove_batch(paths, &mut there, batch).await?;
        }
        Ok(there)
    }

    async fn prove_batch(
        &self,
        paths: &[&str],
        there: &mut [bool],
        from: usize,
    ) -> Result<(), Fault> {
        for _ in 0..TRIES {
            let batch: Vec<_> = (from..paths.len().min(from + BATCH))
                .filter(|&at| there.get(at) == Some(&true))
                .collect();
            let missing = self.prove_once(paths, &batch).await?;
            let Some(missing) = missing else { return Ok(()) };
            for at in missing {
                if let Some(there) = there.get_mut(at) {
                    *there = false;
                }
            }
        }
        Err(error::timed_out(&self.place, false))
    }

    /// Nothing if all are there, else some of those that are not; none of them if it is to be sent again.
    async fn prove_once(
        &self,
        paths: &[&str],
        batch: &[usize],
    ) -> Result<Option<Vec<usize>>, Fault> {
        let refused = |told| self.fault(told, false);
        // Made by a call of its own: only its answer tells in which session it was made. Both are under way at once.
        let ephemeral = self.creates(CreateMode::Ephemeral);
        let sent = SystemClock.now();
        let created = self.client.create(&self.probe, b"", &ephemeral);
        let mut writer = self.client.new_multi_writer();
        writer.add_delete(&self.probe, None).map_err(refused)?;
        for &at in batch {
            writer.add_check_version(paths.get(at).copied().unwrap_or("/"), -1).map_err(refused)?;
        }
        let both = futures_util::future::join(created, writer.commit());
        let answers = timeout(self.limit, both).await;
        let (created, answer) = answers.map_err(|_| error::timed_out(&self.place, false))?;
        let owner = match created {
            Ok((stat, _)) => Some(stat.ephemeral_owner),
            // A call before this one made it, and was not answered, or failed by a node that is missing.
            Err(Error::NodeExists) => None,
            Err(Error::NoNode) => {
                // Shifted tokens are recorded by the first lock.
                let record = match self.options.tokens {
                    TokenForm::Shifted => Vec::new(),
                    TokenForm::Czxid => TokenForm::Czxid.record(),
                };
                self.make(self.base(), &record).await?;
                return Ok(Some(Vec::new()));
            }
            Err(error) => return Err(refused(error)),
        };
        match answer {
            Ok(_) => {
                let Some(owner) = owner else { return Ok(Some(Vec::new())) };
                self.record_commit(sent, owner)?;
                Ok(None)
            }
            Err(MultiWriteError::OperationFailed { index, source: Error::NoNode })
                if index >= 1 =>
            {
                // More may be missing: who is not there any more is told by a look at each.
                let first = batch.get(index - 1).copied();
                let mut missing: Vec<_> = first.into_iter().collect();
                missing.extend(self.not_there(paths, batch).await?);
                Ok(Some(missing))
            }
            Err(MultiWriteError::OperationFailed { source: Error::NoNode, .. }) => {
                Ok(Some(Vec::new()))
            }
            Err(error) => Err(self.fault(Error::from(error), false)),
        }
    }

    async fn not_there(&self, paths: &[&str], batch: &[usize]) -> Result<Vec<usize>, Fault> {
        let mut missing = Vec::new();
        let looks = batch.iter().map(|&at| async move {
            let path = paths.get(at).copied().unwrap_or("/");
            self.read(self.client.check_stat(path)).await.map(|found| (at, found))
        });
        for looked in futures_util::future::join_all(looks).await {
            if let (at, Ok(None)) = looked? {
                missing.push(at);
            }
        }
        Ok(missing)
    }

    /// Makes a directory and those above it. The base path, if it is one of them, gets these data. Without any it goes
    /// again where no lock follows: one that stays leaves bare tokens out.
    pub(crate) async fn make(&self, path: &str, record: &[u8]) -> Result<(), Fault> {
        if path == "/" {
            return Ok(());
        }
        let directories = self.options.layout.directories();
        let base = if record.is_empty() { CreateMode::Container } else { self.options.base_path() };
        let how = |dir: &str| {
            if dir == self.base() {
                (record, self.creates(base))
            } else {
                (&b""[..], self.creates(directories))
            }
        };
        let made = self.write(self.client.mkdir(path, how)).await?;
        made.map_err(|told| self.fault(told, false))
    }

    /// How a node is created.
    pub(crate) fn creates(&self, mode: CreateMode) -> CreateOptions<'_> {
        mode.with_acls(self.options.access.acls())
    }

    /// What all locks are under.
    pub(crate) fn base(&self) -> &str {
        if self.options.base.is_empty() { "/" } else { &self.options.base }
    }

    fn lock_validity(&self) -> MutexGuard<'_, SessionValidity> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionTask").field("number", &self.number).finish_non_exhaustive()
    }
}
