//! Members that restart, on a clock that stands still unless somebody sleeps.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::{
    Clock, LockName, MemoryStore, Saved, SeededEntropy, Store, Timestamp, clock::Sleep,
    proto::quorum::mark,
};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_sim::SimClock;
use tenure_testkit::{
    Random,
    fault::{Faults, Unreliable},
};

use crate::{
    leftovers::Connect,
    support::{ask, name, token},
};

/// The longest lease.
pub(crate) const LONGEST: Duration = Duration::from_secs(10);
/// For how long a member is kept out: the longest lease, and twice 1 % of it and 2 ms. Not taken from
/// the code, so that nobody changes by chance what the page of the quorum says.
pub(crate) const KEPT_OUT: Duration = Duration::from_millis(10_204);
pub(crate) const MOMENT: Duration = Duration::from_millis(1);

/// What a member remembers when it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    None,
    /// What it had when the quorum was founded, or when it was saved last.
    Part,
    All,
}

impl Memory {
    pub(crate) const EACH: [Self; 3] = [Self::None, Self::Part, Self::All];
}

/// A quorum whose members restart.
pub(crate) struct Drill {
    pub(crate) clock: SimClock,
    pub(crate) stores: Vec<MemoryStore>,
    saved: Vec<Saved>,
    /// What goes wrong on the way to each member for who comes.
    faults: Mutex<Vec<Faults>>,
    durable: bool,
    processes: AtomicU64,
    asks: AtomicU64,
}

/// A clock that wakes nobody in time.
#[derive(Debug)]
struct NoTimers(SimClock);

impl Clock for NoTimers {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn wall(&self) -> u64 {
        self.0.wall()
    }

    fn sleep_until(&self, at: Timestamp) -> Sleep {
        self.0.sleep_until(at.saturating_add(LONGEST * 1_000))
    }
}

/// One process that uses it, each by its own way to the members.
pub(crate) struct Client {
    pub(crate) quorum: QuorumStore,
    pub(crate) lines: Vec<Unreliable>,
}

pub(crate) fn calm() -> Faults {
    Faults { patience: Duration::from_secs(60), ..Faults::default() }
}

impl Drill {
    pub(crate) async fn new(members: usize) -> Self {
        Self::with(members, false).await
    }

    pub(crate) async fn with(members: usize, durable: bool) -> Self {
        let clock = SimClock::true_time();
        let store = |_| MemoryStore::with_clock(Arc::new(clock.clone()));
        let stores: Vec<_> = (0..members).map(store).collect();
        let counts = || AtomicU64::new(0);
        let mut drill = Self {
            clock,
            stores,
            saved: Vec::new(),
            faults: Mutex::new(vec![calm(); members]),
            durable,
            processes: counts(),
            asks: counts(),
        };
        assert!(drill.is_granted(&drill.client()).await);
        drill.save();
        drill
    }

    /// One more process, which has seen nothing yet.
    pub(crate) fn client(&self) -> Client {
        self.client_that_says(self.durable)
    }

    pub(crate) fn client_that_says(&self, durable: bool) -> Client {
        self.client_with(durable, Arc::new(self.clock.clone()), Unreliable::without_late_calls)
    }

    /// One whose calls may come late.
    pub(crate) fn client_with_late_calls(&self) -> Client {
        self.client_with(self.durable, Arc::new(self.clock.clone()), Unreliable::new)
    }

    /// One that can be made to stand still: whether an answer comes too late it can tell by no timer,
    /// as when it hears of both at once.
    pub(crate) fn client_without_timers(&self) -> Client {
        let own = Arc::new(NoTimers(self.clock.clone()));
        self.client_with(self.durable, own, Unreliable::without_late_calls)
    }

