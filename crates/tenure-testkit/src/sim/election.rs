//! Candidates of an election, and observers of who leads.

use std::{sync::Arc, time::Duration};

use tenure_core::{AcquireError, Guard, Leadership, LockName, Token, proto::look};

use super::{
    hold,
    limited::Limited,
    process::{Post, Process},
    task::{Asked, Terms, acquire, with_terms},
    world::World,
};
use crate::{Random, fault::Kind};

/// Campaigns and leads for a while, or asks who leads.
pub(super) async fn round(
    post: &Arc<Post>,
    index: u64,
    name: &LockName,
    terms: &Terms,
    random: &mut Random,
) {
    if random.happens(300) {
        return ask(post, name, random).await;
    }
    let asked = Asked::new(post, index, name);
    let campaign = campaign(post, &asked, terms);
    if let Some(leadership) = acquire(post, &asked, terms, campaign, random).await {
        hold::hold(post, Guard::from(leadership), terms, random).await;
    }
}

async fn campaign(
    post: &Post,
    Asked { name, label, .. }: &Asked,
    terms: &Terms,
) -> Result<Option<Leadership>, AcquireError> {
    let election = with_terms!(post.tenure.election(name.as_str()), terms, label);
    if terms.tries {
        return election.try_campaign().await;
    }
    election.campaign().await.map(Some)
}

async fn ask(post: &Post, name: &LockName, random: &mut Random) {
    let world = &post.world;
    let election = post.tenure.election(name.as_str());
    let (sent, polls) = (world.now(), drops(post, random));
    match Limited::new(Box::pin(election.leader()), polls).await {
        None => world.tally.count(Kind::LookDropped),
        Some(Ok(leader)) => world.check.leads(name, sent, leader.as_ref()),
        Some(Err(error)) => world.check.look_failed(&error),
    }
}

fn drops(post: &Post, random: &mut Random) -> Option<u64> {
    random.happens(post.world.plan.drops).then(|| random.below(6))
}

/// Follows the leaders of a name for as long as the process lives.
pub(super) async fn follow(post: Arc<Post>, name: LockName, mut random: Random) {
    let world = &post.world;
    let observer = world.check.follows(post.number, &name);
    let mut leaders = post.tenure.election(name.as_str()).leaders();
    loop {
        let polls = drops(&post, &mut random);
        match Limited::new(Box::pin(leaders.next()), polls).await {
            None => {
                world.tally.count(Kind::LookDropped);
                // A look that is dropped again and again would never end.
                post.sleep(Duration::from_millis(5)).await;
            }
            Some(Ok(leader)) => world.check.told_leader(observer, leader.as_ref()),
            Some(Err(error)) => world.check.look_failed(&error),
        }
    }
}

/// When all is calm and the name is free, a candidate leads twice, and when its process is gone
/// somebody else does; each time all observers are told in time.
pub(super) async fn finale(world: &Arc<World>, processes: &mut Vec<Process>, random: &mut Random) {
    let Some(name) = world.names.first() else { return };
    let mut start = || {
        let process = Process::start(processes.len() as u64 + 1, world, random);
        let post = process.post.clone();
        processes.push(process);
        post
    };
    let (one, other) = (start(), start());
    for _ in 0..2 {
        let Some(leadership) = elect(&one, name).await else { return };
        told(&one, name, Some(leadership.term()), processes).await;
        if let Err(error) = leadership.resign().await {
            world.check.not_resigned(name, &error);
        }
    }
    let Some(abandoned) = elect(&one, name).await else { return };
    let campaign = tokio::spawn({
        let (other, name) = (other.clone(), name.clone());
        async move { elect(&other, &name).await }
    });
    tokio::time::sleep(MARGIN).await;
    if let Some(process) = processes.iter().find(|process| process.post.number == one.number) {
        process.crash();
    }
    let next = campaign.await.ok().flatten();
    drop(abandoned);
    let Some(next) = next else { return world.check.nobody_leads(name) };
    told(&other, name, Some(next.term()), processes).await;
    drop(next);
    told(&other, name, None, processes).await;
}

const TTL: Duration = Duration::from_millis(500);
const MARGIN: Duration = Duration::from_millis(200);

/// Leads as soon as that is possible: a lease ends, and the next in line looks after that.
async fn elect(post: &Post, name: &LockName) -> Option<Leadership> {
    let election = post.tenure.election(name.as_str()).ttl(TTL).label("candidate");
    let bound = TTL * 2 + look::LONGEST + MARGIN;
    let elected = tokio::time::timeout(bound, election.campaign().into_future()).await;
    if !matches!(elected, Ok(Ok(_))) {
        post.world.check.nobody_leads(name);
    }
    elected.ok()?.ok()
}

/// Waits until all observers must have been told, and sees that they were.
async fn told(post: &Post, name: &LockName, term: Option<Token>, processes: &[Process]) {
    tokio::time::sleep(look::LONGEST + MARGIN).await;
    let alive: Vec<_> = processes
        .iter()
        .filter(|process| !process.has_crashed())
        .map(|process| process.post.number)
        .collect();
    post.world.check.all_told(name, term, &alive);
}
