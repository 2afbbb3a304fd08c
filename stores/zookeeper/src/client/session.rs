//! The life of a session over its connections, one at a time.

use std::{sync::Arc, time::Duration};

use bytes::{Buf, Bytes};
#[cfg(feature = "sasl")]
use tenure_core::{Fault, FaultKind};
#[cfg(feature = "sasl")]
use tenure_url::{Password, Secret};
use tokio::{
    io::AsyncReadExt,
    sync::{mpsc, watch},
    time::{Instant, MissedTickBehavior, interval, sleep, timeout, timeout_at},
};

use super::{
    Client, Connector, Error, EventType, LastFailure, Result, SessionState,
    calls::{Call, Command, ROOM},
    live::{ANSWER, CHUNK, LiveConnection, PING, PendingRequest, write_some},
    servers::Servers,
    stream::{self, Encryption},
    watches::Watches,
    wire::{ConnectResponse, Reader, ReplyHeader, Writer, op},
};

/// As much as what begins a session may have.
const WELCOME: usize = 1024;
/// A connection that lasted for less does not make up for those that failed before: whoever hangs up again and again is
/// asked less and less often.
const SOUND: Duration = Duration::from_secs(1);

const NOTICE: i32 = -1;
const AUTH: i32 = -4;
const SET_WATCHES: i32 = -8;

impl Connector {
    /// Begins a session with one of these, on the runtime of the caller.
    ///
    /// # Cancel safety
    /// Dropped, it leaves a session at worst that ends by itself.
    pub(crate) async fn connect(self, servers: &[(String, u16)]) -> Result<Client> {
        let (commands, asked) = mpsc::channel(ROOM);
        let (tells, states) = watch::channel(SessionState::Disconnected);
        let mut session = SessionTask::new(self, servers, asked, commands.downgrade(), tells);
        let live = session.start().await?;
        let (id, length) = session.identity();
        tokio::spawn(session.run(live));
        Ok(Client { commands, states, id, length })
    }
}

struct SessionTask {
    servers: Servers,
    encryption: Option<Encryption>,
    #[cfg(feature = "sasl")]
    sasl: Option<(String, Password)>,
    last_failure: LastFailure,
    id: i64,
    password: Vec<u8>,
    length: Duration,
    /// The last transaction that a server told of.
    last: i64,
    xid: i32,
    /// Logins that worked.
    logins: Vec<Writer>,
    watches: Watches,
    /// When a server was heard of last.
    heard: Instant,
    commands: mpsc::Receiver<Command>,
    forgets: mpsc::WeakSender<Command>,
    states: watch::Sender<SessionState>,
    is_closing: bool,
}

impl SessionTask {
    fn new(
        connector: Connector,
        servers: &[(String, u16)],
        commands: mpsc::Receiver<Command>,
        forgets: mpsc::WeakSender<Command>,
        states: watch::Sender<SessionState>,
    ) -> Self {
        Self {
            servers: Servers::new(servers, getrandom::u64().unwrap_or_default()),
            encryption: connector.encryption,
            #[cfg(feature = "sasl")]
            sasl: connector.sasl,
            last_failure: connector.last_failure,
            id: 0,
            password: vec![0; 16],
            length: connector.length,
            last: 0,
            xid: 0,
            logins: Vec::new(),
            watches: Watches::default(),
            heard: Instant::now(),
            commands,
            forgets,
            states,
            is_closing: false,
        }
    }

    const fn identity(&self) -> (i64, Duration) {
        (self.id, self.length)
    }

    /// How long a server is waited for that is silent.
    fn patience(&self) -> Duration {
        self.length * 2 / 5
    }

