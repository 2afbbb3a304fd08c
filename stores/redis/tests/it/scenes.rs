//! States of a lock, and every call that can be made in them. The one that calls is `ME`.

use std::time::Duration;

use tenure_core::{
    Fault, LockName, Owner, Store, Token,
    proto::{
        Renewed,
        history::{Retention, StoredEvent},
        queue::{
            Answer, Ask, Grant, Intent, Kind, Mode, Order, Position, Raised, Released, Snapshot,
            TakeOver, TakenOver, Together,
        },
    },
    store::{HistoryWrite, Renewal, SlotsWrite, SlotsWritten},
};
use tenure_redis::RedisStore;
use tenure_servers::RedisServer;

use crate::{
    ends::is_over,
    support::{name, store},
};

/// Longer than any test.
pub(crate) const TTL: Duration = Duration::from_secs(600);
pub(crate) const ME: u8 = 0;
/// Another proof of the same task: a turn and a take-over go from one to the other.
pub(crate) const ME_NEXT: u8 = 1;
/// The first of the others.
pub(crate) const OTHER: u8 = 10;
/// More than a script reads of `ends` at once.
const MANY: u8 = 20;
const PERMITS: Mode = Mode::Permits { take: 1, of: 3 };

/// One lock on a server of its own.
pub(crate) struct Lock {
    pub(crate) server: RedisServer,
    pub(crate) store: RedisStore,
    pub(crate) name: LockName,
}

impl Lock {
    pub(crate) fn new() -> Self {
        let server = RedisServer::start();
        let store = store(&server.url());
        Self { server, store, name: name("lock") }
    }

    pub(crate) fn stage(&self) -> Stage<'_> {
        Stage { server: &self.server, store: &self.store, name: self.name.clone() }
    }
}

/// What there is before the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scene {
    Free,
    /// Somebody deleted the lock's own key and no other.
    Torn,
    Mine,
    Theirs,
    OfAReader,
    MineWanted,
    TheirsWanted,
    TheirsWantedByMe,
    TheirsWantedByAReader,
    MineWantedByAReader,
    OfferedToMe,
    OfferedToAnother,
    Lingering,
    Readers,
    ReadersAndMe,
    ManyReadersAndMe,
    Permits,
    PermitsAndMe,
    LapsedPlace,
    LapsedHold,
}

pub(crate) const SCENES: [Scene; 20] = [
    Scene::Free,
    Scene::Torn,
    Scene::Mine,
    Scene::Theirs,
    Scene::OfAReader,
    Scene::MineWanted,
    Scene::TheirsWanted,
    Scene::TheirsWantedByMe,
    Scene::TheirsWantedByAReader,
    Scene::MineWantedByAReader,
    Scene::OfferedToMe,
    Scene::OfferedToAnother,
    Scene::Lingering,
    Scene::Readers,
    Scene::ReadersAndMe,
    Scene::ManyReadersAndMe,
    Scene::Permits,
    Scene::PermitsAndMe,
    Scene::LapsedPlace,
    Scene::LapsedHold,
];

/// A call, by whoever is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Try,
    Wait,
    WaitAtPlace,
    TryToRead,
    WaitToRead,
    WaitForPermit,
    Together,
    Turn,
    TakeOver,
    TakeOverToRead,
    Renew,
    Release,
    Keep,
    Raise,
    Evict,
    Inspect,
    WriteSlots,
    ReadSlots,
    AddHistory,
    ReadHistory,
}

pub(crate) const ACTIONS: [Action; 20] = [
    Action::Try,
    Action::Wait,
    Action::WaitAtPlace,
    Action::TryToRead,
    Action::WaitToRead,
    Action::WaitForPermit,
    Action::Together,
    Action::Turn,
    Action::TakeOver,
    Action::TakeOverToRead,
    Action::Renew,
    Action::Release,
    Action::Keep,
    Action::Raise,
    Action::Evict,
    Action::Inspect,
    Action::WriteSlots,
    Action::ReadSlots,
    Action::AddHistory,
    Action::ReadHistory,
];

