//! What one member has in a name: its holds and places, which end with it.

use tenure_core::proto::{
    Timestamp,
    queue::{Client, NameState, Presence},
};

/// How many there are, and until when the last of them counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContenderCount {
    pub(crate) count: u64,
    pub(crate) until: Timestamp,
}

impl ContenderCount {
    /// What `client` has in `state`. What stays taken after its release is nobody's any more.
    pub(crate) fn of(client: Client, state: &NameState) -> Self {
        let holds = state.holders.iter().filter(|hold| hold.client == client && !hold.lingering);
        let places = state.waiters.iter().filter(|place| place.client == client);
        let ends = holds.map(|hold| hold.expires).chain(places.map(|place| match place.presence {
            Presence::Offered(until) => until.max(place.keep_until),
            Presence::Present | Presence::Absent => place.keep_until,
        }));
        ends.fold(Self::default(), |stake, end| Self {
            count: stake.count + 1,
            until: stake.until.max(end),
        })
    }
}
