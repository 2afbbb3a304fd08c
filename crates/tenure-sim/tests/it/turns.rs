//! What the checker says of passes inside a process.

use std::{
    future::{Future, poll_fn},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use tenure_core::{
    Clock, Guard, MemoryStore, Mutex, Tenure,
    proto::{
        local::turn,
        queue::Mode,
        rule::{Rule, break_rule},
    },
};
use tenure_sim::{
    SimClock,
    check::{Checker, ReportedHold},
};

const TTL: Duration = Duration::from_secs(10);

struct Watch {
    clock: SimClock,
    check: Arc<Checker>,
    mutex: Mutex,
}

impl Watch {
    fn new() -> Self {
        let clock = SimClock::true_time();
        let store = MemoryStore::with_clock(Arc::new(clock.clone()));
        let check = Checker::new(Arc::new(store.clone()), clock.clone(), TTL, false);
        let (tenure, engine) =
            Tenure::builder(Arc::new(store)).clock(Arc::new(clock.clone())).build_inline();
        tokio::spawn(engine);
        let mutex = tenure.mutex("name").ttl(TTL);
        Self { clock, check, mutex }
    }

    async fn after(&self, length: Duration) {
        self.clock.sleep_until(self.clock.now().saturating_add(length)).await;
    }

    /// The checker is told of `guard`. Answers what it calls it.
    async fn sees(&self, guard: &Arc<Guard>) -> usize {
        let watched = ReportedHold {
            process: 1,
            name: guard.name().clone(),
            token: guard.token(),
            mode: Mode::Exclusive,
            guard: Arc::downgrade(guard) as _,
            clock: self.clock.clone(),
            ttl: TTL,
            grace: Duration::ZERO,
            hold_at_least: Duration::ZERO,
            quiet: false,
        };
        self.check.acquired(watched).await
    }

    /// Passes a lease on `times` times, after holds of `held` each, to tasks that take it `late`.
    async fn passes(&self, times: u64, held: Duration, late: Duration) {
        let mut guard = self.mutex.lock().await.expect("a free name");
        for pass in 1..=times {
            let mut next = Box::pin(self.mutex.lock().into_future());
            assert!(poll_fn(|context| Poll::Ready(next.as_mut().poll(context).is_pending())).await);
            let shared = Arc::new(guard);
            let hold = self.sees(&shared).await;
            self.after(held).await;
            self.check.ended(hold);
            drop(shared);
            self.after(late).await;
            guard = next.await.expect("the lease that was passed on");
            assert_eq!(guard.token().pass(), pass);
        }
        self.sees(&Arc::new(guard)).await;
    }

    fn verdict(&self) -> Option<(&'static str, String)> {
        self.check.verdict().0.map(|violation| (violation.promise, violation.what))
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_passed_on_in_time_may_be_taken_after_the_turn() {
    let watch = Watch::new();
    watch.passes(3, turn::LENGTH / 4, Duration::ZERO).await;
    watch.passes(1, turn::LENGTH / 4, turn::LENGTH * 3).await;
    assert_eq!(watch.verdict(), None);
}

#[tokio::test(start_paused = true)]
async fn a_pass_after_the_turn_is_seen_whenever_it_is_taken() {
    for late in [Duration::ZERO, turn::LENGTH * 3] {
        let watch = Watch::new();
        let _broken = break_rule(Rule::TurnIsBounded);
        watch.passes(1, turn::LENGTH * 2, late).await;
        let (promise, what) = watch.verdict().expect("a turn that lasts too long");
        assert_eq!(promise, "S8");
        assert!(what.ends_with("was passed on 40ms after its turn began"), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pass_too_many_is_seen() {
    let watch = Watch::new();
    let _broken = break_rule(Rule::TurnIsBounded);
    watch.passes(u64::from(turn::PASSES) + 1, Duration::ZERO, Duration::ZERO).await;
    let (promise, what) = watch.verdict().expect("a turn of too many passes");
    assert_eq!(promise, "S8");
    assert!(what.ends_with("is pass 65 of its turn"), "{what}");
}
