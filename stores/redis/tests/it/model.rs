//! The scripts beside the rules that they follow: the same calls in the same order, by chance.

use std::{
    collections::BTreeMap,
    io::Write,
    net::TcpStream,
    time::{Duration, Instant},
};

use tenure_core::{
    Fault, Owner, Store, Token,
    proto::{
        Renewed, Timestamp,
        queue::{
            Answer, Ask, Client, DecisionContext, Intent, Kind, Limits, Mode, NameState, Order,
            Position, Presence, QueueError, Released, Snapshot, TakeOver, TakenOver,
        },
    },
    store::{Renewal, SlotsWrite, SlotsWritten},
};
use tenure_redis::{Address, RedisOptions, RedisStore};
use tenure_servers::{RedisServer, redis::Reply};
use tenure_testkit::Random;

use crate::{
    ends::{ends, head_is_right, is_late, is_over, listens},
    scenes::{Stage, TTL, owner},
    support::{lock_keys, name},
};

/// How many runs there are, and how many calls in each. Every run has its seed.
const RUNS: u64 = 120;
const CALLS: usize = 100;
/// In every third run there are more than a script reads at once.
const OWNERS: [u64; 3] = [6, 6, 60];
const MODES: [Mode; 7] = [
    Mode::Exclusive,
    Mode::Exclusive,
    Mode::Shared,
    Mode::Permits { take: 1, of: 3 },
    Mode::Permits { take: 2, of: 3 },
    Mode::Permits { take: 1, of: 2 },
    Mode::Permits { take: 1, of: 40 },
];
const FEW: Limits = Limits {
    claim_window: Duration::from_secs(10),
    // A little shorter than the long leases: then ends of keys are left as they are.
    position_ttl: Duration::from_secs(570),
    look: Duration::from_secs(1),
    max_waiters: 3,
    max_holders: 3,
    notices_absence: true,
    kinds_may_mix: true,
};
const MANY: Limits = Limits { max_waiters: 40, max_holders: 40, ..FEW };

struct Both<'a> {
    stage: Stage<'a>,
    rules: NameState,
    random: Random,
    limits: Limits,
    owners: u64,
    /// Who hears all hints, if anybody does.
    ear: Option<Ear>,
    /// Who asks right now, and so is there.
    asking: Owner,
    /// How much time has passed for the rules.
    passed: u64,
    /// The store's tokens by those of the rules.
    tokens: BTreeMap<Token, Token>,
    /// The last places of each owner, by the rules and by the store, since the name was idle: each
    /// counts them by itself.
    places: BTreeMap<Owner, (Position, Position)>,
    said: Vec<String>,
}

/// What both answer, in the same words.
type Told = Result<String, String>;

