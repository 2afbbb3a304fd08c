//! A hold that may soon be lost: its holder is told while it can still act.

use std::{sync::Arc, time::Duration};

use tenure_proto::{Timestamp, Token, hold::Action};
use tokio::sync::Notify;
use tracing::Span;

use super::{Lease, State};
use crate::{driver::timeout_at, engine::catch_panic};

/// A change of the risk that was not reported yet.
#[must_use = "it is to be told when nothing is locked"]
pub(super) struct RiskChange {
    at_risk: bool,
    token: Token,
    left: Duration,
    span: Option<Arc<Span>>,
    news: Option<Arc<Notify>>,
}

/// Whether a hold is at risk.
enum RiskStatus {
    AtRisk,
    /// Not before this time.
    NotBefore(Timestamp),
    Lost,
    /// It was released or handed over.
    Over,
}

impl Lease {
    /// The change of the risk at `now`, if its holder does not know it.
    pub(super) fn take_risk_change(state: &mut State, now: Timestamp) -> Option<RiskChange> {
        let at_risk = state.hold.risk_changed(now)?;
        Some(RiskChange {
            at_risk,
            token: state.token,
            left: state.hold.deadline().since(now),
            span: state.span(),
            news: state.change_notify(),
        })
    }

    pub(super) fn tell_risk(&self, change: &RiskChange) {
        let RiskChange { at_risk, token, left, span, news } = change;
        news.iter().for_each(|news| news.notify_waiters());
        let (observer, span) = (&self.context.observer, span.as_deref());
        // The engine has a renewal to send, whatever an observer does.
        catch_panic(|| {
            if *at_risk {
                observer.record_at_risk(self.name_use().observed(), *token, *left, span);
            } else {
                observer.record_recovered(self.name(), *token, span);
            }
        });
    }

    /// Whether the hold of `generation` is at risk or no longer held.
    pub(crate) fn is_at_risk(&self, generation: u32) -> bool {
        !matches!(self.risk_status(generation), RiskStatus::NotBefore(_))
    }

    /// Returns when the hold of `generation` is at risk, or lost. Never returns if it is released or handed over.
    pub(crate) async fn wait_for_risk(&self, generation: u32) {
        self.wait_for_status(generation, true).await;
    }

    /// Returns when the hold of `generation` is not at risk. Never returns if it is lost, released or handed over.
    pub(crate) async fn wait_for_recovery(&self, generation: u32) {
        self.wait_for_status(generation, false).await;
    }

    async fn wait_for_status(&self, generation: u32, at_risk: bool) {
        let news = self.lock().rare.get_or_insert_default().news.clone();
        loop {
            let news = news.notified();
            let mut news = std::pin::pin!(news);
            news.as_mut().enable();
            match self.risk_status(generation) {
                RiskStatus::AtRisk | RiskStatus::Lost if at_risk => return,
                RiskStatus::NotBefore(_) if !at_risk => return,
                RiskStatus::Lost | RiskStatus::Over => std::future::pending().await,
                // The engine reports it. The caller's own timer is for the case that the engine is
                // starved.
                RiskStatus::NotBefore(from) => {
                    timeout_at(&*self.context.clock, from, news).await;
                }
                RiskStatus::AtRisk => news.await,
            }
        }
    }

    fn risk_status(&self, generation: u32) -> RiskStatus {
        // A forked child holds nothing.
        if self.context.is_forked() {
            return RiskStatus::Lost;
        }
        let state = self.lock();
        if state.hold.ended() || state.hold.generation() != generation {
            return RiskStatus::Over;
        }
        let now = self.context.now();
        match state.hold.next_action(now) {
            Action::TellLost(_) => RiskStatus::Lost,
            Action::Renew | Action::PassOn | Action::WaitUntil(_) if state.hold.is_at_risk(now) => {
                RiskStatus::AtRisk
            }
            Action::Renew | Action::PassOn | Action::WaitUntil(_) => {
                RiskStatus::NotBefore(state.hold.at_risk_from())
            }
        }
    }
}
