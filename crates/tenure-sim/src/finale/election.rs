//! Elections when all is calm.

use std::{sync::Arc, time::Duration};

use tenure_core::{Leadership, LockName, Token, proto::look};

use crate::{
    client::{Process, ProcessContext},
    process,
    world::World,
};
use tenure_testkit::Random;

/// When all is calm and the name is free, a candidate leads twice, and when its process is gone
/// somebody else does; each time all observers are told in time.
pub(crate) async fn play(world: &Arc<World>, processes: &mut Vec<Process>, random: &mut Random) {
    let Some(name) = world.stage.names.first() else { return };
    let mut start = || process::add(processes, world, random);
    let (one, other) = (start(), start());
    for _ in 0..2 {
        let Some(leadership) = elect(&one, name).await else { return };
        check_all_told(&one, name, Some(leadership.term()), processes).await;
        if let Err(error) = leadership.resign().await {
            world.stage.check.not_resigned(name, &error);
        }
    }
    let Some(abandoned) = elect(&one, name).await else { return };
    let campaign = tokio::spawn({
        let (other, name) = (other.clone(), name.clone());
        async move { elect(&other, &name).await }
    });
    tokio::time::sleep(MARGIN).await;
    if let Some(process) = processes.iter().find(|process| process.context.number == one.number) {
        process.context.crash(None);
    }
    let next = campaign.await.ok().flatten();
    drop(abandoned);
    let Some(next) = next else { return world.stage.check.nobody_leads(name) };
    check_all_told(&other, name, Some(next.term()), processes).await;
    drop(next);
    check_all_told(&other, name, None, processes).await;
}

const TTL: Duration = Duration::from_millis(500);
const MARGIN: Duration = Duration::from_millis(200);

/// Leads as soon as that is possible: a lease ends, and the next in line looks after that.
async fn elect(context: &ProcessContext, name: &LockName) -> Option<Leadership> {
    let election = context.tenure.election(name.as_str()).ttl(TTL).label("candidate");
    let bound = TTL * 2 + look::LONGEST + MARGIN;
    let elected = tokio::time::timeout(bound, election.campaign().into_future()).await;
    if !matches!(elected, Ok(Ok(_))) {
        context.stage.check.nobody_leads(name);
    }
    elected.ok()?.ok()
}

/// Waits until all observers must have been told, and sees that they were.
async fn check_all_told(
    context: &ProcessContext,
    name: &LockName,
    term: Option<Token>,
    processes: &[Process],
) {
    tokio::time::sleep(look::LONGEST + MARGIN).await;
    let alive: Vec<_> = processes
        .iter()
        .filter(|process| !process.has_crashed())
        .map(|process| process.context.number)
        .collect();
    context.stage.check.all_told(name, term, &alive);
}
