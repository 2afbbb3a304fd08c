//! The present session of a process, and its next one when it ends.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tenure_core::{Clock, Fault, HintBoard, SystemClock, threads::StoreThread};
use tenure_url::Certificates;
use tokio::time::timeout;

use crate::{
    ZookeeperOptions,
    client::{Client, Connector, Error, LastFailure, SessionState},
    config::options::LoginMethod,
    error,
    session::{Session, pause::SessionBackoff},
    validity,
};

/// How long sessions that nobody uses any more have to say so to the ensemble, which frees their nodes then.
const GOODBYE: Duration = Duration::from_secs(1);

/// All holds of a process belong to one session at a time.
pub(crate) struct Sessions {
    options: Arc<ZookeeperOptions>,
    place: String,
    pub(crate) home: StoreThread,
    pub(crate) board: HintBoard,
    present: Mutex<CurrentSession>,
    last_failure: LastFailure,
    /// Held by who begins the next one.
    beginning: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct CurrentSession {
    session: Option<Arc<Session>>,
    begun: u64,
    pause: SessionBackoff,
}

impl Sessions {
    pub(crate) fn new(options: Arc<ZookeeperOptions>, place: String) -> Result<Self, Fault> {
        Ok(Self {
            options,
            place,
            home: StoreThread::start("tenure-zookeeper", GOODBYE)?,
            board: HintBoard::new(),
            present: Mutex::default(),
            last_failure: LastFailure::default(),
            beginning: tokio::sync::Mutex::default(),
        })
    }

    /// The session, connected: the present one, or the next if that is over.
    pub(crate) async fn get(&self) -> Result<Arc<Session>, Fault> {
        self.get_within(self.options.response_timeout).await
    }

    /// The same with so long for it: a server that is silent takes two fifths of a session before the next one is
    /// tried.
    pub(crate) async fn get_within(&self, limit: Duration) -> Result<Arc<Session>, Fault> {
        match self.current_session() {
            Some(session) if session.is_connected() => Ok(session),
            _ => self.wait(limit).await,
        }
    }

    /// The present session, if it is not over, whether or not it is connected.
    pub(crate) fn current_session(&self) -> Option<Arc<Session>> {
        self.lock_current().session.clone().filter(|session| !session.is_over())
    }

    /// Waits for a connection, so that nothing is sent while there is none: what was not sent certainly had no
    /// effect.
    async fn wait(&self, limit: Duration) -> Result<Arc<Session>, Fault> {
        let away = |_| self.away();
        if let Some(session) = self.current_session() {
            let mut states = session.client().state_watcher();
            let connected = async {
                while !session.is_connected() && !session.is_over() {
                    states.changed().await;
                }
            };
            timeout(limit, connected).await.map_err(away)?;
            if !session.is_over() {
                return Ok(session);
            }
        }
        let begun = async {
            let _one = self.beginning.lock().await;
            match self.current_session() {
                Some(session) => Ok(session),
                None => {
                    tokio::time::sleep(self.pause()).await;
                    self.begin().await
                }
            }
        };
        timeout(limit, begun).await.map_err(|_| {
            if self.pause().is_zero() {
                return self.away();
            }
            self.away().because("each new session ended at once")
        })?
    }

    /// How long the next session has to wait.
    fn pause(&self) -> Duration {
        self.lock_current().pause.left(Instant::now())
    }

    async fn begin(&self) -> Result<Arc<Session>, Fault> {
        let connector = connector(&self.options)?.with_trouble(self.last_failure.clone());
        let servers = self.options.servers.clone();
        let digest = self.options.login().filter(|login| login.method == LoginMethod::Digest);
        let secret = match &digest {
            Some(login) => {
                let limit = self.options.response_timeout;
                Some(login.password.read(&login.user, &self.place, limit).await?)
            }
            None => None,
        };
        let sent = SystemClock.now();
        let connecting = self.home.spawn_owned(async move {
            let client = connector.connect(&servers).await?;
            if let (Some(login), Some(secret)) = (digest, secret) {
                let who = format!("{}:{}", login.user, secret.expose());
                client.auth("digest", who.as_bytes()).await?;
            }
            Ok(client)
        });
        let client = match connecting.outcome().await {
            Some(Ok(client)) => client,
            Some(Err(error @ (Error::Away(_) | Error::ConnectionLoss))) => {
                return Err(self.away().because(error));
            }
            Some(Err(error)) => {
                // It was begun, and over before it was of any use.
                self.lock_current().pause.begun(Instant::now());
                return Err(error::of_call(&self.place, error, false));
            }
            None => return Err(self.away()),
        };
        let mut present = self.lock_current();
        let session = Session::new(client, present.begun + 1, &self.options, &self.place, sent)?;
        let session = Arc::new(session);
        present.begun += 1;
        present.pause.begun(Instant::now());
        present.session = Some(session.clone());
        drop(present);
        self.watch(&session);
        self.spawn_heartbeat(&session);
        Ok(session)
    }

    /// What the session was is looked at whenever it changes: who waits asks again, what is held is renewed.
    fn watch(&self, session: &Arc<Session>) {
        let (watched, board) = (Arc::downgrade(session), self.board.clone());
        let mut states = session.client().state_watcher();
        self.home.spawn(async move {
            loop {
                let state = states.changed().await;
                let Some(session) = watched.upgrade() else { return };
                if state == SessionState::SyncConnected {
                    session.reconnected(SystemClock.now());
                }
                if state != SessionState::Disconnected {
                    board.evictions_missed();
                    board.wake_all();
                }
                if state.is_terminated() {
                    return;
                }
            }
        });
    }

    /// A session is never silent for long.
    fn spawn_heartbeat(&self, session: &Arc<Session>) {
        let pause = validity::pause(session.length(), self.options.tick);
        let speaks = Arc::downgrade(session);
        self.home.spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(session) = speaks.upgrade().filter(|session| !session.is_over()) else {
                    return;
                };
                session.send_heartbeat().await;
            }
        });
    }

    fn away(&self) -> Fault {
        let fault = error::away(&self.place, self.options.tls.is_some());
        match self.last_failure.last() {
            Some(why) => fault.because(why.to_string()),
            None => fault,
        }
    }

    fn lock_current(&self) -> MutexGuard<'_, CurrentSession> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("place", &self.place).finish_non_exhaustive()
    }
}

fn connector(options: &ZookeeperOptions) -> Result<Connector, Fault> {
    let connector = Client::connector().with_session_timeout(options.session);
    let connector = with_tls(connector, options.tls.as_ref())?;
    Ok(with_sasl(connector, options))
}

#[cfg(feature = "tls")]
fn with_tls(connector: Connector, files: Option<&Certificates>) -> Result<Connector, Fault> {
    // The authorities are those of the URL, which were read with it.
    Ok(match files {
        Some(files) => connector.with_tls(files.config()?),
        None => connector,
    })
}

#[cfg(not(feature = "tls"))]
fn with_tls(connector: Connector, _files: Option<&Certificates>) -> Result<Connector, Fault> {
    Ok(connector)
}

#[cfg(feature = "sasl")]
fn with_sasl(connector: Connector, options: &ZookeeperOptions) -> Connector {
    match options.login() {
        Some(login) if login.method == LoginMethod::Sasl => {
            connector.with_sasl(&login.user, login.password)
        }
        _ => connector,
    }
}

#[cfg(not(feature = "sasl"))]
fn with_sasl(connector: Connector, _options: &ZookeeperOptions) -> Connector {
    connector
}