    fn client_with(&self, durable: bool, own: Arc<dyn Clock>, connect: Connect) -> Client {
        let number = self.processes.fetch_add(1, Ordering::Relaxed);
        let line = |(store, faults): (&MemoryStore, &Faults)| {
            let (store, clock) = (Arc::new(store.clone()), Arc::new(self.clock.clone()));
            connect(store, clock, *faults, Random::new(1), Arc::default())
        };
        let faults = self.faults.lock().unwrap().clone();
        let lines: Vec<_> = self.stores.iter().zip(&faults).map(line).collect();
        let members = lines.iter().map(|line| Arc::new(line.clone()) as Arc<dyn Store>).collect();
        let options = QuorumOptions::new().longest_lease(LONGEST).unwrap().durable_members(durable);
        let entropy = Arc::new(SeededEntropy::new(number));
        let options = options.clock(own).entropy(entropy);
        Client { quorum: QuorumStore::new(members, options).unwrap(), lines }
    }

    /// What goes wrong on the way to a member from now on.
    pub(crate) fn set_faults(&self, known: &Client, member: usize, faults: Faults) {
        self.faults.lock().unwrap()[member] = faults;
        known.lines[member].set_faults(faults);
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) async fn pass(&self, length: Duration) {
        self.clock.sleep_until(self.now().saturating_add(length)).await;
    }

    /// What members come back with that remember a part.
    pub(crate) fn save(&mut self) {
        self.saved = self.stores.iter().map(MemoryStore::save).collect();
    }

    pub(crate) fn restart(&self, member: usize, with: Memory) {
        let store = &self.stores[member];
        match with {
            Memory::None => store.forget(),
            Memory::Part => store.forget_since(&self.saved[member]),
            Memory::All => store.forget_since(&store.save()),
        }
    }

    /// The mark of a member, in words.
    pub(crate) async fn mark(&self, member: usize) -> Option<String> {
        let mark = LockName::new(mark::NAME).unwrap();
        let seen = self.stores[member].inspect(&mark).await.unwrap();
        seen.holders.first().map(|mark| mark.label.clone())
    }

    /// Whether the lock is granted now. It is let go again.
    pub(crate) async fn is_granted(&self, client: &Client) -> bool {
        let number = self.asks.fetch_add(1, Ordering::Relaxed);
        let ask = ask(u8::try_from(number % 200).unwrap(), LONGEST);
        let answer = client.quorum.acquire(&name("a"), &ask).await;
        let granted = answer.is_ok_and(|answer| token(&answer).is_some());
        client.quorum.release(&name("a"), &ask.owner, Duration::ZERO).await.ok();
        self.settle().await;
        granted
    }

    /// What goes on in the background and takes no time comes to its end.
    pub(crate) async fn settle(&self) {
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
    }

    /// Nobody gets the lock before `end`, neither a process that was there before nor one that begins
    /// then, although both ask again and again; and at `end` both do.
    pub(crate) async fn is_locked_out_until(&self, known: &Client, end: Timestamp) {
        let began = self.now();
        let (last, step) = (end.since(began).saturating_sub(MOMENT), end.since(began) / 24);
        assert!(end > began, "nothing to wait for");
        loop {
            let waited = self.now().since(began);
            assert!(!self.is_granted(known).await, "after {waited:?} of {last:?}");
            assert!(!self.is_granted(&self.client()).await, "a new one after {waited:?}");
            if waited == last {
                break;
            }
            self.pass(step.min(last - waited)).await;
        }
        self.pass(MOMENT).await;
        assert!(self.is_granted(&self.client()).await, "a new one is not granted at the end");
        assert!(self.is_granted(known).await, "not granted at the end");
    }

    pub(crate) async fn is_locked_out_for(&self, known: &Client, length: Duration) {
        self.is_locked_out_until(known, self.now().saturating_add(length)).await;
    }

    /// Whoever asks is granted the lock, now and until `length` has passed.
    pub(crate) async fn is_open_for(&self, known: &Client, length: Duration) {
        let (end, step) = (self.now().saturating_add(length), length / 12 + MOMENT);
        loop {
            let rest = end.since(self.now());
            assert!(self.is_granted(known).await, "{rest:?} before the end");
            assert!(self.is_granted(&self.client()).await, "a new one {rest:?} before the end");
            if rest.is_zero() {
                return;
            }
            self.pass(step.min(rest)).await;
        }
    }
}