impl Both<'_> {
    fn rules<T>(&mut self, call: impl FnOnce(&mut NameState, &DecisionContext<'_>) -> T) -> T {
        self.passed += 1;
        let (is_heard, asking) = (self.ear.is_some(), client(&self.asking));
        let at = DecisionContext {
            now: Timestamp::from_nanos(1 << 60).saturating_add(Duration::from_micros(self.passed)),
            wall: 1_700_000_000_000_000 + self.passed * 1_000,
            limits: &self.limits,
            alive: &|_| true,
            reachable: &|client| is_heard || client == asking,
        };
        call(&mut self.rules, &at)
    }

    /// Fails unless these tokens stand to others as their likes do.
    fn same(&mut self, rules: Token, store: Token) {
        if let Some(known) = self.tokens.insert(rules, store) {
            assert_eq!(known, store, "another token");
        }
        assert!(self.tokens.values().is_sorted_by(|one, next| one < next), "{:?}", self.tokens);
    }

    fn answers(&mut self, who: Owner, rules: Result<Answer, Fault>, store: Result<Answer, Fault>) {
        if let (
            Ok(Answer::Busy { position: Some(rules), .. }),
            Ok(Answer::Busy { position: Some(store), .. }),
        ) = (&rules, &store)
        {
            self.places.insert(who, (*rules, *store));
        }
        if let (
            Ok(Answer::Granted { token: rules, .. }),
            Ok(Answer::Granted { token: store, .. }),
        ) = (&rules, &store)
        {
            self.same(*rules, *store);
        }
        self.both(answer(rules), answer(store));
    }

    fn both(&mut self, rules: Told, store: Told) {
        self.said.push(format!("{rules:?}"));
        assert_eq!(rules, store, "the rules, and the store");
    }

    async fn call(&mut self, store: &RedisStore) {
        let number = self.random.below(self.owners) as u8;
        let (who, name) = (owner(number), self.stage.name.clone());
        let chance = self.random.below(100);
        self.asking = owner(u8::MAX);
        self.said.push(format!("{number} {chance}"));
        match chance {
            0..45 => {
                let ask = self.ask(number);
                self.asking = ask.owner;
                self.said.push(format!("{ask:?}"));
                let rules = self.rules(|rules, at| rules.acquire(&ask, client(&ask.owner), at));
                if rules == Err(QueueError::OtherMode) {
                    self.offers();
                }
                let rules = rules.map(|(answer, _)| answer).map_err(fault);
                let mut ours = ask.clone();
                if let (Intent::Wait { position: place @ Some(_) }, Some((_, ours))) =
                    (&mut ours.intent, self.places.get(&who))
                {
                    *place = Some(*ours);
                }
                let store = store.acquire(&name, &ours).await;
                listens(self.stage.server, &who.to_hex());
                self.answers(who, rules, store);
            }
            // A store may refuse a turn that finds the queue full before it looks any further.
            45..50 if self.rules.waiters.len() < self.limits.max_waiters => {
                let ask = self.ask(self.passed as u8 | 128);
                self.asking = ask.owner;
                let rules = self.rules(|rules, at| rules.turn(&who, &ask, client(&ask.owner), at));
                let rules = rules.map(|(answer, _)| answer).map_err(fault);
                let next = ask.owner;
                let store = store.turn(&name, &who, &ask).await;
                self.answers(next, rules, store);
                // It goes on under a proof that others have too.
                let rules = self.rules(|rules, at| rules.release(&next, Duration::ZERO, at).0);
                let store = self.stage.store.release(&name, &next, Duration::ZERO).await;
                self.both(Ok(released(rules)), store.map(released).map_err(said));
            }
            50..70 => {
                let keep = if self.random.happens(200) { TTL } else { Duration::ZERO };
                let rules = self.rules(|rules, at| rules.release(&who, keep, at).0);
                let store = store.release(&name, &who, keep).await;
                self.both(Ok(released(rules)), store.map(released).map_err(said));
            }
            70..78 => {
                let rules = self.rules(|rules, at| rules.renew(&who, TTL, at));
                self.offers();
                let hold = Renewal { name, owner: who, ttl: TTL };
                let store = store.renew(&[hold]).await.remove(0);
                self.both(Ok(renewed(rules)), store.map(renewed).map_err(said));
            }
            78..84 => {
                let held = self.rules.holders.iter().find(|holder| holder.owner == who);
                let least = Token::from_raw(1 << 20).unwrap();
                let theirs = held.map_or(least, |holder| holder.token);
                let ours = self.tokens.get(&theirs).copied().unwrap_or(least);
                let more = *self.random.choose(&[1, 7, 5_000]);
                let rises = self.random.happens(800);
                let change = |token: Token| {
                    let raw = token.get();
                    Token::from_raw(if rises { raw + more } else { raw - more }).unwrap()
                };
                let rules = self.rules(|rules, at| rules.raise(&who, change(theirs), at));
                self.offers();
                let store = store.raise(&name, &who, change(ours)).await;
                self.both(
                    Ok(format!("{rules:?}")),
                    store.map(|raised| format!("{raised:?}")).map_err(said),
                );
            }
            84..87 => {
                let rules = self.rules(|rules, at| rules.evict(at).0.holders);
                let store = store.evict(&name).await;
                let shown = |holders| shown(&Snapshot::new(holders, Vec::new())).0.join(", ");
                self.both(Ok(shown(rules)), store.map(shown).map_err(said));
            }
            87..93 => {
                let over = self.take_over(who);
                self.said.push(format!("{over:?}"));
                let rules = self.rules(|rules, at| rules.take_over(&over, client(&over.owner), at));
                let rules = rules.map(|(taken, _)| taken).map_err(fault);
                self.offers();
                let store = store.take_over(&name, &over).await;
                if let (Ok(TakenOver::Granted(rules)), Ok(TakenOver::Granted(store))) =
                    (&rules, &store)
                {
                    self.same(rules.token, store.token);
                }
                self.both(taken(rules), taken(store));
            }
            93..95 => {
                self.ear = match self.ear.take() {
                    Some(ear) => {
                        ear.close(self.stage.server);
                        None
                    }
                    None => Some(Ear::open(self.stage.server)),
                };
                self.said.push(format!("heard: {}", self.ear.is_some()));
            }
            95 => self.is_late(),
            _ => self.ends(),
        }
        let rules = self.rules(|rules, at| rules.inspect(at));
        let seen = self.stage.store.inspect(&self.stage.name).await.unwrap();
        assert_eq!(shown(&rules), shown(&seen), "the rules, and the store");
        head_is_right(self.stage.server);
        for key in lock_keys(self.stage.server) {
            let ends = self.stage.server.command(&["PTTL", &key]);
            assert_ne!(ends, Reply::Text("-1".to_owned()), "{key} never ends");
        }
        if self.rules.is_idle() {
            assert_eq!(lock_keys(self.stage.server), [] as [&str; 0], "nobody is there");
            self.places.clear();
        }
        for holder in &rules.holders {
            let same = seen.holders.iter().find(|one| one.label == holder.label).unwrap();
            self.same(holder.token.unwrap(), same.token.unwrap());
        }
        self.writes_slots(who).await;
    }

    /// Fails unless this owner may write the record of the slots here as it may by the rules.
    async fn writes_slots(&mut self, who: Owner) {
        // What is over is cleared away by the rules here, and by the scripts at the next call that changes something.
        let rules = self.rules(|rules, at| rules.clone().holds_alone(&who, at));
        let store = self
            .stage
            .store
            .write_slots(
                &self.stage.name,
                &who,
                &SlotsWrite { before: None, text: "ran".to_owned(), keep: TTL },
            )
            .await;
        let store = store.map(|written| written == SlotsWritten::Written).map_err(said);
        assert_eq!(Ok(rules), store, "the rules, and the store");
    }

    /// What has become free is offered by the next script, whatever it is. The rules leave that to
    /// calls that set something free; one by nobody is such a call and no more.
    fn offers(&mut self) {
        self.rules(|rules, at| drop(rules.release(&owner(u8::MAX), Duration::ZERO, at)));
    }

    fn ask(&mut self, number: u8) -> Ask {
        let position = self.places.get(&owner(number)).map(|(position, _)| *position);
        let position = position.filter(|_| self.random.happens(300));
        let wait = Intent::Wait { position };
        Ask {
            owner: owner(number),
            kind: *self.random.choose(&Kind::ALL),
            mode: *self.random.choose(&MODES),
            order: if self.random.happens(200) { Order::Barging } else { Order::Fifo },
            intent: if self.random.happens(300) { Intent::Try } else { wait },
            // Also one shorter than a place.
            ttl: *self.random.choose(&[TTL, TTL / 10]),
            label: number.to_string().into(),
        }
    }

    /// To anybody, who may hold or wait, most often in the mode in which it is held.
    fn take_over(&mut self, from: Owner) -> TakeOver {
        let Ask { owner, kind, mode, ttl, label, .. } = {
            let number = self.random.below(self.owners) as u8;
            self.ask(number)
        };
        let held = self.rules.holders.iter().find(|holder| [owner, from].contains(&holder.owner));
        let held = held.map(|holder| holder.mode).filter(|_| self.random.happens(900));
        let mode = held.unwrap_or(mode);
        TakeOver { from, owner, kind, mode, ttl, label, detached: self.random.happens(500) }
    }

    /// Lets one waiter be later than it said.
    fn is_late(&mut self) {
        let waiters = self.rules.waiters.iter_mut();
        let mut waiters: Vec<_> =
            waiters.filter(|waiter| waiter.keep_until > Timestamp::ZERO).collect();
        if waiters.is_empty() {
            return;
        }
        let waiter = waiters.swap_remove(self.random.below(waiters.len() as u64) as usize);
        waiter.asks_by = Timestamp::from_nanos(1);
        self.said.push(format!("late: {:?}", waiter.owner));
        is_late(self.stage.server, &waiter.owner.to_hex(), self.limits.position_ttl / 3);
    }

    /// Lets one hold, offer or place be over.
    fn ends(&mut self) {
        let server = self.stage.server;
        let all = ends(server);
        // One that has it alone ends with its key.
        let Some(member) = (!all.is_empty()).then(|| self.random.choose(&all).clone()) else {
            for lock in lock_keys(server) {
                server.command(&["DEL", &lock]);
            }
            self.rules.holders.clear();
            return;
        };
        is_over(server, &member);
        self.said.push(format!("over: {member}"));
        let of = |owner: &Owner| member.ends_with(&owner.to_hex());
        let over = Timestamp::ZERO;
        if member.starts_with('h') {
            let holders = self.rules.holders.iter_mut();
            holders.filter(|one| of(&one.owner)).for_each(|one| one.expires = over);
            return;
        }
        for waiter in self.rules.waiters.iter_mut().filter(|waiter| of(&waiter.owner)) {
            if member.starts_with('o') {
                waiter.presence = Presence::Offered(over);
            } else {
                waiter.keep_until = over;
            }
        }
    }
}

