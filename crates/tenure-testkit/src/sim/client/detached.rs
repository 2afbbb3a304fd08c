//! Holds that leave their process, and are taken up by whichever finds the handle.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::{
    Clock, DetachError, Guard, Handle, HandleError, Timestamp, Token, detached::Detached,
};

use super::{Post, Terms, hold, hold::acquired};
use crate::{Random, check::Holding, clock::SimClock, fault::Kind, sim::Limited};

/// The lengths of their leases: short beside the time in which all must be free again.
const LEASES: &[u64] = &[60, 200, 500, 1_000, 2_000];
/// How many handles lie about at a time.
const MOST: usize = 8;

/// The handles that lie about, for whoever comes by.
#[derive(Debug, Default)]
pub(super) struct Handles(Mutex<Vec<Arc<Parked>>>);

/// A detached hold, of which nobody hears anything.
#[derive(Debug)]
struct Parked {
    handle: Handle,
    terms: Terms,
    token: Token,
    deadline: Timestamp,
    clock: SimClock,
    /// What the checker calls it.
    hold: OnceLock<usize>,
    /// How many have tried to take it up.
    touches: AtomicU64,
}

impl Holding for Parked {
    fn is_held(&self) -> bool {
        self.clock.now() < self.deadline
    }

    fn deadline(&self) -> Option<Timestamp> {
        Some(self.deadline)
    }
}

impl Handles {
    fn leave(&self, parked: Arc<Parked>) {
        let mut handles = self.lock();
        if handles.len() == MOST {
            handles.remove(0);
        }
        handles.push(parked);
    }

    /// One of them. It may stay for others to find.
    fn find(&self, random: &mut Random) -> Option<Arc<Parked>> {
        let mut handles = self.lock();
        let index = usize::try_from(random.below(handles.len().max(1) as u64)).unwrap_or(0);
        let found = handles.get(index)?.clone();
        if random.happens(500) {
            handles.remove(index);
        }
        Some(found)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Parked>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Detaches `guard`, which was `valid`, and leaves the handle for whoever finds it.
pub(super) async fn detach(
    post: &Post,
    guard: Guard,
    valid: bool,
    terms: &Terms,
    random: &mut Random,
) {
    let (stage, habits) = (&post.stage, &post.stage.habits);
    let lease = Duration::from_millis(*random.choose(LEASES)).min(habits.longest_detached);
    post.note(&format!("detaches {} for {lease:?}", guard.token()));
    let polls = random.happens(habits.drops).then(|| random.below(habits.release_polls));
    let (name, token) = (guard.name().clone(), guard.token());
    // A call that was not heard of may have detached it, for a lease that is over by now.
    let deadline = post.clock.true_at(guard.deadline()).min(stage.now().saturating_add(lease));
    let detaching = Box::pin(IntoFuture::into_future(guard.detach().lease(lease)));
    match Limited::new(detaching, polls).await {
        None => stage.tally.count(Kind::DetachDropped),
        Some(Ok(Detached { handle, token, deadline, .. })) => {
            let terms = Terms { ttl: lease, grace: Duration::ZERO, max_hold: None, ..*terms };
            let clock = post.clock.clone();
            let (hold, touches) = (OnceLock::new(), AtomicU64::new(0));
            let parked = Parked { handle, terms, token, deadline, clock, hold, touches };
            let parked = Arc::new(parked);
            let weak = Arc::downgrade(&parked);
            // The answer may have come so late that it is over.
            if parked.is_held() {
                stage.check.detached();
                let hold = acquired(post, &name, token, &terms, weak).await;
                let _ = parked.hold.set(hold);
                stage.handles.leave(parked);
            }
        }
        Some(Err(DetachError::Lost(_))) => {
            post.note("had lost before it detached");
            if valid && !habits.unseen_losses {
                stage.check.release_lost(token, deadline);
            }
        }
        Some(Err(_)) => post.note("is in doubt about its detaching"),
    }
}

/// Does something with a handle that lies about, if there is one and this task looks for one. Whether
/// it did.
pub async fn take_up(post: &Post, random: &mut Random) -> bool {
    let stage = &post.stage;
    if !random.happens(250) {
        return false;
    }
    let Some(parked) = stage.handles.find(random) else { return false };
    match random.below(10) {
        0..=1 => renew(post, &parked, random).await,
        2 => release(post, &parked, random).await,
        _ => attach(post, &parked, random).await,
    }
    true
}

async fn renew(post: &Post, parked: &Parked, random: &mut Random) {
    let lease = Duration::from_millis(*random.choose(LEASES));
    let lease = lease.min(post.stage.habits.longest_detached);
    post.note(&format!("renews the detached {}", parked.token));
    let renewed = post.tenure.renew_detached(&parked.handle, lease).await;
    if matches!(renewed, Err(HandleError::Lost(_))) {
        lost(post, parked, 0, Timestamp::NEVER);
    }
}

async fn release(post: &Post, parked: &Parked, random: &mut Random) {
    let polls = post.stage.habits.release_polls;
    touch(post, parked);
    post.note(&format!("releases the detached {}", parked.token));
    let cut = random.happens(post.stage.habits.drops).then(|| random.below(polls));
    let releasing = Box::pin(post.tenure.release_detached(&parked.handle));
    if let Some(Err(HandleError::Lost(_))) = Limited::new(releasing, cut).await {
        lost(post, parked, 1, Timestamp::NEVER);
    }
}

async fn attach(post: &Post, parked: &Parked, random: &mut Random) {
    let (stage, habits) = (&post.stage, &post.stage.habits);
    let mut terms = parked.terms;
    touch(post, parked);
    terms.max_hold = random.happens(100).then(|| Duration::from_millis(150));
    post.note(&format!("attaches the detached {}", parked.token));
    let attaching = post.tenure.attach(&parked.handle).ttl(terms.ttl).label(post.label());
    let attaching = match terms.max_hold {
        Some(longest) => attaching.max_hold(longest),
        None => attaching,
    };
    let cut = random.happens(habits.drops).then(|| random.below(habits.acquire_polls));
    // A call that was not heard of may have attached it, for a lease that is over by now.
    let until = stage.now().saturating_add(terms.ttl);
    let attaching = Box::pin(IntoFuture::into_future(attaching));
    match Limited::new(attaching, cut).await {
        None => stage.tally.count(Kind::AttachDropped),
        Some(Ok(guard)) => {
            stage.check.attached(parked.token, guard.token());
            Box::pin(hold(post, guard, &terms, random)).await;
        }
        Some(Err(HandleError::Lost(_))) => lost(post, parked, 1, until),
        Some(Err(_)) => post.note("is in doubt about what it attaches"),
    }
}

/// From now on the detached hold may be in other hands.
fn touch(post: &Post, parked: &Parked) {
    if let Some(hold) = parked.hold.get() {
        post.stage.check.ended(*hold);
    }
    parked.touches.fetch_add(1, Ordering::Relaxed);
}

/// Somebody was told that a detached hold is lost. That is wrong if nobody has touched it but the one
/// who is told, `own` times, and it is over neither by itself nor by what may have become of its touch,
/// at `until`.
fn lost(post: &Post, parked: &Parked, own: u64, until: Timestamp) {
    post.note("is told that it is lost");
    if parked.touches.load(Ordering::Relaxed) == own && !post.stage.habits.unseen_losses {
        let deadline = parked.clock.true_at(parked.deadline);
        post.stage.check.release_lost(parked.token, deadline.min(until));
    }
}
