//! Messages from other processes: whose turn it is, and what was evicted.

use std::{
    mem,
    sync::{Weak, atomic::Ordering},
    time::Duration,
};

use tenure_core::{Fault, FaultKind};
use tokio::time::timeout;

use crate::{
    connection::open::Connection,
    database::{
        common::StoreContext,
        query::{Parameters, Requester},
    },
    error,
    tables::messages::HELLO,
};

/// How often it is looked whether messages still come, and how long one may take.
const LOOKS: Duration = Duration::from_secs(20);
const LIMIT: Duration = Duration::from_secs(2);
/// The first and the longest pause before a new connection.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(2));
/// The pause where messages do not come although the connection is there: a pooler gives it to others.
const DEAF: Duration = Duration::from_secs(60);

/// Why it is over.
enum ListenerEnd {
    Broken(Fault),
    /// No message comes.
    Deaf,
}

/// What sees to it that messages come.
pub(crate) struct Listener {
    pub(crate) channel: String,
    /// Not kept alive by it.
    pub(crate) store: Weak<StoreContext>,
}

impl Listener {
    /// Hears messages for as long as the store is there.
    pub(crate) async fn listen(self) {
        let mut pause = PAUSES.0;
        loop {
            let over = self.hear(&mut pause).await;
            let Some(store) = self.store.upgrade() else { return };
            let was_deaf = store.is_deaf.swap(true, Ordering::Relaxed);
            match over {
                ListenerEnd::Broken(fault) => {
                    tracing::debug!(store = "postgres", fault = %format_args!("{fault:#}"), "no messages for a while");
                    pause = (pause * 2).min(PAUSES.1);
                }
                ListenerEnd::Deaf => {
                    if !was_deaf || pause == PAUSES.0 {
                        tracing::warn!(
                            store = "postgres",
                            location = store.location,
                            "no messages arrive, as behind a pooler that keeps no session: \
                             waiters ask on their own"
                        );
                    }
                    pause = DEAF;
                }
            }
            drop(store);
            tokio::time::sleep(pause).await;
        }
    }

    async fn hear(&self, pause: &mut Duration) -> ListenerEnd {
        let Some(store) = self.store.upgrade() else { return broken() };
        let (mail, lanes) = (store.maker.mail.clone(), store.lanes.clone());
        drop(store);
        let connection = match lanes.own.get().await {
            Ok(connection) => connection,
            Err(fault) => return ListenerEnd::Broken(fault),
        };
        // What a session listens to that a pooler gives to others, these would be told.
        if !connection.is_direct.load(Ordering::Relaxed) {
            return ListenerEnd::Deaf;
        }
        let listen = format!("listen {}", self.channel);
        match timeout(LIMIT, connection.client.batch_execute(&listen)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                return ListenerEnd::Broken(error::of_statement(error, false).fault());
            }
            Err(_) => return retire_connection(&connection),
        }
        drop(lanes);
        let mut is_first = true;
        loop {
            if let Err(fault) = self.say_hello().await {
                return ListenerEnd::Broken(fault);
            }
            match timeout(LIMIT, mail.hello.notified()).await {
                Ok(()) => {}
                Err(_) if connection.flights.load() > 0 => return retire_connection(&connection),
                Err(_) => return ListenerEnd::Deaf,
            }
            if mem::take(&mut is_first) {
                *pause = PAUSES.0;
                let Some(store) = self.store.upgrade() else { return broken() };
                store.is_deaf.store(false, Ordering::Relaxed);
                mail.board.wake_all();
                mail.board.evictions_missed();
            }
            // Its end comes early.
            if timeout(LOOKS, connection.heard.wait_until_over()).await.is_ok() {
                return broken();
            }
        }
    }

    /// By a connection of callers: behind a pooler this one's own message could find its way by chance.
    async fn say_hello(&self) -> Result<(), Fault> {
        let Some(store) = self.store.upgrade() else { return Ok(()) };
        let parameters: &Parameters<'_> = &[&self.channel, &HELLO];
        let (lanes, notify) = (&store.lanes, &store.statements.notify);
        lanes.run(Requester::Caller, notify, parameters, false, LIMIT).await.map(|_| ())
    }
}

/// It says nothing, and is not used any more.
fn retire_connection(connection: &Connection) -> ListenerEnd {
    connection.retire();
    broken()
}

fn broken() -> ListenerEnd {
    let what = "the connection for messages broke";
    ListenerEnd::Broken(Fault::new(FaultKind::Unreachable, what, "tenure opens a new one"))
}
