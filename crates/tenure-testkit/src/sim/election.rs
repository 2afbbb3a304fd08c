//! Candidates of an election, and observers of who leads.

use std::{sync::Arc, time::Duration};

use tenure_core::{AcquireError, Guard, Leadership, LockName};

use super::{
    client::{Asked, Post, Terms, acquire, hold, with_terms},
    limited::Limited,
};
use crate::{Random, fault::Kind};

/// Campaigns and leads for a while, or asks who leads.
pub(super) async fn round(
    post: &Post,
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
        hold(post, Guard::from(leadership), terms, random).await;
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
    let stage = &post.stage;
    let election = post.tenure.election(name.as_str());
    let (sent, polls) = (stage.now(), drops(post, random));
    match Limited::new(Box::pin(election.leader()), polls).await {
        None => stage.tally.count(Kind::LookDropped),
        Some(Ok(leader)) => stage.check.leads(name, sent, leader.as_ref()),
        Some(Err(error)) => stage.check.look_failed(&error),
    }
}

fn drops(post: &Post, random: &mut Random) -> Option<u64> {
    random.happens(post.stage.habits.drops).then(|| random.below(6))
}

/// Follows the leaders of a name for as long as the process lives.
pub(super) async fn follow(post: Arc<Post>, name: LockName, mut random: Random) {
    let stage = &post.stage;
    let observer = stage.check.follows(post.number, &name);
    let mut leaders = post.tenure.election(name.as_str()).leaders();
    loop {
        let polls = drops(&post, &mut random);
        match Limited::new(Box::pin(leaders.next()), polls).await {
            None => {
                stage.tally.count(Kind::LookDropped);
                // A look that is dropped again and again would never end.
                post.sleep(Duration::from_millis(5)).await;
            }
            Some(Ok(leader)) => stage.check.told_leader(observer, leader.as_ref()),
            Some(Err(error)) => stage.check.look_failed(&error),
        }
    }
}