    /// A connection with a server that goes on with the session, or begins it.
    async fn start(&mut self) -> Result<LiveConnection> {
        let goes_on = self.id != 0;
        // The ensemble has ended the session by then, whatever becomes of us.
        let whole = if goes_on { self.length * 7 / 5 } else { self.length };
        let until = self.heard + whole;
        // Nothing is held by it any more, whatever a server says that takes no login.
        let over = self.heard + self.length;
        let longest = if goes_on { Servers::longest_pause(self.length) } else { Duration::MAX };
        let (mut last, mut useless): (Option<Arc<str>>, _) = (None, 0);
        loop {
            let now = Instant::now();
            if now >= until {
                return Err(Error::Away(last.unwrap_or_else(|| "no server answered".into())));
            }
            let Some((pause, server)) = self.servers.next(longest) else {
                return Err(Error::Away("no server is named".into()));
            };
            sleep(pause.min(until - now)).await;
            match self.start_with(&server, until).await {
                Ok(live) => {
                    self.last_failure.tell(None);
                    self.states.send_replace(SessionState::SyncConnected);
                    return Ok(live);
                }
                // Another server, or another password, may do for a session that was there before.
                Err(error) if goes_on && error.refuses_login() && Instant::now() >= over => {
                    self.end(&server).await;
                    return Err(Error::SessionExpired);
                }
                Err(error) if error.ends_session() && !(goes_on && error.refuses_login()) => {
                    return Err(error);
                }
                Err(error) => {
                    let is_useless = matches!(error, Error::Untrusted(_) | Error::NoSasl);
                    useless = if is_useless { useless + 1 } else { 0 };
                    // Of no use later either, until somebody changes something.
                    if !goes_on && useless >= self.servers.count() {
                        return Err(error);
                    }
                    let (host, port) = &server;
                    let why: Arc<str> = match &error {
                        Error::Away(why) | Error::Untrusted(why) => why.clone(),
                        _ => format!("{host}:{port}: {error}").into(),
                    };
                    self.last_failure.tell(Some(why.clone()));
                    last = Some(why);
                }
            }
        }
    }

    /// Ends the session at a server that would keep it for as long again, as it was greeted, and takes no login. That it
    /// is ended so or not at all is no harm: nothing is held by it.
    async fn end(&mut self, (host, port): &(String, u16)) {
        let most = self.patience();
        let ending = async {
            let stream = stream::connect(host, *port, self.encryption.as_ref()).await;
            let mut live = LiveConnection::new(stream.map_err(|_| Error::ConnectionLoss)?);
            self.greet(&mut live).await?;
            live.asked_alone(op::CLOSE, &Writer::default()).await.map(drop)
        };
        let _: std::result::Result<Result<()>, _> = timeout(most, ending).await;
    }

    async fn start_with(
        &mut self,
        server: &(String, u16),
        until: Instant,
    ) -> Result<LiveConnection> {
        let (host, port) = server;
        let away = |why: String| Error::Away(format!("{host}:{port}: {why}").into());
        let (now, most) = (Instant::now(), self.patience());
        // Nothing is held yet where it begins.
        let patience = if self.id == 0 { most } else { self.servers.patience(self.length, most) };
        let connecting = stream::connect(host, *port, self.encryption.as_ref());
        let stream = timeout_at(until.min(now + patience), connecting).await;
        let stream = stream.map_err(|_| {
            self.servers.record_silence();
            away("it was not reached in time".to_owned())
        })?;
        let mut live = LiveConnection::new(stream.map_err(|error| {
            let why = format!("{host}:{port}: {error:#}").into();
            if stream::is_untrusted(&error) { Error::Untrusted(why) } else { Error::Away(why) }
        })?);
        let connected = now.elapsed();
        // Of a server that is not there nobody is asked for the password.
        #[cfg(feature = "sasl")]
        let login = match &self.sasl {
            Some((user, password)) => {
                let at = format!("{host}:{port}");
                let secret = password.read(&format!("{user}@{at}"), &at, most).await;
                let secret = secret.map_err(|fault| Error::Away(format!("{fault:#}").into()))?;
                Some((user.clone(), secret))
            }
            None => None,
        };
        let (reached, silent) = (Instant::now(), || away("it did not answer in time".to_owned()));
        let Ok(begun) = timeout(patience, self.greet(&mut live)).await else {
            self.servers.record_silence();
            return Err(silent());
        };
        begun?;
        self.servers.record_latency(connected.max(reached.elapsed()));
        #[cfg(feature = "sasl")]
        if let Some((user, secret)) = login {
            let login = super::sasl::log_in(&mut live, &user, secret.expose());
            let done = timeout(most, login).await.map_err(|_| silent())?;
            let was_right =
                self.record_login_result(&done, &format!("{user}@{host}:{port}"), &secret);
            if was_right {
                return Err(Error::Stale);
            }
            done?;
        }
        timeout(most, self.resume(&mut live)).await.map_err(|_| silent())??;
        Ok(live)
    }