pub(crate) fn owner(number: u8) -> Owner {
    Owner::from_bytes([number; 16])
}

pub(crate) fn ask(number: u8, mode: Mode, intent: Intent) -> Ask {
    let label = number.to_string();
    let (kind, order) = (Kind::Mutex, Order::Fifo);
    Ask { owner: owner(number), kind, mode, order, intent, ttl: TTL, label: label.into() }
}

pub(crate) fn taking_over(from: u8, to: u8, mode: Mode) -> TakeOver {
    let Ask { owner, kind, ttl, label, .. } = ask(to, mode, Intent::Try);
    let from = self::owner(from);
    TakeOver { from, owner, kind, mode, ttl, label, detached: false }
}

pub(crate) const WAIT: Intent = Intent::Wait { position: None };

/// Sets up scenes, as a user who may do everything.
pub(crate) struct Stage<'a> {
    pub(crate) server: &'a RedisServer,
    pub(crate) store: &'a RedisStore,
    pub(crate) name: LockName,
}

impl Stage<'_> {
    pub(crate) async fn set(&self, scene: Scene) {
        use Mode::{Exclusive, Shared};
        match scene {
            Scene::Free => {}
            Scene::Torn => {
                self.asks(OTHER, Exclusive).await;
                self.asks(OTHER + 1, Exclusive).await;
                self.admin(&["DEL", &self.key("lock:")]);
            }
            Scene::Mine => self.asks(ME, Exclusive).await,
            Scene::Theirs => self.asks(OTHER, Exclusive).await,
            Scene::OfAReader => self.asks(OTHER, Shared).await,
            Scene::MineWanted => self.all(&[ME, OTHER], Exclusive).await,
            Scene::TheirsWanted => self.all(&[OTHER, OTHER + 1], Exclusive).await,
            Scene::TheirsWantedByMe => self.all(&[OTHER, ME], Exclusive).await,
            Scene::TheirsWantedByAReader => {
                self.asks(OTHER, Exclusive).await;
                self.asks(OTHER + 1, Shared).await;
            }
            Scene::MineWantedByAReader => {
                self.asks(ME, Exclusive).await;
                self.asks(OTHER, Shared).await;
            }
            Scene::OfferedToMe => {
                self.all(&[OTHER, ME, OTHER + 1], Exclusive).await;
                self.releases(OTHER, Duration::ZERO).await;
            }
            Scene::OfferedToAnother => {
                self.all(&[OTHER, OTHER + 1], Exclusive).await;
                self.releases(OTHER, Duration::ZERO).await;
            }
            Scene::Lingering => {
                self.asks(OTHER, Exclusive).await;
                self.releases(OTHER, TTL).await;
            }
            Scene::Readers => self.all(&[OTHER, OTHER + 1], Shared).await,
            Scene::ReadersAndMe => self.all(&[OTHER, ME], Shared).await,
            Scene::ManyReadersAndMe => {
                let all: Vec<_> = (OTHER..OTHER + MANY).chain([ME]).collect();
                self.all(&all, Shared).await;
            }
            Scene::Permits => self.all(&[OTHER], PERMITS).await,
            Scene::PermitsAndMe => self.all(&[OTHER, ME], PERMITS).await,
            Scene::LapsedPlace => {
                self.all(&[OTHER, OTHER + 1, OTHER + 2], Exclusive).await;
                is_over(self.server, &format!("k{}", owner(OTHER + 1).to_hex()));
            }
            Scene::LapsedHold => {
                self.all(&[OTHER, OTHER + 1], Shared).await;
                self.asks(OTHER + 2, Exclusive).await;
                is_over(self.server, &format!("h{}", owner(OTHER + 1).to_hex()));
            }
        }
    }

    async fn all(&self, numbers: &[u8], mode: Mode) {
        for number in numbers {
            self.asks(*number, mode).await;
        }
    }

    async fn asks(&self, number: u8, mode: Mode) {
        self.store.acquire(&self.name, &ask(number, mode, WAIT)).await.unwrap();
    }

    async fn releases(&self, number: u8, keep: Duration) {
        self.store.release(&self.name, &owner(number), keep).await.unwrap();
    }

    fn admin(&self, words: &[&str]) {
        self.server.command(words);
    }

    /// The key of this kind.
    pub(crate) fn key(&self, kind: &str) -> String {
        let end = format!("}}{kind}{}", self.name);
        self.server.keys().into_iter().find(|key| key.ends_with(&end)).unwrap()
    }

    /// Fails unless those who held the lock still do, and those who waited are still in line.
    pub(crate) async fn others_are_there(&self, before: &Snapshot) {
        let now = self.store.inspect(&self.name).await.unwrap();
        for holder in before.holders.iter().filter(|holder| !is_me(&holder.label)) {
            let there = now.holders.iter().find(|now| now.label == holder.label);
            assert_eq!(there.map(|there| there.token), Some(holder.token), "a holder is gone");
            if !holder.lingering {
                let number = holder.label.parse().unwrap();
                let hold = Renewal { name: self.name.clone(), owner: owner(number), ttl: TTL };
                let renewed = self.store.renew(&[hold]).await;
                assert!(
                    matches!(renewed[0], Ok(Renewed::Renewed { .. })),
                    "{holder:?}: {renewed:?}"
                );
            }
        }
        for waiter in before.waiters.iter().filter(|waiter| !is_me(&waiter.label)) {
            assert!(now.waiters.iter().any(|now| now.label == waiter.label), "{waiter:?} is gone");
        }
    }
}

