//! What each call decides about a name.

use std::time::Duration;

use tenure_core::proto::{
    HoldId, Owner, Token,
    queue::{
        Answer, Ask, Evicted, Moment, NameState, Raised, Released, Snapshot, TakeOver, TakenOver,
    },
};

use crate::{
    decide::{Decision, Outcome},
    inner::Inner,
};

pub(crate) fn acquire<'a>(
    inner: &'a Inner,
    ask: &'a Ask,
) -> Decision<impl Fn(&mut NameState, &Moment<'_>) -> Outcome<Answer> + Send + Sync + 'a> {
    let client = inner.members.own();
    Decision {
        decide: move |state: &mut NameState, at: &Moment<'_>| state.acquire(ask, client, at),
        creates: true,
        repairs: false,
    }
}

pub(crate) fn turn<'a>(
    inner: &'a Inner,
    owner: &'a Owner,
    ask: &'a Ask,
) -> Decision<impl Fn(&mut NameState, &Moment<'_>) -> Outcome<Answer> + Send + Sync + 'a> {
    let client = inner.members.own();
    Decision {
        decide: move |state: &mut NameState, at: &Moment<'_>| state.turn(owner, ask, client, at),
        creates: true,
        repairs: false,
    }
}

pub(crate) fn take_over<'a>(
    inner: &'a Inner,
    over: &'a TakeOver,
) -> Decision<impl Fn(&mut NameState, &Moment<'_>) -> Outcome<TakenOver> + Send + Sync + 'a> {
    let client = inner.members.own();
    Decision {
        decide: move |state: &mut NameState, at: &Moment<'_>| state.take_over(over, client, at),
        creates: false,
        repairs: false,
    }
}

pub(crate) fn release(
    owner: &Owner,
    keep: Duration,
) -> Decision<impl Fn(&mut NameState, &Moment<'_>) -> Outcome<Released> + Send + Sync + '_> {
    Decision {
        decide: move |state: &mut NameState, at: &Moment<'_>| Ok(state.release(owner, keep, at)),
        creates: false,
        repairs: false,
    }
}

pub(crate) fn raise(
    owner: &Owner,
    token: Token,
) -> Decision<impl Fn(&mut NameState, &Moment<'_>) -> Outcome<Raised> + Send + Sync + '_> {
    Decision {
        decide: move |state: &mut NameState, at: &Moment<'_>| {
            Ok((state.raise(owner, token, at), Vec::new()))
        },
        creates: false,
        repairs: false,
    }
}

pub(crate) fn inspect()
-> Decision<impl Fn(&mut NameState, &Moment<'_>) -> Outcome<Snapshot> + Send + Sync> {
    Decision {
        decide: |state: &mut NameState, at: &Moment<'_>| Ok((state.inspect(at), Vec::new())),
        creates: false,
        repairs: false,
    }
}

pub(crate) fn evict()
-> Decision<impl Fn(&mut NameState, &Moment<'_>) -> Outcome<Evicted> + Send + Sync> {
    Decision {
        decide: |state: &mut NameState, at: &Moment<'_>| Ok(state.evict(at)),
        creates: false,
        repairs: true,
    }
}

pub(crate) fn evict_hold(
    hold: HoldId,
) -> Decision<impl Fn(&mut NameState, &Moment<'_>) -> Outcome<Evicted> + Send + Sync> {
    Decision {
        decide: move |state: &mut NameState, at: &Moment<'_>| Ok(state.evict_hold(hold, at)),
        creates: false,
        repairs: false,
    }
}
