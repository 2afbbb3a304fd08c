//! PostgreSQL for the figures: bare statements by hand, and advisory locks.

mod advisory;
mod row;
mod server;
mod session;

use crate::servers::sql::Said;

pub(crate) use self::{advisory::Advisory, row::Row, server::Server};

/// What is said of it.
const SAID: Said = Said {
    own: "advisory lock",
    parts: ["postgres", "postgres by hand", "advisory"],
    pair: "One task, each contestant with sessions of its own. They take turns, 50 pairs each time. By hand is one \
           insert … on conflict do update … where, and one update, prepared, over the same driver on a table of the \
           same columns. An advisory lock writes nothing, and is gone with its session.",
    handoff: "Two processes take turns; the one always waits when the other releases. By hand one update lets go of \
              the row and tells who listens, and the other takes the row by one insert … on conflict do update … \
              where.",
    crowd: "What the server ran. By hand everybody who waits tries to take the row whenever somebody lets go.",
    goal: Some("tenure at most 1.15 times by hand"),
};