fn is_me(label: &str) -> bool {
    label == ME.to_string() || label == ME_NEXT.to_string()
}

impl Action {
    /// Calls. What an answer says must be what `seen` sees afterwards.
    pub(crate) async fn call(self, store: &RedisStore, name: &LockName) -> Result<Done, Fault> {
        let asked =
            async |mode, intent| store.acquire(name, &ask(ME, mode, intent)).await.map(Done::Asked);
        let taken = async |mode| {
            store.take_over(name, &taking_over(ME, ME_NEXT, mode)).await.map(Done::TakenOver)
        };
        match self {
            Self::Try => asked(Mode::Exclusive, Intent::Try).await,
            Self::Wait => asked(Mode::Exclusive, WAIT).await,
            Self::WaitAtPlace => {
                asked(Mode::Exclusive, Intent::Wait { position: Some(Position(0)) }).await
            }
            Self::TryToRead => asked(Mode::Shared, Intent::Try).await,
            Self::WaitToRead => asked(Mode::Shared, WAIT).await,
            Self::WaitForPermit => asked(PERMITS, WAIT).await,
            Self::Together => {
                let more = LockName::new("one more").unwrap();
                let asks =
                    [name.clone(), more].map(|name| (name, ask(ME, Mode::Exclusive, Intent::Try)));
                store.acquire_together(&asks).await.map(Done::Together)
            }
            Self::Turn => {
                let next = ask(ME_NEXT, Mode::Exclusive, WAIT);
                store.turn(name, &owner(ME), &next).await.map(Done::Asked)
            }
            Self::TakeOver => taken(Mode::Exclusive).await,
            Self::TakeOverToRead => taken(Mode::Shared).await,
            Self::Renew => {
                let hold = Renewal { name: name.clone(), owner: owner(ME), ttl: TTL * 2 };
                store.renew(&[hold]).await.remove(0).map(Done::Renewed)
            }
            Self::Release => {
                store.release(name, &owner(ME), Duration::ZERO).await.map(Done::Released)
            }
            Self::Keep => store.release(name, &owner(ME), TTL).await.map(Done::Kept),
            Self::Raise => {
                let token = Token::from_raw((1 << 62) + 1).unwrap();
                store.raise(name, &owner(ME), token).await.map(|raised| Done::Raised(raised, token))
            }
            Self::Evict => store.evict(name).await.map(|gone| Done::Evicted(gone.len())),
            Self::Inspect => store.inspect(name).await.map(Done::Seen),
            Self::WriteSlots => store
                .write_slots(
                    name,
                    &owner(ME),
                    &SlotsWrite { before: None, text: "ran".to_owned(), keep: TTL },
                )
                .await
                .map(Done::SlotsWritten),
            Self::ReadSlots => {
                store.read_slots(name).await.map(|stored| Done::SlotsRead(stored.text))
            }
            Self::AddHistory => {
                let events = vec![("event".to_owned(), Duration::ZERO)];
                let retention = Retention::entries(1).unwrap();
                let write = HistoryWrite { events, retention };
                store.add_history(name, &write).await.map(|()| Done::HistoryAdded)
            }
            Self::ReadHistory => {
                store.read_history(name).await.map(|stored| Done::HistoryRead(stored.events))
            }
        }
    }
}

