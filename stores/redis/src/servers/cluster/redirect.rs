//! Where a node says that a command belongs.

use super::map::NOT_TOLD;
use crate::{client::Failure, options::HostPort};

/// The node that is to be asked instead. The one that said so did nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Redirect {
    /// It has the slot.
    Moved(u16, HostPort),
    /// It has this key, if anybody has; the slot is on its way.
    Ask(HostPort),
}

impl Redirect {
    /// What a node at `from` says, if it sends us elsewhere.
    pub(crate) fn of(failure: &Failure, from: &str) -> Option<Self> {
        let code = failure.code()?;
        let (slot, at) = failure.detail()?.split_once(' ')?;
        // A host may be an address with colons, and is left out when it is the same.
        let (host, port) = at.split_whitespace().next()?.rsplit_once(':')?;
        if host == NOT_TOLD {
            return None;
        }
        let host = if host.is_empty() { from } else { host };
        let place = (host.to_owned(), port.parse().ok()?);
        match code {
            "MOVED" => Some(Self::Moved(slot.parse().ok()?, place)),
            "ASK" => Some(Self::Ask(place)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ServerError;

    fn of(text: &str) -> Option<Redirect> {
        Redirect::of(&Failure::Server(Box::new(ServerError::new(text))), "here")
    }

    #[test]
    fn each_way_of_sending_elsewhere_is_understood() {
        let place = |host: &str| (host.to_owned(), 7);
        assert_eq!(of("MOVED 12 10.0.0.1:7"), Some(Redirect::Moved(12, place("10.0.0.1"))));
        assert_eq!(of("MOVED 12 :7"), Some(Redirect::Moved(12, place("here"))));
        assert_eq!(of("ASK 12 ::1:7"), Some(Redirect::Ask(place("::1"))));
        assert_eq!(of("ASK 12 host:7"), Some(Redirect::Ask(place("host"))));
    }

    #[test]
    fn what_sends_nowhere_is_none() {
        for text in [
            "MOVED",
            "MOVED 12",
            "MOVED 12 ?:7",
            "MOVED x h:7",
            "ASK 12 h:x",
            "TRYAGAIN 1 h:7",
            "ERR a b:1",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