    /// Notes whether a server took the password. Whether it refuses one of those that it took before.
    #[cfg(feature = "sasl")]
    fn record_login_result(&self, done: &Result<()>, login: &str, secret: &Secret) -> bool {
        let Some((_, password)) = &self.sasl else { return false };
        match done {
            Ok(()) => password.accepted(login),
            Err(Error::AuthFailed) => {
                let what = format!("{login} is refused with this password");
                let help = "correct it where it is read from";
                let fault = Fault::new(FaultKind::Misconfigured, what, help);
                return password.refused(login, secret, fault).is_transient();
            }
            Err(_) => {}
        }
        false
    }

    /// Begins the session, or goes on with it.
    async fn greet(&mut self, live: &mut LiveConnection) -> Result<()> {
        let mut body = Writer::default();
        body.int(0);
        body.long(self.last);
        body.int(i32::try_from(self.length.as_millis()).unwrap_or(i32::MAX));
        body.long(self.id);
        body.bytes(&self.password);
        // For reading alone.
        body.flag(false);
        live.frame(&[&body.0]);
        let welcome = ConnectResponse::read(&live.answer(WELCOME).await?)?;
        let is_new = self.id == 0;
        // What is counted on was said when it began.
        if !is_new && (welcome.id != self.id || welcome.length < self.length) {
            return Err(Error::SessionExpired);
        }
        if is_new {
            self.length = welcome.length;
        }
        ConnectResponse { id: self.id, password: self.password, .. } = welcome;
        self.heard = Instant::now();
        Ok(())
    }

    /// Does again what the last server was told.
    async fn resume(&mut self, live: &mut LiveConnection) -> Result<()> {
        for login in &self.logins {
            live.request(AUTH, op::AUTH, login);
            live.logins.push_back((login.clone(), None));
        }
        for body in self.watches.rewatch_requests(self.last) {
            live.request(SET_WATCHES, op::SET_WATCHES, &body);
            live.asked.push_back(PendingRequest { xid: SET_WATCHES, watch: None, answer: None });
        }
        // A server that wants a login says so to whatever else it is asked.
        live.ping();
        self.serve(live, true).await
    }

