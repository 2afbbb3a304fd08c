//! Hearing of the events of the core on one thread.

use tracing::{Dispatch, Event, Metadata, Subscriber, span};

/// Runs `scene` on this thread; `hear` is called for each event of the core.
pub(crate) fn subscribed(
    hear: impl Fn(&Event<'_>) + Clone + Send + Sync + 'static,
    scene: impl FnOnce(),
) {
    // As long as there is no other subscriber `tracing` takes a call site that another thread comes to
    // first for one of which nobody wants to hear.
    let _other = Dispatch::new(Hears(hear.clone()));
    tracing::subscriber::with_default(Hears(hear), scene);
}

struct Hears<F>(F);

impl<F: Fn(&Event<'_>) + 'static> Subscriber for Hears<F> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target().starts_with("tenure_core")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        (self.0)(event);
    }
}
