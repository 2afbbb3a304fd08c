//! What a look at the real ensemble brings up.

pub(crate) mod members;
pub(crate) mod trial;

use std::sync::Arc;

use futures_util::future::try_join_all;
use tenure_core::{Clock, Fault, SystemClock, store::Diagnostic};
use tokio::time::timeout;

use crate::{
    calls::strangers::ForeignNode,
    client::{CreateMode, Error, MultiWriteError},
    contenders::{
        layout::LockPath,
        tokens::{TokenForm, TokenRecord},
    },
    error,
    session::{Session, probe},
    store::Shared,
};

/// How many names are looked at for nodes of other programs.
const NAMES: usize = 1024;
/// What share of what can be counted on a write may take before somebody should know. A renewal has a twelfth, where a
/// grant has as little left as it may.
const SHARE: u32 = 15;
/// How often a node that is in the way is removed.
const TRIES: u32 = 3;
/// What the form of the tokens is reported as.
const TOKENS: &str = "tokens";
/// How many of these are told of.
const SHOWN: usize = 3;

impl Shared {
    pub(crate) async fn health(self: &Arc<Self>) -> Result<Vec<Diagnostic>, Fault> {
        let session = match self.first_session().await {
            Ok(session) => session,
            Err(fault) => return Ok(self.none(&fault).await),
        };
        let mut diagnostics = vec![Diagnostic::good("connection", self.place.clone())];
        if self.options.tls.is_none() {
            let hosts = self.options.servers.iter().map(|(host, _)| host.as_str());
            diagnostics.extend(Diagnostic::in_clear(hosts, "write tls=yes in the URL"));
        }
        diagnostics.extend(members::diagnostics(&self.options).await);
        diagnostics.push(self.session_length(&session));
        diagnostics.push(self.response_timeout(&session));
        diagnostics.push(self.full_cycle(&session).await);
        diagnostics.push(self.containers(&session).await);
        diagnostics.push(self.token_form(&session).await);
        diagnostics.push(self.other_programs(&session).await);
        Ok(diagnostics)
    }

    /// Why there is no session.
    async fn none(&self, fault: &Fault) -> Vec<Diagnostic> {
        if !fault.is_transient() {
            return vec![Diagnostic::failed("connection", fault).touches("S6")];
        }
        let all = probe::probe_servers(&self.options).await;
        let mut diagnostics = probe::diagnostics(&all);
        diagnostics.push(if probe::none_begins(&all) {
            let found = format!("no session begins with ZooKeeper at {}", self.place);
            Diagnostic::bad("connection", found, "S6", "follow the help for its servers above")
        } else {
            Diagnostic::failed("connection", fault).touches("S6")
        });
        diagnostics
    }

    fn session_length(&self, session: &Session) -> Diagnostic {
        let (asked, granted) = (self.options.session, session.length());
        let found = format!(
            "{granted:?} granted, {asked:?} asked for, with a tick of {:?} by the URL: a holder that is cut off stops \
             after {:?}",
            self.options.tick,
            session.validity()
        );
        if granted == asked {
            return Diagnostic::good("session", found);
        }
        let help = "set minSessionTimeout and maxSessionTimeout of all servers alike, or session= in the URL";
        Diagnostic::warning("session", found, "S5", help)
    }

    /// How long an answer is waited for.
    fn response_timeout(&self, session: &Session) -> Diagnostic {
        let (asked, limit) = (self.options.response_timeout, session.limit());
        let found = if limit == asked {
            format!("{limit:?}")
        } else {
            format!("{limit:?}, a third of what can be counted on: {asked:?} is more than that")
        };
        Diagnostic::good("response timeout", found)
    }

    /// A write is timed, and a lock is tried, as this very user.
    async fn full_cycle(self: &Arc<Self>, session: &Session) -> Diagnostic {
        let began = SystemClock.now();
        match session.prove(&[]).await {
            Ok(_) => {
                let took = SystemClock.now().since(began);
                // What a lock leaves alone may be what this user has no right to.
                if let Err(fault) = self.try_everything(session).await {
                    return Diagnostic::failed("full cycle", &fault).touches("S9");
                }
                let found =
                    format!("a full cycle of a lock works; a committed write took {took:.1?}");
                if took < session.validity() / SHARE {
                    return Diagnostic::good("full cycle", found);
                }
                let help = "see why the disks of the servers are slow, or choose a longer session";
                Diagnostic::warning("full cycle", found, "S3", help)
            }
            Err(fault) => Diagnostic::failed("full cycle", &fault).touches("S1"),
        }
    }

    /// Whether all programs make tokens of one form.
    async fn token_form(&self, session: &Session) -> Diagnostic {
        let record = match self.token_record(session).await {
            Ok(record) => record,
            Err(fault) => return Diagnostic::failed(TOKENS, &fault).touches("S2"),
        };
        if let Err(fault) = self.refuse_other_tokens(session, record.as_ref()) {
            return Diagnostic::failed(TOKENS, &fault).touches("S2");
        }
        let (form, base) = (self.options.tokens.text(), session.base());
        let found = match record {
            Some(TokenRecord::Form(TokenForm::Czxid)) => return self.bare_record(session).await,
            Some(TokenRecord::Form(_)) => format!("tokens={form}, as the data of {base} record"),
            Some(TokenRecord::Foreign) => {
                format!("tokens={form}, which is not recorded: {base} has other data")
            }
            Some(TokenRecord::Unreadable) => {
                return self.not_recorded(session, "read");
            }
            Some(TokenRecord::Unwritten { .. }) if !self.may_record(session).await => {
                return self.not_recorded(session, "write");
            }
            _ => format!("tokens={form}, which the first lock records as the data of {base}"),
        };
        Diagnostic::good(TOKENS, found)
    }

