//! What each call decides about a name.

pub(crate) mod decide;
pub(crate) mod listing;
pub(crate) mod looks;
pub(crate) mod renewal;
pub(crate) mod slots;

use std::{collections::BTreeSet, time::Duration};

use tenure_core::proto::{
    HoldId, Owner, Token,
    queue::{
        Answer, Ask, Client, DecisionContext, Evicted, NameState, Raised, Released, Snapshot,
        TakeOver, TakenOver,
    },
};

use crate::{
    decisions::decide::{Decision, DecisionResult},
    inner::Inner,
};

pub(crate) fn acquire<'a>(
    inner: &'a Inner,
    ask: &'a Ask,
) -> Decision<
    impl Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<Answer> + Send + Sync + 'a,
> {
    let client = inner.members.own();
    Decision {
        decide: move |state: &mut NameState, at: &DecisionContext<'_>| {
            state.acquire(ask, client, at)
        },
        creates: true,
        repairs: false,
    }
}

pub(crate) fn turn<'a>(
    inner: &'a Inner,
    owner: &'a Owner,
    ask: &'a Ask,
) -> Decision<
    impl Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<Answer> + Send + Sync + 'a,
> {
    let client = inner.members.own();
    Decision {
        decide: move |state: &mut NameState, at: &DecisionContext<'_>| {
            state.turn(owner, ask, client, at)
        },
        creates: true,
        repairs: false,
    }
}

pub(crate) fn take_over<'a>(
    inner: &'a Inner,
    over: &'a TakeOver,
) -> Decision<
    impl Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<TakenOver> + Send + Sync + 'a,
> {
    let client = inner.members.own();
    Decision {
        decide: move |state: &mut NameState, at: &DecisionContext<'_>| {
            state.take_over(over, client, at)
        },
        creates: false,
        repairs: false,
    }
}

pub(crate) fn release(
    owner: &Owner,
    keep: Duration,
) -> Decision<
    impl Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<Released> + Send + Sync + '_,
> {
    Decision {
        decide: move |state: &mut NameState, at: &DecisionContext<'_>| {
            Ok(state.release(owner, keep, at))
        },
        creates: false,
        repairs: false,
    }
}

pub(crate) fn raise(
    owner: &Owner,
    token: Token,
) -> Decision<
    impl Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<Raised> + Send + Sync + '_,
> {
    Decision {
        decide: move |state: &mut NameState, at: &DecisionContext<'_>| {
            Ok((state.raise(owner, token, at), Vec::new()))
        },
        creates: false,
        repairs: false,
    }
}

pub(crate) fn inspect()
-> Decision<impl Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<Snapshot> + Send + Sync>
{
    Decision {
        decide: |state: &mut NameState, at: &DecisionContext<'_>| {
            Ok((state.inspect(at), Vec::new()))
        },
        creates: false,
        repairs: false,
    }
}

pub(crate) fn holding_clients() -> Decision<
    impl Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<BTreeSet<Client>> + Send + Sync,
> {
    Decision {
        decide: |state: &mut NameState, at: &DecisionContext<'_>| {
            Ok((state.holding_clients(at), Vec::new()))
        },
        creates: false,
        repairs: false,
    }
}

pub(crate) fn evict()
-> Decision<impl Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<Evicted> + Send + Sync>
{
    Decision {
        decide: |state: &mut NameState, at: &DecisionContext<'_>| Ok(state.evict(at)),
        creates: false,
        repairs: true,
    }
}

pub(crate) fn evict_hold(
    hold: HoldId,
) -> Decision<impl Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<Evicted> + Send + Sync>
{
    Decision {
        decide: move |state: &mut NameState, at: &DecisionContext<'_>| {
            Ok(state.evict_hold(hold, at))
        },
        creates: false,
        repairs: false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use std::sync::{Arc, atomic::Ordering};

    use tenure_core::{
        FaultKind, LockName,
        proto::queue::{Intent, Kind, Mode, Order},
    };

    use super::*;
    use crate::{
        decisions::decide::CancelFlag,
        inner::LIMITS,
        machine::{ThisMachine, lock_directory::LockDirectory},
    };

    fn ask(number: u32) -> Ask {
        let mut owner = [7; 16];
        owner[..4].copy_from_slice(&number.to_be_bytes());
        Ask {
            owner: Owner::from_bytes(owner),
            kind: Kind::Mutex,
            mode: Mode::Exclusive,
            order: Order::Fifo,
            intent: Intent::Wait { position: None },
            ttl: Duration::from_secs(60),
            label: "test".into(),
        }
    }

    #[test]
    fn a_decision_looks_once_at_each_member_however_many_of_its_contenders_there_are() {
        let dir = tempfile::tempdir().unwrap();
        let open = || Inner::open(LockDirectory::named(dir.path()), Arc::new(ThisMachine)).unwrap();
        let stores = [open(), open(), open()];
        let name = LockName::new("crowd").unwrap();
        let asks = |store: &Inner, number| {
            let ask = ask(number);
            store.decide_blocking(&name, &acquire(store, &ask), &CancelFlag::default())
        };
        for number in 0..=LIMITS.max_waiters {
            let store = &stores[usize::from(number % 2 == 0)];
            let is_first = number == 0;
            let answer = asks(store, u32::try_from(number).unwrap()).unwrap();
            assert_eq!(matches!(answer, Answer::Granted { .. }), is_first);
        }
        let refused = asks(&stores[2], u32::MAX).unwrap_err();
        assert_eq!(refused.kind(), FaultKind::Full);
        assert_eq!(stores[2].members.looks.load(Ordering::Relaxed), 2, "two others contend");
    }
}
