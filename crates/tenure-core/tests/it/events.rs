//! What `tracing` is told.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use tenure_core::{FaultKind, scope};
use tracing::{
    Event, Level,
    field::{Field, Visit},
};

use crate::{
    flawed::{Flaw, on_flawed},
    settle,
    subscriber::subscribed,
};

const TTL: Duration = Duration::from_secs(3);

/// Writes down the level, the text and the lock of each event of the core.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<String>>>);

impl Listener {
    fn hears(&self, event: &Event<'_>) {
        let mut said = Said::default();
        event.record(&mut said);
        let level = *event.metadata().level();
        let severity = if level <= Level::WARN { "warn" } else { "debug" };
        self.0.lock().unwrap().push(format!("{severity}: {}: {}", said.lock, said.text));
    }

    /// How often this was said.
    fn heard(&self, said: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|event| event.as_str() == said).count()
    }

    /// How often something was said that begins and ends so.
    fn counted(&self, begins: &str, ends: &str) -> usize {
        let heard = self.0.lock().unwrap();
        heard.iter().filter(|said| said.starts_with(begins) && said.ends_with(ends)).count()
    }
}

#[derive(Default)]
struct Said {
    text: String,
    lock: String,
}

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.text = format!("{value:?}"),
            "lock" => self.lock = format!("{value:?}"),
            _ => {}
        }
    }
}

/// Runs `scene` on this thread, for a listener that hears all of it.
fn heard<F: Future<Output = ()>>(scene: impl FnOnce(Listener) -> F) {
    let listener = Listener::default();
    let hearing = listener.clone();
    subscribed(
        move |event| hearing.hears(event),
        || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(scene(listener));
        },
    );
}

#[test]
fn a_writer_that_reads_on_and_a_lock_that_is_entered_again_are_told_of() {
    heard(async |listener| {
        let (tenure, _, _) = on_flawed();
        let writer = tenure.rwlock("a").write().await.unwrap();
        assert_eq!(listener.heard("debug: a: shared from now on"), 0);
        let _reader = writer.downgrade().await.unwrap();
        assert_eq!(listener.heard("debug: a: shared from now on"), 1);
        let lock = tenure.mutex("b").reentrant();
        scope(async {
            let _outer = lock.lock().await.unwrap();
            assert_eq!(listener.heard("debug: b: entered again"), 0);
            let _inner = lock.lock().await.unwrap();
            assert_eq!(listener.heard("debug: b: entered again"), 1);
        })
        .await;
    });
}

#[test]
fn a_renewal_that_failed_is_warned_of_and_no_other() {
    heard(async |listener| {
        let warned = "warn: a: renewals fail; they are tried again";
        let (tenure, store, clock) = on_flawed();
        let _guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
        settle().await;
        clock.advance(TTL / 3);
        settle().await;
        assert_eq!(listener.heard(warned), 0);
        store.flaws(|flaws| flaws.renew = Some(Flaw::Fails(FaultKind::Unreachable)));
        clock.advance(TTL / 3);
        settle().await;
        assert_eq!(listener.heard(warned), 1);
    });
}

/// As long as the store is away each hold is tried again, and again: one line for each would fill a disk.
#[test]
fn many_renewals_that_fail_are_few_lines() {
    const HOLDS: usize = 500;
    heard(async |listener| {
        let ttl = Duration::from_secs(30);
        let (tenure, store, clock) = on_flawed();
        let mut held = Vec::new();
        for number in 0..HOLDS {
            held.push(tenure.mutex(format!("{number}")).ttl(ttl).lock().await.unwrap());
        }
        clock.advance(ttl / 4);
        settle().await;
        store.flaws(|flaws| flaws.renew = Some(Flaw::Fails(FaultKind::Unreachable)));
        for _ in 0..36 {
            clock.advance(Duration::from_millis(500));
            settle().await;
        }
        let tried = listener.counted("debug: ", "a hold was not renewed; it is tried again");
        assert!(tried >= 2 * HOLDS, "{tried}");
        store.flaws(|flaws| flaws.renew = None);
        for _ in 0..6 {
            clock.advance(Duration::from_millis(500));
            settle().await;
        }
        // What is let go of now is not waited for.
        drop(held.split_off(HOLDS / 2));
        for _ in 0..40 {
            clock.advance(Duration::from_millis(500));
            settle().await;
        }
        assert!(held.iter().all(|guard| guard.check().is_ok()));
        for said in ["fail; they are tried again", "still fail", "succeed again"] {
            assert_eq!(listener.counted("warn: ", &format!("renewals {said}")), 1, "{said}");
        }
        assert_eq!(listener.counted("warn: ", ""), 3);
    });
}

#[test]
fn a_ttl_that_is_often_lost_is_warned_of_once() {
    heard(async |listener| {
        let (tenure, _, _) = on_flawed();
        let warned = || listener.counted("warn: ", "choose 1s or more");
        for (ttl, times) in [(100, 0), (99, 1), (10, 1)] {
            let ttl = Duration::from_millis(ttl);
            tenure.mutex("a").ttl(ttl).lock().await.unwrap().release().await.unwrap();
            assert_eq!(warned(), times, "{ttl:?}");
        }
    });
}

#[test]
fn renewals_that_take_long_beside_the_ttl_are_warned_of_once() {
    heard(async |listener| {
        let (tenure, store, clock) = on_flawed();
        let warned = || listener.counted("warn: a: renewals take a large part", "less busy");
        let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
        for (part, times) in [(20, 0), (10, 1)] {
            let late = Flaw::Late(clock.clone(), TTL / part);
            store.flaws(|flaws| flaws.renew = Some(late));
            for _ in 0..400 {
                clock.advance(TTL / 40);
                settle().await;
            }
            assert_eq!(warned(), times);
        }
        guard.check().unwrap();
    });
}
