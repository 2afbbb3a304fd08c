//! Writes that count only when replicas have them.
//!
//! Behind all that is written at one moment the server is asked to wait for its replicas. What it answered
//! before is held back until then, and is in doubt when too few have it in time. So many calls cost one wait.

use std::{collections::HashSet, fmt, sync::Arc, time::Duration};

use crate::client::{Value, command, text};

/// What a server is asked for who follows it, also who has just begun to.
const WHO_FOLLOWS: [&str; 2] = ["INFO", "replication"];
/// Sets a key, also at a server that is out of memory and still renews and releases.
const MARK: &str = include_str!("mark.lua");

/// How many replicas have to have what was written, and for how long they are waited for.
#[derive(Clone, Debug)]
pub(crate) struct ReplicaConfirmation {
    needed: RequiredReplicas,
    within: Duration,
    /// A write that has no meaning.
    mark: Vec<String>,
}

#[derive(Clone)]
pub(crate) enum RequiredReplicas {
    Count(u32),
    /// As many as there are now. More would be some that nobody knows, in the place of one that is known.
    All(Arc<dyn Fn() -> u32 + Send + Sync>),
}

/// What the answer has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplicaQuorum {
    least: u32,
    most: u32,
}

impl ReplicaConfirmation {
    /// One whose mark is to publish on a channel that nobody listens on.
    pub(crate) fn by_channel(needed: RequiredReplicas, within: Duration, channel: String) -> Self {
        let mark = ["PUBLISH", &channel, ""].map(str::to_owned).to_vec();
        Self { needed, within, mark }
    }

    /// One whose mark is to set this key for a minute: in a cluster replicas do not get what is published
    /// as they get what is written.
    pub(crate) fn by_key(needed: RequiredReplicas, within: Duration, key: &str) -> Self {
        let mark = ["EVAL", MARK, "1", key].map(str::to_owned).to_vec();
        Self { needed, within, mark }
    }

    pub(crate) fn mark(&self) -> Vec<&str> {
        self.mark.iter().map(String::as_str).collect()
    }

    /// What is asked besides, whose answer [`ReplicaQuorum::follow_too_many`] reads.
    pub(crate) fn replication_query(&self) -> Option<[&'static str; 2]> {
        matches!(self.needed, RequiredReplicas::All(_)).then_some(WHO_FOLLOWS)
    }

    /// Writes the mark, what is asked besides, and a command whose answer is the confirmation, and says what
    /// these have to be.
    ///
    /// How many replicas there are was told a moment ago. One that has come since could take over without
    /// what is written now, and the server itself knows it.
    ///
    /// A server confirms what was written before the last write over the same connection. What is asked again
    /// may have been written over another one, and write nothing now. So there is a write in any case.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> ReplicaQuorum {
        let enough = match &self.needed {
            RequiredReplicas::Count(least) => ReplicaQuorum { least: *least, most: u32::MAX },
            RequiredReplicas::All(count) => {
                let all = count();
                ReplicaQuorum { least: all, most: all }
            }
        };
        command(&self.mark(), out);
        if let Some(asked) = self.replication_query() {
            command(&asked, out);
        }
        // For ever is written as 0.
        let within = self.within.as_millis().max(1);
        command(&["WAIT", &enough.least.to_string(), &within.to_string()], out);
        enough
    }
}

impl ReplicaQuorum {
    /// Why no confirmation would be enough, if none is: more follow than are known.
    pub(crate) fn follow_too_many(self, told: &Value) -> Option<String> {
        if let Value::Error(error) = told {
            return Some(error.to_string());
        }
        let Some(told) = text(told) else {
            return Some("the server did not report its replicas".to_owned());
        };
        let follow = told.lines().filter_map(follower).collect::<HashSet<_>>().len();
        (u32::try_from(follow).unwrap_or(u32::MAX) > self.most)
            .then(|| format!("it has {follow} replicas, of which {} are known", self.most))
    }

    /// Why it is not enough, if it is not.
    pub(crate) fn shortfall_reason(self, told: &Value) -> Option<String> {
        match told {
            Value::Int(_) if self.least == u32::MAX => {
                Some("how many replicas there are is not known yet".to_owned())
            }
            Value::Int(had) if *had < i64::from(self.least) => {
                Some(format!("{had} of {} replicas have it", self.least))
            }
            Value::Int(had) if *had > i64::from(self.most) => {
                Some(format!("{had} replicas have it, of which {} are known", self.most))
            }
            Value::Int(_) => None,
            Value::Error(error) => Some(error.to_string()),
            _ => Some("the answer was not a number".to_owned()),
        }
    }
}

