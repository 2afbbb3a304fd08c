use tenure_core::proto::queue::{Ask, Intent, Kind, Mode, Order};

use super::*;

fn member(number: u8) -> (PendingRequest<Ask>, oneshot::Receiver<WriteResult<Ask>>) {
    let (answer_sender, answer) = oneshot::channel();
    let ask = Ask {
        owner: Owner::from_bytes([number; 16]),
        kind: Kind::Mutex,
        mode: Mode::Exclusive,
        order: Order::Fifo,
        intent: Intent::Try,
        ttl: Duration::from_secs(1),
        label: "".into(),
    };
    let limit = Duration::from_secs(60);
    (
        PendingRequest {
            want: ask,
            answer_sender,
            answer: None,
            limit,
            until: None,
            is_apart: false,
        },
        answer,
    )
}

fn leader(waiting: Vec<PendingRequest<Ask>>) -> GroupLeader<(), Ask> {
    let (groups, name) = (Arc::new(WriteGroups::default()), LockName::new("name").unwrap());
    let queue = RequestQueue { waiting: waiting.into(), ..RequestQueue::default() };
    let came = queue.came.clone();
    groups.queues().insert(name.clone(), queue);
    GroupLeader { groups, database: Arc::new(()), name, came, number: 0, has_left: false }
}

fn numbers(group: &WriteGroup<Ask>) -> Vec<u8> {
    group.members.iter().map(|member| member.want.owner().as_bytes()[0]).collect()
}

fn refused(group: WriteGroup<Ask>, number: u64, fault: FaultKind) -> FinishedAttempt<Ask> {
    let attempted = Err(Fault::new(fault, "refused", "nothing"));
    FinishedAttempt { number, group, attempted }
}

/// A lease that counts from then would end before the holder thinks.
#[test]
fn what_was_seen_before_counts_for_nobody_who_came_after_it() {
    let ((first, answer), (later, _hears)) = (member(1), member(2));
    let mut leader = leader(vec![later]);
    let group = WriteGroup::new(vec![first], Some(Box::default()), Instant::now());
    let group = leader.gather(Some(group), true).unwrap();
    assert_eq!((numbers(&group), group.seen.is_some()), (vec![1], true));
    drop(answer);
    let mut group = leader.gather(Some(group), true).unwrap();
    assert_eq!((numbers(&group), group.seen.is_some()), (vec![2], false));
    group.members.clear();
    assert!(leader.gather(Some(group), false).is_none() && !leader.has_left);
    assert!(leader.gather(None, true).is_none() && leader.has_left);
    assert!(leader.groups.queues().is_empty());
}

#[test]
fn what_is_refused_for_good_is_refused_to_the_one_that_it_is_about() {
    let (all, mut answers): (Vec<_>, Vec<_>) = (1..=3).map(member).unzip();
    let (mut leader, mut next) = (leader(all), None);
    let group = leader.gather(None, true).unwrap();
    assert_eq!(numbers(&group), [1, 2, 3]);
    leader.finish(refused(group, 1, FaultKind::Misconfigured), &mut next);
    for number in 1..=3_u8 {
        assert!(
            answers
                .iter_mut()
                .skip(usize::from(number) - 1)
                .all(|answer| answer.try_recv().is_err())
        );
        let group = leader.gather(next.take(), true).unwrap();
        assert_eq!(numbers(&group), [number]);
        leader.finish(refused(group, leader.number, FaultKind::Misconfigured), &mut next);
        assert!(matches!(answers[usize::from(number) - 1].try_recv(), Ok(Err(_))));
    }
}

#[test]
fn what_nobody_knows_of_is_told_to_all() {
    let (all, mut answers): (Vec<_>, Vec<_>) = (1..=3).map(member).unzip();
    let mut leader = leader(all);
    let group = leader.gather(None, true).unwrap();
    leader.finish(refused(group, 1, FaultKind::InDoubt), &mut None);
    assert!(answers.iter_mut().all(|answer| matches!(answer.try_recv(), Ok(Err(_)))));
}
