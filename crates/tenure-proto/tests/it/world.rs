//! One name, a clock and contenders, for tests to play with.

use std::{collections::BTreeSet, time::Duration};

use tenure_proto::{
    Owner, Renewed, Timestamp, Token,
    queue::{
        Answer, Ask, Client, DecisionContext, Intent, Kind, Limits, Mode, NameState, Order,
        Position, QueueError, Released, Snapshot, TakeOver, TakenOver, Wake,
    },
};

pub(crate) const LIMITS: Limits = Limits {
    claim_window: ms(500),
    position_ttl: ms(9_000),
    look: ms(1_000),
    max_waiters: 8,
    max_holders: 8,
    notices_absence: true,
    kinds_may_mix: true,
};

/// The lease that contenders ask for unless a test says otherwise.
pub(crate) const TTL: Duration = ms(10_000);

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn at(millis: u64) -> Timestamp {
    Timestamp::ZERO.saturating_add(ms(millis))
}

pub(crate) fn owner(number: u8) -> Owner {
    Owner::from_bytes([number; 16])
}

/// Each contender is a process of its own.
pub(crate) fn client(number: u8) -> Client {
    Client([number; 16])
}

/// A waiting, exclusive ask in order of asking; tests change what they are about.
pub(crate) fn ask(number: u8) -> Ask {
    Ask {
        owner: owner(number),
        kind: Kind::Mutex,
        mode: Mode::Exclusive,
        order: Order::Fifo,
        intent: Intent::Wait { position: None },
        ttl: TTL,
        label: format!("contender {number}").into(),
    }
}

pub(crate) fn shared(number: u8) -> Ask {
    Ask { mode: Mode::Shared, ..ask(number) }
}

pub(crate) fn permits(number: u8, take: u32, of: u32) -> Ask {
    Ask { mode: Mode::Permits { take, of }, ..ask(number) }
}

/// One owner takes an exclusive hold over from another.
pub(crate) fn taking_over(from: u8, to: u8) -> TakeOver {
    let Ask { owner: heir, kind, mode, ttl, label, .. } = ask(to);
    TakeOver { from: owner(from), owner: heir, kind, mode, ttl, label, detached: false }
}

pub(crate) fn a_try(ask: Ask) -> Ask {
    Ask { intent: Intent::Try, ..ask }
}

pub(crate) struct World {
    pub(crate) state: NameState,
    pub(crate) now: Timestamp,
    pub(crate) wall: u64,
    pub(crate) limits: Limits,
    pub(crate) dead: BTreeSet<Client>,
    /// Those whom no wake-up reaches, and the store can tell.
    pub(crate) cut_off: BTreeSet<Client>,
    /// Who was woken by the last call.
    pub(crate) woken: Vec<Owner>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            state: NameState::default(),
            now: at(1_000),
            wall: 1_700_000_000_000_000,
            limits: LIMITS,
            dead: BTreeSet::new(),
            cut_off: BTreeSet::new(),
            woken: Vec::new(),
        }
    }

    /// Lets time go by.
    pub(crate) fn later(&mut self, length: Duration) {
        self.now = self.now.saturating_add(length);
        self.wall += u64::try_from(length.as_micros()).unwrap_or(0);
    }

    /// A process ends, and the store can tell.
    pub(crate) fn kill(&mut self, number: u8) {
        self.dead.insert(client(number));
    }

    pub(crate) fn decide<T>(
        &mut self,
        decision: impl FnOnce(&mut NameState, &DecisionContext<'_>) -> (T, Vec<Wake>),
    ) -> T {
        let (dead, cut_off) = (&self.dead, &self.cut_off);
        let moment = DecisionContext {
            now: self.now,
            wall: self.wall,
            limits: &self.limits,
            alive: &|client| !dead.contains(&client),
            reachable: &|client| !cut_off.contains(&client),
        };
        let (answer, wake) = decision(&mut self.state, &moment);
        self.woken = wake.into_iter().map(|wake| wake.owner).collect();
        answer
    }

    pub(crate) fn try_acquire(&mut self, ask: &Ask) -> Result<Answer, QueueError> {
        let client = Client(*ask.owner.as_bytes());
        self.decide(|state, at| refusable(state.acquire(ask, client, at)))
    }

    pub(crate) fn acquire(&mut self, ask: &Ask) -> Answer {
        self.try_acquire(ask).expect("the ask is in order")
    }

    /// The token of an ask that is granted.
    pub(crate) fn take(&mut self, ask: &Ask) -> Token {
        match self.acquire(ask) {
            Answer::Granted { token, .. } => token,
            busy @ Answer::Busy { .. } => panic!("{ask:?} was answered {busy:?}"),
        }
    }

    /// The place of an ask that has to wait.
    pub(crate) fn queue(&mut self, ask: &Ask) -> Position {
        match self.acquire(ask) {
            Answer::Busy { position: Some(place), .. } => place,
            other => panic!("{ask:?} was answered {other:?}"),
        }
    }

    pub(crate) fn turn(&mut self, number: u8, ask: &Ask) -> Result<Answer, QueueError> {
        let client = Client(*ask.owner.as_bytes());
        self.decide(|state, at| refusable(state.turn(&owner(number), ask, client, at)))
    }

    pub(crate) fn take_over(&mut self, over: &TakeOver) -> Result<TakenOver, QueueError> {
        let client = Client(*over.owner.as_bytes());
        self.decide(|state, at| refusable(state.take_over(over, client, at)))
    }

    pub(crate) fn renew(&mut self, number: u8) -> Renewed {
        self.decide(|state, at| (state.renew(&owner(number), TTL, at), Vec::new()))
    }

    pub(crate) fn release(&mut self, number: u8) -> Released {
        self.release_keeping(number, Duration::ZERO)
    }

    pub(crate) fn release_keeping(&mut self, number: u8, keep: Duration) -> Released {
        self.decide(|state, at| state.release(&owner(number), keep, at))
    }

    pub(crate) fn inspect(&mut self) -> Snapshot {
        self.decide(|state, at| (state.inspect(at), Vec::new()))
    }
}

fn refusable<T>(outcome: Result<(T, Vec<Wake>), QueueError>) -> (Result<T, QueueError>, Vec<Wake>) {
    match outcome {
        Ok((answer, wake)) => (Ok(answer), wake),
        Err(error) => (Err(error), Vec::new()),
    }
}

pub(crate) fn is_busy(answer: &Answer) -> bool {
    matches!(answer, Answer::Busy { .. })
}

pub(crate) fn retry_after(answer: &Answer) -> Duration {
    match answer {
        Answer::Busy { retry_after, .. } => *retry_after,
        Answer::Granted { .. } => panic!("it was granted"),
    }
}

pub(crate) fn ahead(answer: &Answer) -> u32 {
    match answer {
        Answer::Busy { ahead, .. } => *ahead,
        Answer::Granted { .. } => panic!("it was granted"),
    }
}
