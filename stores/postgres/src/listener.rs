//! Messages from other processes: whose turn it is, and what was evicted.

use std::{
    future::poll_fn,
    mem,
    sync::{Weak, atomic::Ordering},
    time::Duration,
};

use tenure_core::{Fault, FaultKind, store::HintBoard};
use tokio::sync::mpsc;
use tokio_postgres::AsyncMessage;

use crate::{
    common::Common,
    connect::connect,
    error,
    lane::Maker,
    messages::{self, HELLO, Message},
    query::Parameters,
};

/// How often it is looked whether messages still come, and how long one may take.
const LOOKS: Duration = Duration::from_secs(20);
const LIMIT: Duration = Duration::from_secs(2);
/// The first and the longest pause before a new connection.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(2));
/// The pause where messages do not come although the connection is there: a pooler gives it to others.
const DEAF: Duration = Duration::from_secs(60);

/// Why it is over.
enum Over {
    Broken(Fault),
    /// No message comes.
    Deaf,
}

/// What hears.
pub(crate) struct Listener {
    pub(crate) maker: Maker,
    pub(crate) board: HintBoard,
    pub(crate) channel: String,
    /// Not kept alive by it.
    pub(crate) store: Weak<Common>,
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
                Over::Broken(fault) => {
                    tracing::debug!(store = "postgres", %fault, "no messages for a while");
                    pause = (pause * 2).min(PAUSES.1);
                }
                Over::Deaf => {
                    if !was_deaf || pause == PAUSES.0 {
                        tracing::warn!(
                            store = "postgres",
                            location = store.location,
                            "no messages come, as behind a pooler that keeps no session: waiters look by themselves"
                        );
                    }
                    pause = DEAF;
                }
            }
            drop(store);
            tokio::time::sleep(pause).await;
        }
    }

    async fn hear(&self, pause: &mut Duration) -> Over {
        let maker = &self.maker;
        let (connection, mut polled) = match connect(&maker.options, &maker.tls).await {
            Ok(made) => made,
            Err(fault) => return Over::Broken(fault),
        };
        let (told, mut hears) = mpsc::channel::<()>(1);
        let board = self.board.clone();
        // It ends with the connection, which ends with this call.
        maker.home.spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| polled.poll(context)).await {
                if let AsyncMessage::Notification(message) = message {
                    heard(message.payload(), &board, &told);
                }
            }
        });
        match tokio::time::timeout(LIMIT, connection.check(&maker.options)).await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => return Over::Broken(fault),
            Err(_) => return broken(),
        }
        // What a session listens to that a pooler gives to others, these would be told.
        if !connection.is_direct.load(Ordering::Relaxed) {
            return Over::Deaf;
        }
        let listen = format!("listen {}", self.channel);
        match tokio::time::timeout(LIMIT, connection.client.batch_execute(&listen)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Over::Broken(error::of_statement(error, false).fault()),
            Err(_) => return broken(),
        }
        let mut is_first = true;
        loop {
            if let Err(fault) = self.say_hello().await {
                return Over::Broken(fault);
            }
            match tokio::time::timeout(LIMIT, hears.recv()).await {
                Ok(Some(())) => {}
                Ok(None) => return broken(),
                Err(_) => return Over::Deaf,
            }
            if mem::take(&mut is_first) {
                *pause = PAUSES.0;
                let Some(store) = self.store.upgrade() else { return broken() };
                store.is_deaf.store(false, Ordering::Relaxed);
                self.board.wake_all();
                self.board.evictions_missed();
            }
            // Nobody else says anything there, so an end comes early.
            if let Ok(None) = tokio::time::timeout(LOOKS, hears.recv()).await {
                return broken();
            }
        }
    }

    /// By another connection: behind a pooler this one's own message could find its way by chance.
    async fn say_hello(&self) -> Result<(), Fault> {
        let Some(store) = self.store.upgrade() else { return Ok(()) };
        let parameters: &Parameters<'_> = &[&self.channel, &HELLO];
        store.engine.run(&store.statements.notify, parameters, false, LIMIT).await.map(|_| ())
    }
}

fn broken() -> Over {
    let what = "the connection for messages broke";
    Over::Broken(Fault::new(FaultKind::Unreachable, what, "it is made anew"))
}

fn heard(payload: &str, board: &HintBoard, told: &mpsc::Sender<()>) {
    match messages::read(payload) {
        Message::Wake(owner) => board.wake(&owner),
        Message::Eviction(name) => board.evicted(&name),
        Message::Hello => {
            // Once is enough.
            let _ = told.try_send(());
        }
    }
}