    /// Whether the record of bare tokens surely stays. Once it is gone, they are refused wherever another program was
    /// first.
    async fn bare_record(&self, session: &Session) -> Diagnostic {
        let base = session.base();
        let found = format!("tokens=czxid, as the data of {base} record");
        match session.read(session.client().check_stat(base)).await {
            // No server tells a client which nodes are containers, but what is made with the record is none.
            Ok(Ok(Some(stat))) if stat.version > 0 => {
                let found = format!(
                    "{found}, but not since it was made: if another program made it, it may be a container, which goes \
                     with the record when no lock is in use"
                );
                Diagnostic::warning(TOKENS, found, "S2", error::record_anew("czxid"))
            }
            Ok(_) => Diagnostic::good(TOKENS, found),
            Err(fault) => Diagnostic::failed(TOKENS, &fault).touches("S2"),
        }
    }

    /// The user lacks a right: bare tokens are refused, and nothing keeps programs with these away from others.
    fn not_recorded(&self, session: &Session, right: &str) -> Diagnostic {
        let (form, base) = (self.options.tokens.text(), session.base());
        let found = format!(
            "tokens={form}, which is not recorded: this user may not {right} the data of {base}"
        );
        let help = "give the user read and write (cdrw) on the base path, or see that no program there has another \
                    tokens= in its URL";
        match self.options.tokens {
            TokenForm::Shifted => Diagnostic::warning(TOKENS, found, "S2", help),
            TokenForm::Czxid => Diagnostic::bad(TOKENS, found, "S2", help),
        }
    }

    /// Whether this user may write the record, by a write that is refused at any rate.
    async fn may_record(&self, session: &Session) -> bool {
        let mut writer = session.client().new_multi_writer();
        if writer.add_set_data(session.base(), b"", i32::MAX).is_err() {
            return true;
        }
        let written = timeout(session.limit(), writer.commit()).await;
        !matches!(written, Ok(Err(MultiWriteError::OperationFailed { source: Error::NoAuth, .. })))
    }

    /// Whether another program uses names of locks.
    async fn other_programs(&self, session: &Session) -> Diagnostic {
        const WHAT: &str = "other programs";
        let (names, found) = match self.used_by_others(session).await {
            Ok(looked) => looked,
            Err(fault) => return Diagnostic::failed(WHAT, &fault).touches("S1"),
        };
        let looked = match names.checked_sub(NAMES) {
            None | Some(0) => format!("at all {names} names below {}", session.base()),
            Some(more) => {
                format!("at {NAMES} names below {}, and not at {more} more", session.base())
            }
        };
        let shown: Vec<_> = found
            .iter()
            .take(SHOWN)
            .map(|stranger| format!("{} of {}", stranger.path, stranger.program()))
            .collect();
        let more = found.len().saturating_sub(shown.len());
        let more = if more == 0 { String::new() } else { format!(" and of {more} more names") };
        let shown = format!("looked {looked}: a node {}{more}", shown.join(", a node "));
        if found.is_empty() {
            return Diagnostic::good(
                WHAT,
                format!("looked {looked}: none has a node that tenure does not know"),
            );
        }
        let help = "give tenure, or the other program, a separate base path: these names are refused, and a holder from before the other program came holds its name at the same time";
        Diagnostic::bad(WHAT, shown, "S1", help)
    }

    /// How many names there are, and the first node of another program that each of them has, of so many.
    async fn used_by_others(&self, session: &Session) -> Result<(usize, Vec<ForeignNode>), Fault> {
        let names = self.names(session, "").await?;
        let mut found = Vec::new();
        for some in names.chunks(64).take(NAMES / 64) {
            let looks = some.iter().map(|name| async {
                let place = LockPath::new(&self.options.base, name);
                let queue = self.list_line(session, &place.dir).await?;
                self.list_foreign_nodes(session, &place, &queue).await
            });
            for strangers in try_join_all(looks).await? {
                found.extend(strangers.into_iter().next());
            }
        }
        Ok((names.len(), found))
    }

    /// Whether empty directories go away by themselves.
    async fn containers(&self, session: &Session) -> Diagnostic {
        let path = format!("{}/%container", self.options.base);
        let options = session.creates(CreateMode::Container);
        // One that is there already need not be one: it says nothing.
        for _ in 0..TRIES {
            let made = session.write(session.client().create(&path, b"", &options)).await;
            let gone = session.write(session.client().delete(&path, None)).await;
            let failed = match (made, gone) {
                (Err(fault), _) | (_, Err(fault)) => fault,
                (Ok(Err(Error::NodeExists)), Ok(Ok(()) | Err(Error::NoNode))) => continue,
                (Ok(Ok(_)), Ok(Ok(()) | Err(Error::NoNode))) => {
                    let found = "the server supports them: empty directories of locks disappear on their own";
                    return Diagnostic::good("containers", found);
                }
                (Ok(Err(error)), _) | (_, Ok(Err(error))) => session.fault(error, false),
            };
            return Diagnostic::failed("containers", &failed);
        }
        let found = "not checked: other clients were creating and deleting the same node";
        Diagnostic::warning("containers", found, "S9", "look again")
    }
}
