//! The way between a client and its store, on which things go wrong.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tenure_core::{Clock, Fault, FaultKind, proto::Timestamp};
use tokio::sync::{Notify, oneshot};

use super::{Faults, Kind, Tally};
use crate::Random;

/// One carrying out of a call.
pub(super) type Call<T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send>>;

/// Carries calls, with faults from a seed.
pub(super) struct Network {
    clock: Arc<dyn Clock>,
    faults: Mutex<Faults>,
    random: Mutex<Random>,
    tally: Arc<Tally>,
    under_way: Arc<AtomicUsize>,
    cut: AtomicBool,
    /// Whether the process stands still.
    still: AtomicBool,
    /// Wakes what waits for it to go on, in the order in which it began to wait: a seed is to be
    /// repeated.
    goes_on: Notify,
    /// Whether calls go on when their callers give them up.
    calls_outlive_drop: bool,
    last_trouble: AtomicU64,
}

/// What becomes of one call.
struct CallFaults {
    refused: bool,
    request_lost: bool,
    reply_lost: bool,
    request_late: Option<Duration>,
    reply_late: Option<Duration>,
    repeated: Option<Duration>,
    patience: Duration,
}

/// One call under way, for as long as it lives.
struct CallInFlight(Arc<AtomicUsize>);

impl CallInFlight {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for CallInFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Network {
    pub(super) fn new(
        clock: Arc<dyn Clock>,
        faults: Faults,
        random: Random,
        tally: Arc<Tally>,
        calls_outlive_drop: bool,
    ) -> Self {
        Self {
            clock,
            faults: Mutex::new(faults),
            random: Mutex::new(random),
            tally,
            under_way: Arc::default(),
            cut: AtomicBool::new(false),
            still: AtomicBool::new(false),
            goes_on: Notify::new(),
            calls_outlive_drop,
            last_trouble: AtomicU64::new(0),
        }
    }

    pub(super) fn set_faults(&self, faults: Faults) {
        *lock(&self.faults) = faults;
    }

    pub(super) fn cut(&self) {
        self.cut.store(true, Ordering::Relaxed);
    }

    pub(super) fn stand_still(&self, still: bool) {
        self.still.store(still, Ordering::Relaxed);
        if !still {
            self.goes_on.notify_waiters();
        }
    }

    /// Waits while the process stands still.
    async fn awake(&self) {
        loop {
            let goes_on = self.goes_on.notified();
            let mut goes_on = std::pin::pin!(goes_on);
            goes_on.as_mut().enable();
            if !self.still.load(Ordering::Relaxed) {
                return;
            }
            goes_on.await;
        }
    }

    pub(super) fn last_trouble(&self) -> Timestamp {
        Timestamp::from_nanos(self.last_trouble.load(Ordering::Relaxed))
    }

    pub(super) fn under_way(&self) -> usize {
        self.under_way.load(Ordering::Relaxed)
    }

    /// Carries a call to the store and its answer back. `call` carries it out, once or twice, also
    /// when the caller has gone.
    pub(super) async fn carry<T: Send + 'static>(
        &self,
        call: impl Fn() -> Call<T> + Send + 'static,
    ) -> Result<T, Fault> {
        self.awake().await;
        if self.cut.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        let fate = self.fate();
        if fate.refused {
            let what = "the store could not be reached";
            return Err(Fault::new(FaultKind::Unreachable, what, "try again"));
        }
        let given_up = self.clock.now().saturating_add(fate.patience);
        let (reply, answer) = oneshot::channel();
        if self.calls_outlive_drop {
            tokio::spawn(self.send_late(fate, call, reply));
        } else if !fate.request_lost {
            let answer = call().await;
            tokio::spawn(self.answer(&fate, answer, reply));
        }
        let answer = tokio::select! {
            biased;
            Ok(answer) = answer => answer,
            () = self.clock.sleep_until(given_up) => {
                self.tally.count(Kind::InDoubt);
                Err(Fault::new(FaultKind::InDoubt, "the store did not answer", "try again"))
            }
        };
        self.awake().await;
        if self.cut.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        answer
    }

    /// Carries a call out whatever becomes of its caller.
    fn send_late<T: Send + 'static>(
        &self,
        fate: CallFaults,
        call: impl Fn() -> Call<T> + Send + 'static,
        reply: oneshot::Sender<Result<T, Fault>>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let clock = self.clock.clone();
        let under_way = CallInFlight::new(&self.under_way);
        async move {
            let _under_way = under_way;
            pause(&*clock, fate.request_late).await;
            if !fate.request_lost {
                let answer = call().await;
                pause(&*clock, fate.reply_late).await;
                if !fate.reply_lost {
                    let _ = reply.send(answer);
                }
            }
            if fate.repeated.is_some() {
                pause(&*clock, fate.repeated).await;
                let _ = call().await;
            }
        }
    }

    /// Carries an answer back.
    fn answer<T: Send + 'static>(
        &self,
        fate: &CallFaults,
        answer: Result<T, Fault>,
        reply: oneshot::Sender<Result<T, Fault>>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let clock = self.clock.clone();
        let (late, lost) = (fate.reply_late, fate.reply_lost);
        async move {
            pause(&*clock, late).await;
            if !lost {
                let _ = reply.send(answer);
            }
        }
    }

    fn fate(&self) -> CallFaults {
        let faults = *lock(&self.faults);
        let mut random = lock(&self.random);
        let mut happens = |per_mille: u32, kind: Kind| {
            let happens = random.happens(per_mille);
            if happens {
                self.tally.count(kind);
            }
            happens
        };
        let refused = happens(faults.refused, Kind::Refused);
        let request_lost = !refused && happens(faults.request_lost, Kind::RequestLost);
        let reply_lost = !refused && !request_lost && happens(faults.reply_lost, Kind::ReplyLost);
        let late = self.calls_outlive_drop && !refused;
        let repeated = late && happens(faults.repeated, Kind::Repeated);
        let request_late = late && happens(faults.request_late, Kind::RequestLate);
        let reply_late = !refused && happens(faults.reply_late, Kind::ReplyLate);
        if refused || request_lost || reply_lost || repeated || request_late || reply_late {
            self.last_trouble.store(self.clock.now().as_nanos(), Ordering::Relaxed);
        }
        // Most delays are short, some are very long.
        let mut late = |late: bool| {
            late.then(|| {
                let most = faults.delay / (1 << random.below(6));
                random.length(most / 8, most)
            })
        };
        CallFaults {
            refused,
            request_lost,
            reply_lost,
            request_late: late(request_late),
            reply_late: late(reply_late),
            repeated: late(repeated),
            patience: faults.patience,
        }
    }

    /// Whether a waiter that registers now hears nothing.
    pub(super) fn hints_lost(&self) -> bool {
        let lost = lock(&self.random).happens(lock(&self.faults).hints_lost);
        if lost {
            self.tally.count(Kind::HintsLost);
        }
        lost
    }
}

async fn pause(clock: &dyn Clock, length: Option<Duration>) {
    if let Some(length) = length {
        clock.sleep_until(clock.now().saturating_add(length)).await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
