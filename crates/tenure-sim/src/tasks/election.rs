//! Candidates of an election, and observers of who leads.

use std::{sync::Arc, time::Duration};

use tenure_core::{AcquireError, Guard, Leadership, LockName};

use crate::{
    client::{AskIdentity, ProcessContext, Terms, acquire, hold, with_terms},
    limited::PollLimit,
};
use tenure_testkit::{Random, fault::Kind};

/// Campaigns and leads for a while, or asks who leads.
pub(crate) async fn round(
    context: &ProcessContext,
    index: u64,
    name: &LockName,
    terms: &Terms,
    random: &mut Random,
) {
    if random.happens(300) {
        return query_leader(context, name, random).await;
    }
    let asked = AskIdentity::new(context, index, name);
    let campaign = campaign(context, &asked, terms);
    if let Some(leadership) = acquire(context, &asked, terms, campaign, random).await {
        hold(context, Guard::from(leadership), terms, random).await;
    }
}

async fn campaign(
    context: &ProcessContext,
    AskIdentity { name, label, .. }: &AskIdentity,
    terms: &Terms,
) -> Result<Option<Leadership>, AcquireError> {
    let election = with_terms!(context.tenure.election(name.as_str()), terms, label);
    if terms.tries {
        return election.try_campaign().await;
    }
    election.campaign().await.map(Some)
}

async fn query_leader(context: &ProcessContext, name: &LockName, random: &mut Random) {
    let stage = &context.stage;
    let election = context.tenure.election(name.as_str());
    let (sent, polls) = (stage.now(), random_poll_limit(context, random));
    match PollLimit::new(Box::pin(election.leader()), polls).await {
        None => stage.tally.count(Kind::LookDropped),
        Some(Ok(leader)) => stage.check.leads(name, sent, leader.as_ref()),
        Some(Err(error)) => stage.check.look_failed(&error),
    }
}

fn random_poll_limit(context: &ProcessContext, random: &mut Random) -> Option<u64> {
    random.happens(context.stage.habits.drops).then(|| random.below(6))
}

/// Follows the leaders of a name for as long as the process lives.
pub(crate) async fn follow_leaders(
    context: Arc<ProcessContext>,
    name: LockName,
    mut random: Random,
) {
    let stage = &context.stage;
    let observer = stage.check.follows(context.number, &name);
    let mut leaders = context.tenure.election(name.as_str()).leaders();
    loop {
        let polls = random_poll_limit(&context, &mut random);
        match PollLimit::new(Box::pin(leaders.next()), polls).await {
            None => {
                stage.tally.count(Kind::LookDropped);
                // A look that is dropped again and again would never end.
                context.sleep(Duration::from_millis(5)).await;
            }
            Some(Ok(leader)) => stage.check.told_leader(observer, leader.as_ref()),
            Some(Err(error)) => stage.check.look_failed(&error),
        }
    }
}