/// What was answered.
#[derive(Debug)]
pub(crate) enum Done {
    Asked(Answer),
    Together(Together),
    TakenOver(TakenOver),
    Renewed(Renewed),
    Released(Released),
    Kept(Released),
    Raised(Raised, Token),
    Evicted(usize),
    Seen(Snapshot),
    SlotsWritten(SlotsWritten),
    SlotsRead(Option<String>),
    HistoryAdded,
    HistoryRead(Vec<StoredEvent>),
}

impl Done {
    /// Fails unless what was answered is so.
    pub(crate) fn is_true(&self, before: &Snapshot, now: &Snapshot) {
        let mine = now.holders.iter().find(|holder| is_me(&holder.label));
        let held = mine.is_some_and(|mine| !mine.lingering);
        let there = before.holders.iter().any(|one| is_me(&one.label))
            || before.waiters.iter().any(|one| is_me(&one.label));
        match self {
            Self::Asked(Answer::Granted { token, .. }) => {
                assert_eq!(mine.and_then(|mine| mine.token), Some(*token));
            }
            // One that only tries keeps the place that it had.
            Self::Asked(Answer::Busy { position, .. }) => {
                assert!(position.is_none() || now.waiters.iter().any(|one| is_me(&one.label)));
            }
            Self::Together(Together::Granted(grants)) => {
                assert_eq!(mine.and_then(|mine| mine.token), Some(grants[0].token));
            }
            Self::Together(_) => assert_eq!(now.holders.len(), before.holders.len()),
            Self::TakenOver(TakenOver::Granted(Grant { token, .. })) => {
                assert_eq!(mine.map(|mine| mine.label.clone()), Some(ME_NEXT.to_string()));
                assert_eq!(mine.and_then(|mine| mine.token), Some(*token));
                assert!(before.holders.iter().all(|one| one.token < Some(*token)));
            }
            Self::TakenOver(TakenOver::NotHeld) => assert!(mine.is_none()),
            Self::Renewed(renewed) => {
                assert_eq!(matches!(renewed, Renewed::Renewed { .. }), held);
            }
            Self::Released(how) => {
                assert!(mine.is_none());
                assert_eq!(*how == Released::Released, there);
            }
            Self::Kept(how) => {
                assert!(!held);
                assert_eq!(*how == Released::Released, there);
            }
            Self::Raised(raised, token) => {
                let has = mine.and_then(|mine| mine.token) == Some(*token);
                assert_eq!(*raised == Raised::Raised, has);
            }
            Self::Evicted(count) => {
                assert_eq!(*count, before.holders.len());
                assert!(!now.is_held());
            }
            Self::Seen(seen) => {
                let labels = |of: &Snapshot| {
                    let holders = of.holders.iter().map(|one| one.label.clone());
                    holders
                        .chain(of.waiters.iter().map(|one| one.label.clone()))
                        .collect::<Vec<_>>()
                };
                assert_eq!(labels(seen), labels(before));
            }
            Self::SlotsWritten(written) => {
                let alone = held && mine.is_some_and(|mine| mine.mode == Mode::Exclusive);
                assert_eq!(*written == SlotsWritten::Written, alone);
            }
            Self::SlotsRead(text) => assert_eq!(*text, None),
            Self::HistoryAdded => {}
            Self::HistoryRead(events) => assert!(events.is_empty(), "{events:?}"),
        }
    }
}
