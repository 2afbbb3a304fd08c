//! Renewing many holds: those that nobody else is at by one short script, the others one by one.

use std::{collections::HashMap, pin::pin, time::Duration};

use futures_util::future::{join, join_all};
use tenure_core::{
    Fault, FaultKind,
    proto::{Renewed, time::ceil_millis},
    store::Renewal,
};
use tokio::time::{Instant, timeout, timeout_at};

use crate::{
    client::{Script, ScriptCall, error},
    locks::{
        layout::{
            fields::{ParseResult, ReplyError, ReplyFields},
            keys::{self, Key},
            redisson::holder::field_start,
            wire,
        },
        scripted::ScriptedMethod,
        scripts,
    },
    options::Layout,
    servers::error::is_moving,
};

/// How many are renewed by one script: the server does nothing else meanwhile, for some 0.25 ms.
const TOGETHER: usize = 128;

/// A longer ttl is no reason to wait longer for a node.
const LONGEST: Duration = Duration::from_secs(20);

/// A connection over which no answer came for this part of the shortest lease, within these bounds, is given up while
/// there is time for another one: core waits for a quarter of it.
const PART: u32 = 14;
const GAP: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// To a server that is far away it is not given up before so many times an answer have passed, or this part of the lease.
const ANSWERS: u32 = 3;
const LARGEST_PART: u32 = 5;

/// How long nothing may be heard. Less than `limit`, after which the connection ends by itself.
fn gap(shortest: Duration, answer_time: Duration, limit: Duration) -> Duration {
    let gap = (shortest / PART).clamp(GAP.0, GAP.1);
    let far = (answer_time * ANSWERS).min(shortest.min(LONGEST) / LARGEST_PART);
    gap.max(far.min(limit * 7 / 8))
}

/// A hold, and its number among all.
type IndexedRenewal<'a> = (usize, &'a Renewal);
/// The number of a hold, and what became of it.
type IndexedRenewed = (usize, Result<Renewed, Fault>);

/// Until when nodes of a cluster are waited for: one that says nothing must not keep what others have
/// answered from who asks for all of them, and who waits for a quarter of a ttl.
#[derive(Clone, Copy)]
struct RenewalDeadlines {
    first: Instant,
    last: Instant,
}

impl RenewalDeadlines {
    fn of(holds: &[Renewal]) -> Self {
        let shortest = holds.iter().map(|hold| hold.ttl).min().unwrap_or_default().min(LONGEST);
        let now = Instant::now();
        Self { first: now + shortest * 6 / 32, last: now + shortest * 7 / 32 }
    }
}

impl ScriptedMethod {
    /// Renews holds, each for itself, and once more by another connection where one does not answer.
    pub(crate) async fn renew_all(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        // Who waits for replicas hears nothing for as long as these take.
        if self.0.confirms() {
            return self.renew_once(holds).await;
        }
        let shortest = holds.iter().map(|hold| hold.ttl).min().unwrap_or_default();
        let before = self.0.transport.reply_counts();
        let answer_times = before.iter().map(|(open, _)| open.connection.answer_time);
        let limit = self.0.shared.options.response_timeout;
        let gap = gap(shortest, answer_times.max().unwrap_or_default(), limit);
        let mut renewing = pin!(self.renew_once(holds));
        let told = match timeout(gap, &mut renewing).await {
            Ok(told) => return told,
            Err(_) if self.0.transport.give_up_silent(&before) => renewing.await,
            Err(_) => return renewing.await,
        };
        let failed = |told: &Result<_, Fault>| told.as_ref().is_err_and(Fault::is_transient);
        let again: Vec<_> = holds.iter().zip(&told).filter(|(_, told)| failed(told)).collect();
        let again: Vec<_> = again.into_iter().map(|(hold, _)| hold.clone()).collect();
        let mut anew = self.renew_once(&again).await.into_iter();
        let instead = |told| if failed(&told) { anew.next().unwrap_or(told) } else { told };
        told.into_iter().map(instead).collect()
    }