/// A client to whom the server sends all hints.
struct Ear(TcpStream);

impl Ear {
    fn open(server: &RedisServer) -> Self {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(b"PSUBSCRIBE *\r\n").unwrap();
        await_ears(server, "1");
        Self(stream)
    }

    fn close(self, server: &RedisServer) {
        drop(self.0);
        await_ears(server, "0");
    }
}

fn await_ears(server: &RedisServer, count: &str) {
    let give_up = Instant::now() + Duration::from_secs(20);
    while server.command(&["PUBSUB", "NUMPAT"]) != Reply::Text(count.to_owned()) {
        assert!(Instant::now() < give_up, "the server has no {count} subscriptions");
        std::thread::yield_now();
    }
}

/// Each is a process of its own.
fn client(owner: &Owner) -> Client {
    Client(*owner.as_bytes())
}

fn fault(error: QueueError) -> Fault {
    error.into()
}

fn said(fault: Fault) -> String {
    format!("{:?} {}", fault.kind(), fault.message())
}

fn answer(answer: Result<Answer, Fault>) -> Told {
    match answer.map_err(said)? {
        Answer::Granted { others_waiting, .. } => Ok(format!("granted, others {others_waiting}")),
        Answer::Busy { ahead, holder, position, .. } => Ok(format!(
            "busy, {ahead} ahead, holder {}, position {}",
            holder.is_some(),
            position.is_some()
        )),
    }
}

