//! The spans of acquisitions and holds.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use tenure_core::{FaultKind, Store};
use tracing::{
    Dispatch, Event, Instrument, Subscriber,
    field::{Field, Visit},
    info_span,
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer, layer::Context, layer::SubscriberExt, registry, registry::LookupSpan,
};

use crate::{
    flawed::{Flaw, on_flawed},
    running, settle,
};

const TTL: Duration = Duration::from_secs(30);

/// A span, and the events inside it.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The names of the spans that it is in, the closest first.
    within: Vec<&'static str>,
    fields: BTreeMap<&'static str, String>,
    events: Vec<String>,
    closed: bool,
}

/// Keeps the spans, in the order in which they began.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<SeenSpan>>>);

type SeenSpan = (Id, &'static str, Seen);

impl Spans {
    fn change(&self, id: &Id, work: impl FnOnce(&mut Seen)) {
        // An identity is used again after its span was closed.
        let mut spans = self.0.lock().unwrap();
        if let Some((_, _, seen)) = spans.iter_mut().rev().find(|(known, ..)| known == id) {
            work(seen);
        }
    }

    /// The only span of this name.
    fn one(&self, name: &str) -> Seen {
        let spans = self.0.lock().unwrap();
        let mut found = spans.iter().filter(|(_, known, _)| *known == name);
        let one = found.next().unwrap_or_else(|| panic!("no {name} in {spans:?}")).2.clone();
        assert!(found.next().is_none(), "several of {name} in {spans:?}");
        one
    }

    fn clear(&self) {
        self.0.lock().unwrap().clear();
    }
}

struct Fields<'f>(&'f mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let within = span.scope().skip(1).map(|span| span.name()).collect();
        let mut seen = Seen { within, ..Seen::default() };
        attributes.record(&mut Fields(&mut seen.fields));
        self.0.lock().unwrap().push((id.clone(), span.name(), seen));
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, _: Context<'_, S>) {
        self.change(id, |seen| record.record(&mut Fields(&mut seen.fields)));
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        if let Some(span) = context.event_span(event) {
            self.change(&span.id(), |seen| seen.events.push(fields["message"].clone()));
        }
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        self.change(&id, |seen| seen.closed = true);
    }
}

/// Runs `scene` on this thread and shows it the spans.
fn seen<F: Future<Output = ()>>(scene: impl FnOnce(Spans) -> F) {
    let spans = Spans::default();
    // With one subscriber alone, a call site that another thread comes to first counts as unwanted.
    let _other = Dispatch::new(registry().with(Spans::default()));
    tracing::subscriber::with_default(registry().with(spans.clone()), || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(scene(spans));
    });
}

#[test]
fn an_acquisition_and_a_hold_are_spans_beside_each_other_in_that_of_the_caller() {
    seen(async |spans| {
        let (tenure, _, _) = running();
        let guard =
            tenure.mutex("a").lock().into_future().instrument(info_span!("order")).await.unwrap();
        let (acquire, hold) = (spans.one("tenure.acquire"), spans.one("tenure.hold"));
        assert_eq!((&*acquire.within, &*hold.within), (&["order"][..], &["order"][..]));
        assert!(acquire.closed && !hold.closed, "{acquire:?} {hold:?}");
        assert_eq!(acquire.fields["tenure.outcome"], "acquired");
        for seen in [&acquire, &hold] {
            assert_eq!(seen.fields["tenure.lock.name"], "a");
            assert_eq!(seen.fields["tenure.lock.kind"], "mutex");
            assert_eq!(seen.fields["tenure.store"], "memory");
            assert_eq!(seen.fields["tenure.token"], guard.token().to_string());
        }
        guard.release().await.unwrap();
        let hold = spans.one("tenure.hold");
        assert!(hold.closed && spans.one("order").closed);
        assert_eq!(
            (&*hold.fields["tenure.outcome"], &*hold.events),
            ("released", &["released".into()][..])
        );
    });
}

#[test]
fn a_loss_is_an_error_inside_the_span_of_the_hold() {
    seen(async |spans| {
        let (tenure, store, clock) = on_flawed();
        let guard =
            tenure.mutex("a").ttl(TTL).lock().into_future().instrument(info_span!("order")).await;
        let guard = guard.unwrap();
        store.flaws(|flaws| flaws.renew = Some(Flaw::Fails(FaultKind::Unreachable)));
        for _ in 0..30 {
            clock.advance(Duration::from_secs(1));
            settle().await;
        }
        guard.check().unwrap_err();
        let hold = spans.one("tenure.hold");
        assert_eq!(hold.events, ["at risk: lost unless it is renewed soon", "lost"]);
        let field = |name| hold.fields.get(name).map(String::as_str);
        assert_eq!(field("tenure.outcome"), Some("lost"));
        assert_eq!(field("error.type"), Some("deadline"));
        assert_eq!(field("otel.status_code"), Some("ERROR"));
        assert!(hold.closed && hold.within == ["order"], "{hold:?}");
    });
}

#[test]
fn a_hold_that_is_passed_on_is_in_the_span_of_the_next_holder() {
    seen(async |spans| {
        let (tenure, store, clock) = running();
        let mutex = tenure.mutex("a");
        let first = mutex.lock().into_future().instrument(info_span!("first")).await.unwrap();
        let next = tokio::spawn(mutex.lock().into_future().instrument(info_span!("next")));
        settle().await;
        spans.clear();
        first.release().await.unwrap();
        let next = next.await.unwrap().unwrap();
        let hold = spans.one("tenure.hold");
        assert_eq!(
            (&*hold.within, &*hold.fields["tenure.token"]),
            (&["next"][..], &*next.token().to_string())
        );
        store.evict(next.name()).await.unwrap();
        clock.advance(TTL / 3);
        settle().await;
        next.check().unwrap_err();
        let hold = spans.one("tenure.hold");
        assert_eq!((&*hold.fields["error.type"], hold.closed), ("taken", true));
    });
}

#[test]
fn an_acquisition_says_how_it_ended() {
    seen(async |spans| {
        let (tenure, store, _) = on_flawed();
        let mutex = tenure.mutex("a");
        let outcome = || {
            let seen = spans.one("tenure.acquire");
            spans.clear();
            let error = seen.fields.get("error.type").cloned();
            (seen.fields["tenure.outcome"].clone(), error)
        };
        let guard = mutex.lock().await.unwrap();
        assert_eq!(outcome(), ("acquired".into(), None));
        assert!(mutex.try_lock().await.unwrap().is_none());
        assert_eq!(outcome(), ("busy".into(), None));
        mutex.lock().fair().wait(Duration::ZERO).await.unwrap_err();
        assert_eq!(outcome(), ("timed_out".into(), None));
        let mut dropped = Box::pin(mutex.lock().into_future());
        assert!(futures_util::poll!(&mut dropped).is_pending());
        drop(dropped);
        assert_eq!(outcome(), ("cancelled".into(), None));
        store.flaws(|flaws| flaws.ask = Some(Flaw::Fails(FaultKind::Misconfigured)));
        tenure.mutex("b").lock().await.unwrap_err();
        assert_eq!(outcome(), ("failed".into(), Some("misconfigured".into())));
        drop(guard);
    });
}