    async fn renew_once(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        // Decided once: what is known of a hold may change while answers are on their way.
        let (crowded, alone): (Vec<_>, Vec<_>) = holds.iter().enumerate().partition(|(_, hold)| {
            self.0.layout() == Layout::Redisson || self.0.crowded_holds().contains(&hold.owner)
        });
        let parts = self.parts(&alone);
        // One node alone is in nobody's way, and may have to be connected to.
        let several = self.0.in_cluster() && parts.len() + crowded.len() > 1;
        let until = several.then(|| RenewalDeadlines::of(holds));
        let one = async |(number, hold): (usize, &Renewal)| {
            let renewal = self.renew_one(hold);
            let told = match until {
                Some(until) => {
                    timeout_at(until.last, renewal).await.unwrap_or_else(|_| Err(self.silent()))
                }
                None => renewal.await,
            };
            (number, told)
        };
        let part = async |part: &Vec<IndexedRenewal<'_>>| {
            let renewal = self.renew_part(part);
            let Some(until) = until else { return renewal.await };
            let silent = || part.iter().map(|(number, _)| (*number, Err(self.silent()))).collect();
            timeout_at(until.first, renewal).await.unwrap_or_else(|_| silent())
        };
        let many = join_all(parts.iter().map(part));
        // The connection makes one write of them all, and each has an answer of its own.
        let (told, many) = join(join_all(crowded.into_iter().map(one)), many).await;
        let mut told: HashMap<_, _> = told.into_iter().chain(many.into_iter().flatten()).collect();
        // Others are at these, or something is odd.
        let rest: Vec<_> =
            alone.into_iter().filter(|(number, _)| !told.contains_key(number)).collect();
        for (number, answer) in join_all(rest.into_iter().map(one)).await {
            if let (Ok(Renewed::Renewed { .. }), Some(hold)) = (&answer, holds.get(number))
                && !self.0.layout().is_shared()
            {
                self.0.crowded_holds().insert(hold.owner);
            }
            told.insert(number, answer);
        }
        let unanswered = || Err(error::mismatched_reply(self.0.place()));
        (0..holds.len()).map(|number| told.remove(&number).unwrap_or_else(unanswered)).collect()
    }

    fn silent(&self) -> Fault {
        let what =
            format!("the node of {} that has this lock does not answer in time", self.0.place());
        let help = "check that it runs and can be reached; locks on other nodes are renewed";
        Fault::new(FaultKind::InDoubt, what, help)
    }

    /// Those that one script can renew.
    fn parts<'a>(&self, holds: &[IndexedRenewal<'a>]) -> Vec<Vec<IndexedRenewal<'a>>> {
        if !self.0.in_cluster() {
            return holds.chunks(TOGETHER).map(<[_]>::to_vec).collect();
        }
        let mut slots: HashMap<u16, Vec<_>> = HashMap::new();
        for hold in holds {
            let tag = self.0.key_space().keys(&hold.1.name).tag;
            slots.entry(tag.slot()).or_default().push(*hold);
        }
        slots
            .into_values()
            .flat_map(|part| part.chunks(TOGETHER).map(<[_]>::to_vec).collect::<Vec<_>>())
            .collect()
    }

    /// The same, one by one where their keys are in two places for now: one that is asked for alone is found
    /// in either.
    async fn renew_part(&self, holds: &[IndexedRenewal<'_>]) -> Vec<IndexedRenewed> {
        let told = self.renew_alone(holds).await;
        let is_apart = |told: &IndexedRenewed| matches!(&told.1, Err(fault) if is_moving(fault));
        if holds.len() < 2 || !told.iter().all(is_apart) {
            return told;
        }
        let one = holds.chunks(1).map(|hold| self.renew_alone(hold));
        join_all(one).await.into_iter().flatten().collect()
    }

    /// The answers by the numbers of the holds, without those of what is to be asked by itself.
    async fn renew_alone(&self, holds: &[IndexedRenewal<'_>]) -> Vec<IndexedRenewed> {
        let Some((_, first)) = holds.first() else { return Vec::new() };
        let echo = self.0.echo();
        let space = self.0.key_space();
        let mut call = ScriptCall::new(space.keys(&first.name).tag);
        for (_, hold) in holds {
            call.key(&space.keys(&hold.name).parts(Key::Lock));
        }
        call.argument(&[&echo]);
        for (_, hold) in holds {
            call.argument(&[&wire::owner(&hold.owner)]).number(ceil_millis(hold.ttl));
        }
        let numbers = holds.iter().map(|(number, _)| *number);
        let reply = match self.0.run(&scripts::RENEW_ALONE, &echo, call).await {
            Ok(reply) => reply,
            // Names of several slots, or what the user may not: the larger script says it of each.
            Err(fault) if !fault.is_transient() => return Vec::new(),
            Err(fault) => return numbers.map(|number| (number, Err(fault.clone()))).collect(),
        };
        // The runtime in which it listened may have ended.
        self.0.listen();
        let answers = reply.fields().and_then(|fields| renewed(fields, holds.len()));
        let answers = numbers.zip(answers.unwrap_or_default());
        answers.filter_map(|(number, answer)| Some((number, Ok(answer?)))).collect()
    }

    /// Renews a hold that others may be at.
    async fn renew_one(&self, hold: &Renewal) -> Result<Renewed, Fault> {
        let owner = wire::owner(&hold.owner);
        let (keys, script): (&[Key], &Script) = match self.0.layout() {
            Layout::Tenure => (&keys::ALL, &scripts::RENEW),
            Layout::Plain => (&[Key::Lock], &scripts::RENEW_PLAIN),
            Layout::Redisson => (&[Key::Lock], &scripts::RENEW_REDISSON),
        };
        let mut call = self.0.call(&hold.name, keys);
        call.argument(&[&owner]);
        if self.0.layout() == Layout::Redisson {
            call.argument(&[field_start(&owner).as_bytes()]);
        }
        call.number(ceil_millis(hold.ttl));
        match self.0.layout() {
            Layout::Tenure => drop(call.argument(&[self.0.limits().as_bytes()])),
            Layout::Plain => {}
            Layout::Redisson => {
                let longest = self.0.shared.options.layout.lock_watchdog_timeout;
                call.number(ceil_millis(longest));
            }
        }
        let reply = self.0.run(script, &owner, call).await?;
        self.0.listen();
        reply.renewed().map_err(|refused| self.0.refused(refused))
    }
}

/// What the script says of so many holds; none of one that others are at.
fn renewed(mut fields: ReplyFields, count: usize) -> ParseResult<Vec<Option<Renewed>>> {
    let answers = (0..count).map(|_| match fields.word_or_number()? {
        Ok(left) => {
            let left = Duration::from_millis(left);
            Ok(Some(Renewed::Renewed { left, others_waiting: false }))
        }
        Err(word) if word == "lost" => Ok(Some(Renewed::Lost)),
        Err(word) if word == "crowd" => Ok(None),
        Err(_) => Err(ReplyError::Corrupt),
    });
    answers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_farther_a_server_is_the_longer_it_may_be_silent() {
        let millis = Duration::from_millis;
        let cases =
            [(0, 1), (60_000, 1), (7_000, 100), (7_000, 200), (7_000, 3_000), (60_000, 900)];
        let gaps =
            cases.map(|(shortest, answer)| gap(millis(shortest), millis(answer), millis(2_000)));
        assert_eq!(gaps, [50, 1_000, 500, 600, 1_400, 1_750].map(millis));
    }
}