    /// Serves callers until the session is over.
    async fn run(mut self, mut live: LiveConnection) {
        let end = loop {
            let Err(error) = self.serve(&mut live, false).await else { continue };
            if live.begun.elapsed() >= SOUND {
                self.servers.record_success();
            }
            self.fail_pending_calls(live, &error);
            match error {
                Error::SessionExpired => break SessionState::Expired,
                Error::AuthFailed => break SessionState::AuthFailed,
                Error::ClientClosed => break SessionState::Closed,
                _ => {}
            }
            self.states.send_replace(SessionState::Disconnected);
            // The next server has to be told, too.
            self.is_closing = false;
            live = match self.start().await {
                Ok(live) => live,
                Err(Error::AuthFailed) => break SessionState::AuthFailed,
                Err(Error::Unproven) => break SessionState::Unproven,
                Err(_) => break SessionState::Expired,
            };
        };
        self.states.send_replace(end);
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            if let Command::Call(call) = command {
                let _ = call.answer.send(Err(end.error()));
            }
        }
    }

    /// Tells all who wait for an answer.
    fn fail_pending_calls(&mut self, live: LiveConnection, error: &Error) {
        self.watches.disconnected();
        let asked = live.asked.into_iter().filter_map(|asked| asked.answer);
        for answer in asked.chain(live.logins.into_iter().filter_map(|(_, answer)| answer)) {
            let _ = answer.send(Err(error.clone()));
        }
    }

    /// Reads, writes and is never silent for long, until the connection or the session is over. One that has just
    /// begun serves callers once all is settled.
    async fn serve(&mut self, live: &mut LiveConnection, begins: bool) -> Result<()> {
        let beat = (self.length / 20).max(Duration::from_millis(1));
        let mut beats = interval(beat);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if live.is_settled() {
                if begins {
                    return Ok(());
                }
                if self.is_closing {
                    return Err(Error::ClientClosed);
                }
            }
            let (writes, flushes) = (!live.output.is_empty(), live.needs_flush);
            let hears = !begins && !self.is_closing && live.has_room();
            live.input.reserve(CHUNK);
            tokio::select! {
                read = live.reader.read_buf(&mut live.input) => {
                    if read.map_err(|_| Error::ConnectionLoss)? == 0 {
                        return Err(Error::ConnectionLoss);
                    }
                    self.read_answers(live)?;
                }
                wrote = write_some(&mut live.writer, &live.output), if writes || flushes => {
                    live.output.advance(wrote?);
                    live.needs_flush = writes;
                    live.said = Instant::now();
                }
                command = self.commands.recv(), if hears => {
                    self.execute_command(live, command);
                    while live.has_room() && let Ok(command) = self.commands.try_recv() {
                        self.execute_command(live, Some(command));
                    }
                }
                _ = beats.tick() => {
                    let now = Instant::now();
                    if now >= live.heard + self.patience() {
                        return Err(Error::ConnectionLoss);
                    }
                    let pause = (3 * beat).min(Duration::from_secs(10));
                    if !live.is_pinging && now >= live.said + pause {
                        live.ping();
                    }
                }
            }
        }
    }

    fn execute_command(&mut self, live: &mut LiveConnection, command: Option<Command>) {
        match command {
            None => {
                self.is_closing = true;
                let xid = self.next_xid();
                live.request(xid, op::CLOSE, &Writer::default());
                live.asked.push_back(PendingRequest { xid, watch: None, answer: None });
            }
            // Also what nobody waits for any more: what is taken back by it would stay otherwise.
            Some(Command::Call(Call { op: op::AUTH, body, answer, .. })) => {
                live.request(AUTH, op::AUTH, &body);
                live.logins.push_back((body, Some(answer)));
            }
            Some(Command::Call(Call { op, body, watch, answer })) => {
                if let Some((kind, path)) = &watch {
                    self.watches.record_request(*kind, path);
                }
                let xid = self.next_xid();
                live.request(xid, op, &body);
                live.asked.push_back(PendingRequest { xid, watch, answer: Some(answer) });
            }
            Some(Command::Forget(watched)) => {
                if let Some((kind, path)) = self.watches.forget(watched) {
                    let mut body = Writer::default();
                    body.text(&path);
                    body.int(kind.number());
                    let xid = self.next_xid();
                    live.request(xid, op::REMOVE_WATCHES, &body);
                    live.asked.push_back(PendingRequest { xid, watch: None, answer: None });
                }
            }
        }
    }

    /// Numbers of requests are above zero: the others mean something else.
    fn next_xid(&mut self) -> i32 {
        self.xid = if self.xid == i32::MAX { 1 } else { self.xid + 1 };
        self.xid
    }

    fn read_answers(&mut self, live: &mut LiveConnection) -> Result<()> {
        live.heard = Instant::now();
        self.heard = live.heard;
        while let Some(answer) = live.next(ANSWER)? {
            self.handle_answer(live, answer)?;
        }
        Ok(())
    }

    fn handle_answer(&mut self, live: &mut LiveConnection, answer: Bytes) -> Result<()> {
        let mut reader = Reader(&answer);
        let ReplyHeader { xid, zxid, error } = ReplyHeader::read(&mut reader)?;
        let error = (error != 0).then(|| Error::of(error));
        if let Some(error @ (Error::SessionExpired | Error::AuthFailed)) = error {
            return Err(error);
        }
        match xid {
            NOTICE => {
                let (event, _) = (reader.int()?, reader.int()?);
                let event = EventType::of(event).ok_or(Error::Odd("it tells of what is none"))?;
                self.watches.notify_watchers(event, reader.text()?);
                return Ok(());
            }
            PING => {
                live.is_pinging = false;
                return Ok(());
            }
            AUTH => {
                let (body, answer) =
                    live.logins.pop_front().ok_or(Error::Odd("it answers to nothing"))?;
                if let Some(answer) = answer {
                    if error.is_none() {
                        self.logins.push(body);
                    }
                    let told = error.map_or_else(|| Ok((Bytes::new(), None)), Err);
                    let _ = answer.send(told);
                }
                return Ok(());
            }
            _ => {}
        }
        self.last = self.last.max(zxid);
        let asked = live.asked.pop_front().filter(|asked| asked.xid == xid);
        let asked = asked.ok_or(Error::Odd("it answers to what was not asked"))?;
        if let Some((kind, path)) = &asked.watch {
            self.watches.record_answer(*kind, path);
        }
        let Some(tells) = asked.answer else { return Ok(()) };
        let told = match error {
            Some(error) => Err(error),
            None => {
                let watcher = asked
                    .watch
                    .map(|(kind, path)| self.watches.add(kind, path, self.forgets.clone()));
                let body = answer.slice(answer.len() - reader.0.len()..);
                Ok((body, watcher))
            }
        };
        // Of who has gone the watcher goes, too, by being dropped here.
        let _ = tells.send(told);
        Ok(())
    }
}
