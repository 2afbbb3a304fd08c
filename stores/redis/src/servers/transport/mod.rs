//! Commands to the servers: one connection to each for each tokio runtime that calls, opened when it is
//! first used and opened anew after it broke.
//!
//! Nothing is ever sent twice by itself: what may have taken effect is the caller's to ask again. A node of
//! a cluster that sends us elsewhere did nothing.

pub(crate) mod lending;
mod opening;
mod shortage;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use tenure_core::Fault;

use self::shortage::ConnectionQueue;
use crate::{
    client::{
        BatchKind, Connection, CorrelationId, Failure, HashTag, Script, ScriptCall, UnknownOutcome,
        Value,
        connection::{batch::CallReply, pipeline::SendMode},
        error,
        protocol::{call::delete_if, echo},
    },
    options::RedisOptions,
    servers::{
        NodeRef, Topology,
        cluster::Redirect,
        connect::ConnectionPurpose,
        error::{of_scan, sent_around},
        format::{self, FormatError},
        keys,
        links::{ConnectionsByRuntime, LiveConnection, RuntimeConnections, ServerLink},
    },
};

/// Beyond how many connections those are given up that were opened for one look.
const MOST_LEFT_OPEN: usize = 64;
/// How often in a row a node may send a call elsewhere.
const REDIRECTS: u32 = 5;

/// The answer to a call that others may have gone with.
pub(crate) enum BatchedReply<Whole = Value> {
    /// The reply behind its echo, as if it had gone alone.
    Whole(Whole),
    /// Its part of the reply to all of them.
    Part(Value),
}

#[derive(Debug)]
pub(crate) struct Transport {
    pub(crate) options: Arc<RedisOptions>,
    pub(crate) place: String,
    pub(crate) route: Arc<Topology>,
    runtimes: Arc<ConnectionsByRuntime>,
    /// Those of another transport, over whose connections calls go where none can be opened.
    others: Option<Arc<ConnectionsByRuntime>>,
    shortage: Arc<ConnectionQueue>,
    /// What goes together over one connection.
    batches: &'static [&'static BatchKind],
    compares: Arc<AtomicBool>,
    /// Of which tags the number of the format was asked for in a cluster.
    known_formats: [AtomicU64; HashTag::COUNT / 64],
}

/// A connection to the server that has a lock.
struct RoutedConnection {
    here: Arc<RuntimeConnections>,
    link: Arc<ServerLink>,
    open: LiveConnection,
}

/// What is sent about one lock.
#[derive(Clone, Copy)]
enum Request<'a> {
    Script(&'a Script, &'a ScriptCall),
    /// Deletes a key with this tag if it has the value; both are written in parts.
    DeleteIf(HashTag, &'a [&'a [u8]], &'a [&'a [u8]]),
    /// A command about another key.
    Words(&'a [&'a str]),
}

impl Request<'_> {
    fn tag(&self) -> HashTag {
        match self {
            Self::Script(_, call) => call.tag,
            Self::DeleteIf(tag, ..) => *tag,
            Self::Words(_) => HashTag::default(),
        }
    }

    const fn makes_tokens(&self) -> bool {
        matches!(self, Self::Script(script, _) if script.makes_tokens)
    }

    async fn send(&self, connection: &Connection, manner: SendMode) -> Result<Value, Failure> {
        match self {
            Self::Script(script, call) => connection.run(call, script, manner).await,
            Self::DeleteIf(_, key, value) => match connection.compare.words() {
                Some(words) => {
                    connection.write(&|out| delete_if(words, key, value, out), manner).await
                }
                // As if the key had another value: then a script is asked.
                None => Ok(Value::Int(0)),
            },
            Self::Words(words) => connection.send_as(words, manner).await,
        }
    }
}

impl Transport {
    /// What its connections are for.
    pub(crate) fn purpose(&self) -> ConnectionPurpose {
        ConnectionPurpose::Calls(self.batches)
    }

