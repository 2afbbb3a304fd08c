//! MariaDB for the figures: bare statements by hand, and `GET_LOCK`.

mod get_lock;
mod row;
mod server;
mod session;

use crate::servers::sql::Said;

pub(crate) use self::{get_lock::GetLock, row::Row, server::Server};

/// What is said of it.
const SAID: Said = Said {
    own: "GET_LOCK",
    parts: ["mysql", "mysql by hand", "GET_LOCK"],
    pair: "One task, each contestant with sessions of its own. They take turns, 50 pairs each time. By hand is one \
           insert … on duplicate key update that leaves a row as it is where somebody has it, and one update, prepared, \
           over the same driver on a table of the same columns. GET_LOCK writes nothing, and is gone with its session.",
    handoff: "Two processes take turns; the one always waits when the other releases. By hand one update lets go of \
              the row, and the other tries every 50 ms to take it by one insert … on duplicate key update: the server \
              sends no messages. So it may be had again by who let go of it, and the other waits on. GET_LOCK waits at the \
              server.",
    crowd: "What the server ran. By hand everybody who waits tries every 50 ms to take the row.",
    goal: None,
};