/// Where the replica is of which a line tells: `slave0:ip=…,port=…,offset=…`. One that has come back may have
/// several, until its old connections end.
fn follower(line: &str) -> Option<(&str, &str)> {
    let (name, told) = line.split_once(':')?;
    name.strip_prefix("slave")?.parse::<u32>().ok()?;
    let part = |name: &str| {
        told.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('=')).unwrap_or("")
    };
    // A tool that copies, and confirms nothing.
    let copies = part("port") == "0" && part("offset") == "0";
    (!copies).then(|| (part("ip"), part("port")))
}

impl fmt::Display for ReplicaConfirmation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.needed {
            RequiredReplicas::Count(1) => write!(f, "1 replica"),
            RequiredReplicas::Count(count) => write!(f, "{count} replicas"),
            RequiredReplicas::All(count) => match count() {
                u32::MAX => f.write_str("all replicas"),
                now => write!(f, "all replicas ({now} now)"),
            },
        }
    }
}

impl fmt::Debug for RequiredReplicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::All(count) => write!(f, "all {}", count()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::client::ServerError;

    #[test]
    fn only_a_number_that_is_great_enough_is_enough() {
        let enough = ReplicaQuorum { least: 2, most: u32::MAX };
        assert_eq!(enough.shortfall_reason(&Value::Int(2)), None);
        assert_eq!(enough.shortfall_reason(&Value::Int(3)), None);
        assert!(enough.shortfall_reason(&Value::Int(1)).is_some());
        let error = Value::Error(Box::new(ServerError::new("UNBLOCKED it is a replica now")));
        for told in [error, Value::Nil, Value::Bytes(b"2".to_vec())] {
            assert!(
                ReplicaQuorum { least: 0, most: 9 }.shortfall_reason(&told).is_some(),
                "{told:?}"
            );
        }
    }

    #[test]
    fn how_many_there_are_is_looked_at_each_time() {
        let all = Arc::new(AtomicU32::new(2));
        let now = all.clone();
        let needed = RequiredReplicas::All(Arc::new(move || now.load(Ordering::Relaxed)));
        let confirm =
            ReplicaConfirmation::by_channel(needed, Duration::from_micros(1), "c".to_owned());
        let mut out = Vec::new();
        let two = confirm.write(&mut out);
        assert_eq!(two.shortfall_reason(&Value::Int(2)), None);
        // One that nobody knows could stand for one that is known and lacks it.
        assert!(two.shortfall_reason(&Value::Int(3)).is_some());
        let publish = "*3\r\n$7\r\nPUBLISH\r\n$1\r\nc\r\n$0\r\n\r\n";
        let info = "*2\r\n$4\r\nINFO\r\n$11\r\nreplication\r\n";
        let wait = "*3\r\n$4\r\nWAIT\r\n$1\r\n2\r\n$1\r\n1\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), format!("{publish}{info}{wait}"));
        all.store(3, Ordering::Relaxed);
        assert_eq!(confirm.write(&mut Vec::new()).shortfall_reason(&Value::Int(3)), None);
    }

    #[test]
    fn no_more_may_follow_than_are_known() {
        let info = "# Replication\r\nrole:master\r\nconnected_slaves:3\r\nslave_expires:1\r\n\
                    slave0:ip=127.0.0.1,port=6380,state=online,offset=84,lag=1\r\n\
                    slave1:ip=127.0.0.1,port=6381,state=wait_bgsave,offset=0,lag=0\r\n\
                    slave2:ip=127.0.0.1,port=0,state=send_bulk,offset=0,lag=0\r\n\
                    slave3:ip=127.0.0.1,port=6380,state=online,offset=14,lag=40\r\n";
        let enough = |most| ReplicaQuorum { least: most, most };
        for told in [Value::Text(info.to_owned()), Value::Bytes(info.into())] {
            assert_eq!(enough(2).follow_too_many(&told), None);
            assert!(
                enough(1).follow_too_many(&told).is_some_and(|why| why.starts_with("it has 2 "))
            );
        }
        // It confirms, though it is nobody who takes over.
        let confirms = info.replace("offset=0", "offset=84");
        assert!(enough(2).follow_too_many(&Value::Text(confirms)).is_some());
        let error = Value::Error(Box::new(ServerError::new("NOPERM no")));
        for told in [error, Value::Nil, Value::Int(0)] {
            assert!(enough(u32::MAX).follow_too_many(&told).is_some(), "{told:?}");
        }
    }
}
