//! One hold, from the request to the end.

use std::{sync::Arc, time::Instant};

use nix::sys::signal::Signal;
use serde_json::Value;
use tenure::{
    LockName, Lost, LostReason,
    clock::{Clock, SystemClock, Timestamp},
    inspect::Identity,
};
use tokio::sync::{mpsc, watch};

use super::store::SharedStore;
use crate::{
    exit::Failure,
    output::{CommandFate, Event, Reporter},
    run::{
        acquire::{acquire, join_names},
        held::{AnyGuard, NotReleased},
        patience::WaitTimer,
        supervise::who_broke,
    },
    settings::RunSettings,
};

/// What is wanted of a hold.
#[derive(Debug)]
pub(crate) enum Message {
    Check(Option<Value>),
    /// A signal that would end another program.
    Signal(Signal),
}

/// Why a hold is to end. A later one of these is not less urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EndReason {
    /// Nobody reads what is said of it. The program may still count on what it heard last.
    Unread,
    /// The program released it.
    Released,
    /// The program is gone, or says no more.
    Over,
}

/// What became of it.
#[derive(Debug)]
pub(crate) enum HoldOutcome {
    Released,
    /// The store did not confirm the release.
    InDoubt,
    /// With what may be said of it a moment later.
    Lost(Option<EvictorReport>),
    /// It was to end before it was acquired: as the program asked for that, or as its input ended.
    GivenUp {
        asked: bool,
    },
    Failed(Failure),
}

/// What may be said of a hold a moment after it was lost.
#[derive(Debug)]
pub(crate) struct EvictorReport {
    held: AnyGuard,
    lost: Lost,
    voice: Reporter,
}

impl EvictorReport {
    /// Says who broke it, if they say so soon.
    pub(crate) async fn tell(self) {
        if let Some(by) = who_broke(&self.held).await {
            let name = self.lost.lock.name.as_str();
            self.voice.event(&Event::Broken { name, by: &by });
        }
    }
}

/// Returns when there is a more urgent reason to end than this one. Cancel-safe.
async fn asked_to_end(
    end: &mut watch::Receiver<Option<EndReason>>,
    known: Option<EndReason>,
) -> EndReason {
    // Whoever could end it is gone.
    end.wait_for(|end| *end > known).await.ok().and_then(|end| *end).unwrap_or(EndReason::Over)
}

/// One hold, or the wait for it.
pub(crate) struct HoldTask {
    pub(crate) store: Arc<SharedStore>,
    pub(crate) names: Vec<LockName>,
    pub(crate) plan: RunSettings,
    pub(crate) wait: WaitTimer,
    pub(crate) voice: Reporter,
    pub(crate) messages: mpsc::Receiver<Message>,
    pub(crate) end: watch::Receiver<Option<EndReason>>,
}

impl HoldTask {
    pub(crate) async fn run(mut self) -> HoldOutcome {
        let name: Arc<str> = join_names(self.names.iter()).into();
        match self.acquire(&name).await {
            Ok(Some(held)) => self.hold(held, &name).await,
            Ok(None) => {
                let asked = *self.end.borrow() == Some(EndReason::Released);
                self.voice.event(&Event::GivenUp { name: &name, asked });
                HoldOutcome::GivenUp { asked }
            }
            Err(failure) => HoldOutcome::Failed(failure),
        }
    }

    /// Acquires what is wanted, unless it is to end before.
    async fn acquire(&mut self, name: &str) -> Result<Option<AnyGuard>, Failure> {
        let Self { store, names, plan, wait, voice, messages, end } = self;
        let names: Vec<_> = names.iter().collect();
        let acquiring = async {
            let tenure = store.open(name, plan, wait, voice).await?;
            acquire(&tenure, &names, plan, wait, voice).await
        };
        tokio::pin!(acquiring);
        loop {
            tokio::select! {
                biased;
                Some(message) = messages.recv() => match message {
                    Message::Check(id) => {
                        let name = Some(name);
                        voice.event(&Event::Checked { name, id: id.as_ref(), valid: None });
                    }
                    Message::Signal(signal) => {
                        let why = "interrupted while waiting for the lock".into();
                        return Err(Failure::Interrupted { signal: signal as i32, why });
                    }
                },
                _ = asked_to_end(end, None) => return Ok(None),
                held = &mut acquiring => return held.map(Some),
            }
        }
    }