fn taken(taken: Result<TakenOver, Fault>) -> Told {
    Ok(match taken.map_err(said)? {
        TakenOver::Granted(grant) => format!("taken over, others {}", grant.others_waiting),
        TakenOver::NotHeld => "not held".to_owned(),
    })
}

fn released(released: Released) -> String {
    format!("{released:?}")
}

fn renewed(renewed: Renewed) -> String {
    match renewed {
        Renewed::Renewed { others_waiting, .. } => format!("renewed, others {others_waiting}"),
        other => format!("{other:?}"),
    }
}

/// Holders in any order, waiters in theirs.
fn shown(snapshot: &Snapshot) -> (Vec<String>, Vec<String>) {
    let holders = snapshot.holders.iter();
    let holders =
        holders.map(|one| format!("{} {:?} {:?} {}", one.label, one.kind, one.mode, one.lingering));
    let mut holders: Vec<_> = holders.collect();
    holders.sort_unstable();
    let waiters =
        snapshot.waiters.iter().map(|one| format!("{} {:?} {:?}", one.label, one.kind, one.mode));
    (holders, waiters.collect())
}

#[tokio::test]
async fn the_scripts_answer_as_the_rules_do() {
    let server = RedisServer::start();
    let address = server.address();
    let address = Address::Tcp { host: address.ip().to_string(), port: address.port() };
    // The stores themselves hear nothing, so their waiters name no channel.
    server.command(&["ACL", "SETUSER", "deaf", "on", "nopass", "~*", "&*", "+@all", "-subscribe"]);
    let options = |limits: &Limits| {
        let options = RedisOptions::new(address.clone()).user("deaf").password("");
        let options = options.position_ttl(limits.position_ttl).unwrap();
        let options = options.claim_window(limits.claim_window).unwrap();
        let options = options.max_waiters(limits.max_waiters).unwrap();
        options.max_holders(limits.max_holders).unwrap()
    };
    let seeds = std::env::var("TENURE_MODEL_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let seeds = seeds.map_or(0..RUNS, |seed| seed..seed + 1);
    for seed in seeds {
        server.command(&["FLUSHALL"]);
        let owners = OWNERS[(seed % 3) as usize];
        let limits = if owners > 6 { MANY } else { FEW };
        // Each remembers by itself where it met others.
        let stores = [(); 3].map(|()| RedisStore::new(options(&limits)).unwrap());
        let stage = Stage { server: &server, store: &stores[0], name: name("lock") };
        let random = Random::new(seed);
        let (rules, tokens, said) = (NameState::default(), BTreeMap::new(), Vec::new());
        let (places, ear) = (BTreeMap::new(), Some(Ear::open(&server)));
        let mut both = Both {
            stage,
            rules,
            random,
            limits,
            owners,
            ear,
            asking: owner(u8::MAX),
            passed: 0,
            tokens,
            places,
            said,
        };
        for _ in 0..CALLS {
            let store = both.random.below(3) as usize;
            let call = std::panic::AssertUnwindSafe(both.call(&stores[store]));
            if futures_util::FutureExt::catch_unwind(call).await.is_err() {
                let last = both.said.len().saturating_sub(40);
                panic!("TENURE_MODEL_SEED={seed}:\n{}", both.said[last..].join("\n"));
            }
        }
        if let Some(ear) = both.ear {
            ear.close(&server);
        }
    }
}