    pub(crate) fn new(
        options: Arc<RedisOptions>,
        route: Arc<Topology>,
        batches: &'static [&'static BatchKind],
    ) -> Self {
        let place = options.location();
        let compares = Arc::default();
        let known_formats = [const { AtomicU64::new(0) }; _];
        let (runtimes, others, shortage) = (Arc::default(), None, Arc::default());
        Self { options, place, route, runtimes, others, shortage, batches, compares, known_formats }
    }

    /// One with connections of its own, for what is not to wait for the calls of this one. While it cannot open one, as
    /// where descriptors are lacking, it uses one of these.
    pub(crate) fn with_own_connections(&self) -> Self {
        let mut beside = Self::new(self.options.clone(), self.route.clone(), self.batches);
        beside.others = Some(self.runtimes.clone());
        beside.shortage = self.shortage.clone();
        beside
    }

    /// Runs a script whose reply begins with `echo`, and answers with the rest of the reply.
    pub(crate) async fn run(
        &self,
        script: &Script,
        echo: &CorrelationId,
        call: ScriptCall,
    ) -> Result<Value, Fault> {
        let (at, answer) = self.request(Request::Script(script, &call)).await?;
        self.reply(&at, echo, answer)
    }

    /// Sends it to the server that has the lock.
    async fn request(
        &self,
        request: Request<'_>,
    ) -> Result<(RoutedConnection, Result<Value, Failure>), Fault> {
        let at = self.reach(request.tag()).await?;
        match request.send(&at.open.connection, SendMode::Usual).await {
            Err(failure) if self.is_elsewhere(&failure) => {
                Box::pin(self.follow(at, request, failure)).await
            }
            answer => Ok((at, answer)),
        }
    }

    fn is_elsewhere(&self, failure: &Failure) -> bool {
        matches!(failure.code(), Some("MOVED" | "ASK")) && self.route.cluster().is_some()
    }

    /// Asks the node that another one said has the lock, and did nothing itself.
    async fn follow(
        &self,
        mut at: RoutedConnection,
        request: Request<'_>,
        mut failure: Failure,
    ) -> Result<(RoutedConnection, Result<Value, Failure>), Fault> {
        for _ in 0..REDIRECTS {
            let (Some(cluster), NodeRef::Node((host, _))) =
                (self.route.cluster(), &at.link.node_ref)
            else {
                break;
            };
            let (place, manner) = match Redirect::of(&failure, host) {
                Some(Redirect::Moved(slot, place)) => {
                    cluster.moved(slot, &place);
                    (place, SendMode::Usual)
                }
                Some(Redirect::Ask(place)) => (place, SendMode::Asking),
                None => break,
            };
            let here = at.here;
            let link = here.link(&NodeRef::Node(place), &self.route);
            let open = self.current_or_open(&here, &link).await?;
            at = RoutedConnection { here, link, open };
            // It got the slot when others may have made tokens by an epoch of which nobody has told here.
            if manner == SendMode::Usual && request.makes_tokens() {
                let heard = cluster.query_epochs(&at.open.connection).await;
                heard.map_err(|failure| self.failed(&at, failure))?;
            }
            match request.send(&at.open.connection, manner).await {
                Err(next) if self.is_elsewhere(&next) => failure = next,
                answer => return Ok((at, answer)),
            }
        }
        self.route.suspect(&at.open.server);
        Err(sent_around(&self.place, failure))
    }

    /// The same for a call that others may go with, as far as they are ready at the same time.
    pub(crate) async fn run_batched(
        &self,
        kind: &'static BatchKind,
        echo: &CorrelationId,
        call: ScriptCall,
    ) -> Result<BatchedReply, Fault> {
        let at = self.reach(call.tag).await?;
        let connection = &*at.open.connection;
        let goes_alone = connection.wants_in_full(kind.alone);
        if goes_alone || !connection.gathers.load(Ordering::Relaxed) {
            return self.run(kind.alone, echo, call).await.map(BatchedReply::Whole);
        }
        let answer = match connection.call_batched(kind, &call, echo).await {
            Ok(CallReply::Part(Value::Error(error))) => Err(Failure::Server(error)),
            Ok(CallReply::Part(part)) => return Ok(BatchedReply::Part(part)),
            Ok(CallReply::Whole(value)) => Ok(value),
            Ok(CallReply::Refused(error)) => {
                return match error.code() {
                    // The server was told to forget; one of these calls has it learn again.
                    "NOSCRIPT" => {
                        if connection.gathers.swap(false, Ordering::Relaxed) {
                            connection.load_batch_scripts(self.batches).await;
                        }
                        self.run(kind.alone, echo, call).await.map(BatchedReply::Whole)
                    }
                    // Names of several slots, or one that this user may not touch.
                    "CROSSSLOT" | "NOPERM" if !error::is_midway(error.detail()) => {
                        connection.gathers.store(false, Ordering::Relaxed);
                        self.run(kind.alone, echo, call).await.map(BatchedReply::Whole)
                    }
                    _ => Err(self.failed(&at, Failure::Server(error))),
                };
            }
            Err(error) if error.code() == Some("NOSCRIPT") => {
                connection.run(&call, kind.alone, SendMode::Usual).await
            }
            Err(error) => Err(error),
        };
        self.reply(&at, echo, answer).map(BatchedReply::Whole)
    }

    /// What a script answered to this owner.
    fn reply(
        &self,
        at: &RoutedConnection,
        echo: &CorrelationId,
        answer: Result<Value, Failure>,
    ) -> Result<Value, Fault> {
        let value = answer.map_err(|error| self.failed(at, error))?;
        echo::strip_echo(echo, value).ok_or_else(|| self.mixed_up(at))
    }

    /// Deletes a key with this tag if it has this value, both of which are written in parts, by one command
    /// that compares. `false` when it had another, and where the server has no such command.
    pub(crate) async fn delete_if(
        &self,
        tag: HashTag,
        key: &[&[u8]],
        value: &[&[u8]],
    ) -> Result<bool, Fault> {
        let (at, answer) = self.request(Request::DeleteIf(tag, key, value)).await?;
        let compare = &at.open.connection.compare;
        let outcome = compare.outcome(answer);
        // Else records would be kept that nobody can use.
        self.compares.store(compare.is_supported(), Ordering::Relaxed);
        outcome.map_err(|none| match none {
            UnknownOutcome::MixedUp => self.mixed_up(&at),
            UnknownOutcome::Failed(error) => self.failed(&at, error),
        })
    }

    /// Whether a connection was opened to a server that deletes a key if it has a certain value.
    pub(crate) fn compares(&self) -> bool {
        self.compares.load(Ordering::Relaxed)
    }

    /// All servers that have locks.
    pub(crate) async fn node_refs(&self) -> Result<Vec<NodeRef>, Fault> {
        self.route.node_refs(&self.runtimes.of_current_runtime()?.clients).await
    }

    /// From here on a server is used only if it was named after the call.
    pub(crate) async fn ask_anew(&self) -> Result<(), Fault> {
        self.route.ask_anew(&self.runtimes.of_current_runtime()?.clients).await
    }

    /// Sends one command that is no script to this server.
    pub(crate) async fn send(&self, node_ref: &NodeRef, words: &[&str]) -> Result<Value, Fault> {
        let at = self.reach_node(self.runtimes.of_current_runtime()?, node_ref).await?;
        at.open.connection.send(words).await.map_err(|error| self.failed(&at, error))
    }

    /// The same for a step of a walk over the keys.
    pub(crate) async fn scan(&self, node_ref: &NodeRef, words: &[&str]) -> Result<Value, Fault> {
        let at = self.reach_node(self.runtimes.of_current_runtime()?, node_ref).await?;
        at.open.connection.send(words).await.map_err(|error| {
            of_scan(&self.place, &error).unwrap_or_else(|| self.failed(&at, error))
        })
    }

    /// Whether a connection to this server is open.
    pub(crate) fn is_open_to(&self, node_ref: &NodeRef) -> bool {
        let link = self.runtimes.of_current_runtime().map(|here| here.link(node_ref, &self.route));
        link.is_ok_and(|link| link.current().is_some())
    }

    /// Gives up a connection that was opened for one look, where many are open: a cluster has as many nodes as it says.
    pub(crate) fn close_if_many(&self, node_ref: &NodeRef) {
        let Ok(here) = self.runtimes.of_current_runtime() else { return };
        if here.open().len() > MOST_LEFT_OPEN {
            let link = here.link(node_ref, &self.route);
            link.current().inspect(|open| link.discard_connection(open));
        }
    }

    /// Opens a connection of this runtime, if none is open.
    pub(crate) async fn open(&self) -> Result<(), Fault> {
        let here = self.runtimes.of_current_runtime()?;
        let node_ref = Box::pin(self.route.any(&here.clients)).await?;
        self.reach_node(here, &node_ref).await.map(drop)
    }

    /// The connections of this runtime, and how many answers came over each.
    pub(crate) fn reply_counts(&self) -> Vec<(LiveConnection, u64)> {
        let open = self.runtimes.of_current_runtime().map(|here| here.open()).unwrap_or_default();
        let heard = open.into_iter().map(|open| (open.connection.reply_count(), open));
        heard.map(|(heard, open)| (open, heard)).collect()
    }

    /// Closes those of them over which something is awaited, and nothing was heard since: they may hang. Whether there
    /// was any.
    pub(crate) fn give_up_silent(&self, before: &[(LiveConnection, u64)]) -> bool {
        let silent = before.iter().filter(|(open, heard)| open.connection.is_silent(*heard));
        silent.fold(false, |_, (open, _)| {
            open.connection.give_up();
            self.route.suspect(&open.server);
            true
        })
    }

    fn mixed_up(&self, at: &RoutedConnection) -> Fault {
        at.link.discard_connection(&at.open);
        tracing::warn!(store = "redis", place = %self.place, "a reply belongs to another call");
        error::mismatched_reply(&self.place)
    }

    fn failed(&self, at: &RoutedConnection, error: Failure) -> Fault {
        if self.is_unusable_after(&at.open, &error) {
            at.link.discard_connection(&at.open);
        }
        error::of_command(&self.place, error)
    }

    /// Whether the connection is of no use after this.
    fn is_unusable_after(&self, open: &LiveConnection, error: &Failure) -> bool {
        // A replica may have taken the place of the server: the address has to be looked up again.
        let is_another = matches!(error.code(), Some("READONLY" | "CLUSTERDOWN"));
        let is_suspect = !error.is_an_answer() || is_another;
        if is_suspect {
            self.route.suspect(&open.server);
        }
        // The next connection has another mark where this one's was not taken.
        is_suspect || matches!(error, Failure::Unmarked(_))
    }

    /// A connection to the server that has the locks with this tag.
    async fn reach(&self, tag: HashTag) -> Result<RoutedConnection, Fault> {
        let here = self.runtimes.of_current_runtime()?;
        match self.route.known(tag) {
            Some(node_ref) if self.knows_format(tag) => self.reach_node(here, &node_ref).await,
            // Rare and large: in a box of its own it does not make every call large.
            _ => Box::pin(self.find(here, tag)).await,
        }
    }

    /// The same when it has to be asked which one that is.
    async fn find(
        &self,
        here: Arc<RuntimeConnections>,
        tag: HashTag,
    ) -> Result<RoutedConnection, Fault> {
        if !self.knows_format(tag) {
            self.ask_for_format(here.clone(), tag).await?;
        }
        let node_ref = self.route.find(&here.clients, tag).await?;
        self.reach_node(here, &node_ref).await
    }

    /// Asks for the number of the format of locks with this tag, wherever that is now.
    async fn ask_for_format(
        &self,
        here: Arc<RuntimeConnections>,
        tag: HashTag,
    ) -> Result<(), Fault> {
        let key = keys::format(&self.options.prefix, Some(tag));
        for question in format::questions(&key, &self.options) {
            let node_ref = self.route.find(&here.clients, tag).await?;
            let at = self.reach_node(here.clone(), &node_ref).await?;
            let request = Request::Words(&question.words);
            let (at, told) = match request.send(&at.open.connection, SendMode::Usual).await {
                Err(failure) if self.is_elsewhere(&failure) => {
                    self.follow(at, request, failure).await?
                }
                told => (at, told),
            };
            match question.read(&self.place, told) {
                Ok(Some(_)) => break,
                Ok(None) => {}
                Err(FormatError::Refused(fault)) => return Err(fault),
                Err(FormatError::Failed(failure)) => return Err(self.failed(&at, failure)),
            }
        }
        // Who is not permitted to know it takes the records as they are, as on one server.
        let (word, bit) = (tag.number() / 64, tag.number() % 64);
        if let Some(known) = self.known_formats.get(word) {
            known.fetch_or(1 << bit, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Whether the number of the format of locks with this tag is known: where there is one server, who
    /// connects asks for it.
    fn knows_format(&self, tag: HashTag) -> bool {
        if self.route.cluster().is_none() {
            return true;
        }
        let (word, bit) = (tag.number() / 64, tag.number() % 64);
        let known = self.known_formats.get(word).map_or(0, |known| known.load(Ordering::Relaxed));
        known & (1 << bit) != 0
    }

    async fn reach_node(
        &self,
        here: Arc<RuntimeConnections>,
        node_ref: &NodeRef,
    ) -> Result<RoutedConnection, Fault> {
        let link = here.link(node_ref, &self.route);
        let open = self.current_or_open(&here, &link).await?;
        Ok(RoutedConnection { here, link, open })
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        self.runtimes.abort_watchers();
    }
}