    async fn hold(mut self, held: AnyGuard, name: &str) -> HoldOutcome {
        let began = Instant::now();
        let waited = self.wait.elapsed();
        let tokens = held.tokens();
        match tokens.as_slice() {
            [(name, token)] => self.voice.event(&Event::Acquired { name, token: *token, waited }),
            tokens => self.voice.event(&Event::AcquiredAll { name, tokens, waited }),
        }
        if let Some(lost) = self.keep(&held, name).await {
            return HoldOutcome::Lost(self.say_lost(held, lost));
        }
        let failure = held.last_renewal_error();
        match held.release().await {
            Ok(()) => {
                self.voice.event(&Event::Released { name, held: Some(began.elapsed()) });
                HoldOutcome::Released
            }
            Err(NotReleased { lost: Some(reason), .. }) => {
                let failure = failure.filter(|_| reason == LostReason::Deadline);
                self.lost(name, reason, None, failure.as_deref());
                HoldOutcome::Lost(None)
            }
            Err(NotReleased { lost: None, why }) => {
                self.voice.event(&Event::ReleaseFailed { name, why: &why, is_lost: false });
                HoldOutcome::InDoubt
            }
        }
    }

    /// Returns when the hold is to end, or with its loss.
    async fn keep(&mut self, held: &AnyGuard, name: &str) -> Option<Lost> {
        let clock = SystemClock;
        let mut loss = held.lost();
        let (mut risk, mut at_risk) = (held.at_risk(), false);
        let mut request = held.release_requested();
        let (mut requested, mut requested_by) = (false, None);
        let mut deadline = held.deadline();
        // Until when the program may count on the hold, as far as it heard.
        let mut promised = Timestamp::default();
        let mut unread = false;
        loop {
            let look = clock.now().saturating_add(self.plan.ttl / 12);
            let look = if unread { look.min(promised) } else { look };
            tokio::select! {
                biased;
                lost = &mut loss => return Some(lost),
                Some(message) = self.messages.recv() => match message {
                    Message::Check(id) => {
                        // Once its end was asked for, it may be over before this is read.
                        let ends = *self.end.borrow() > Some(EndReason::Unread);
                        let is_held = !ends && held.check().is_ok();
                        let valid = is_held.then(|| held.remaining());
                        if valid.is_some() {
                            promised = promised.max(held.deadline());
                        }
                        let name = Some(name);
                        self.voice.event(&Event::Checked { name, id: id.as_ref(), valid });
                    }
                    Message::Signal(signal) => {
                        self.voice.event(&Event::ToldToEnd { name, signal: signal as i32 });
                    }
                },
                end = asked_to_end(&mut self.end, unread.then_some(EndReason::Unread)) => match end {
                    EndReason::Unread => unread = true,
                    EndReason::Released | EndReason::Over => return None,
                },
                () = &mut risk => {
                    at_risk = !at_risk;
                    risk = if at_risk { held.recovered() } else { held.at_risk() };
                    let left = held.remaining();
                    match at_risk {
                        true if left.is_zero() => {}
                        true => self.voice.event(&Event::AtRisk { name, left }),
                        false => self.voice.event(&Event::Recovered { name }),
                    }
                }
                () = &mut request, if !requested => {
                    requested = true;
                    requested_by = held.release_requested_by();
                    self.say_requested(name, requested_by.as_ref());
                }
                () = clock.sleep_until(look) => {}
            }
            if unread && clock.now() >= promised {
                return None;
            }
            if held.deadline() != deadline {
                deadline = held.deadline();
                self.voice.event(&Event::Renewed { name });
            }
            // Another one, which may be more urgent.
            if requested {
                let by = held.release_requested_by();
                if by.is_some() && by != requested_by {
                    requested_by = by;
                    self.say_requested(name, requested_by.as_ref());
                }
            }
        }
    }

    fn say_requested(&self, name: &str, by: Option<&Identity>) {
        self.voice.event(&Event::ReleaseRequested { name, by, obeys: None });
    }

    /// Says that it is lost. What is left to be done is to hear who broke it, if that is not known yet.
    fn say_lost(&self, held: AnyGuard, lost: Lost) -> Option<EvictorReport> {
        let name = lost.lock.name.as_str();
        let failure = (lost.reason == LostReason::Deadline).then(|| held.last_renewal_error());
        self.lost(name, lost.reason, lost.broken_by(), failure.flatten().as_deref());
        let is_open = lost.reason == LostReason::Taken && lost.broken_by().is_none();
        is_open.then(|| EvictorReport { held, lost, voice: self.voice.clone() })
    }

    fn lost(&self, name: &str, reason: LostReason, by: Option<&Identity>, failure: Option<&str>) {
        let fate = CommandFate::None;
        self.voice.event(&Event::Lost { name, reason, by, failure, fate });
    }
}
