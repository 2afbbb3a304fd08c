//! What goes wrong over time.

use std::{sync::Arc, time::Duration};

use tenure_core::{Clock, Timestamp};
use tenure_testkit::{
    Random,
    fault::{Faults, Kind},
};

use super::{plan::LONGEST_PAUSE, process::Process, seen::Sight, world::World};

/// A kind of trouble that comes at some moment.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    Pause,
    Crash,
    Outage,
    MemberGone,
    Wipe,
    Save,
    Restart,
    WallStep,
    Eviction,
}

/// What is to end again at some moment.
#[derive(Clone, Copy, Debug)]
enum Relief {
    Resume(usize),
    /// A process finds the way to its members again.
    Restore(usize),
    /// All find the way to a member again.
    Return(usize),
}

/// Makes trouble until the plan's time is over, and then puts everything right.
pub(super) async fn rage(world: &Arc<World>, processes: &mut Vec<Process>, random: &mut Random) {
    let end = world.now().saturating_add(world.plan.chaos);
    let troubles = possible(world);
    let (mut reliefs, mut replaced): (Vec<(Timestamp, Relief)>, _) = (Vec::new(), 0);
    let mut next = trouble_after(world, random);
    loop {
        let relief = reliefs.iter().map(|(at, _)| *at).min().unwrap_or(Timestamp::NEVER);
        world.clock.sleep_until(next.min(relief).min(end)).await;
        let now = world.now();
        let over = now >= end;
        let (due, later) = reliefs.into_iter().partition(|(at, _)| over || *at <= now);
        reliefs = later;
        for (_, relief) in due {
            relieve(world, processes, relief);
        }
        if over {
            break;
        }
        if now >= next {
            if !troubles.is_empty() {
                let trouble = *random.choose(&troubles);
                reliefs.extend(make(world, processes, random, trouble).await);
            }
            next = trouble_after(world, random);
        }
        // What ended stays in the list, so that its tasks are seen to end.
        let ended = processes.iter().filter(|process| process.has_crashed()).count();
        if replaced < ended && random.happens(500) {
            replaced += 1;
            processes.push(Process::start(processes.len() as u64 + 1, world, random));
        }
    }
    world.check.note(0, "nothing goes wrong any more");
    world.calm_down();
    for process in processes {
        process.resume();
        for member in 0..world.plan.members {
            process.set_faults(member, world.plan.calm());
        }
    }
}

fn possible(world: &World) -> Vec<Trouble> {
    let plan = &world.plan;
    let all = [
        (plan.pauses, Trouble::Pause),
        (plan.crashes, Trouble::Crash),
        (plan.outages, Trouble::Outage),
        (plan.outages, Trouble::MemberGone),
        (plan.wipes, Trouble::Wipe),
        (plan.wipes, Trouble::Wipe),
        (plan.wipes, Trouble::Save),
        (plan.wipes, Trouble::Save),
        (plan.wipes, Trouble::Restart),
        (plan.wipes, Trouble::Restart),
        (plan.wall_steps, Trouble::WallStep),
        (plan.evictions, Trouble::Eviction),
    ];
    all.into_iter().filter_map(|(possible, trouble)| possible.then_some(trouble)).collect()
}

fn trouble_after(world: &World, random: &mut Random) -> Timestamp {
    let gap = random.length(Duration::from_millis(10), Duration::from_millis(300));
    world.now().saturating_add(gap)
}

async fn make(
    world: &Arc<World>,
    processes: &[Process],
    random: &mut Random,
    trouble: Trouble,
) -> Option<(Timestamp, Relief)> {
    let below = |random: &mut Random, count: usize| random.below(count as u64) as usize;
    let index = below(random, processes.len());
    let process = processes.get(index).filter(|process| !process.has_crashed())?;
    let member = below(random, world.plan.members);
    let longest = LONGEST_PAUSE / (1 << random.below(6));
    let until = world.now().saturating_add(random.length(longest / 8, longest));
    let note = |what: &str| world.check.note(0, &format!("member {member} {what}"));
    match trouble {
        Trouble::Pause => {
            world.tally.count(Kind::Paused);
            process.pause();
            Some((until, Relief::Resume(index)))
        }
        Trouble::Crash => {
            process.post.crash();
            None
        }
        Trouble::Outage => {
            world.tally.count(Kind::Outage);
            let cut = gone(world, random);
            for member in 0..world.plan.members {
                if random.happens(500) {
                    process.post.note(&format!("loses the way to member {member}"));
                    process.set_faults(member, cut);
                }
            }
            Some((until, Relief::Restore(index)))
        }
        Trouble::MemberGone => {
            world.seen.count(Sight::MemberGone);
            note("is gone");
            world.set_faults(member, gone(world, random));
            reconnect(world, processes, member);
            Some((until, Relief::Return(member)))
        }
        Trouble::Wipe => {
            if world.members.wipe(member).await {
                world.seen.count(Sight::Wiped);
                world.tally.count(Kind::DataLost);
                note("loses its memory");
            }
            None
        }
        Trouble::Save => {
            world.members.save(member).await;
            None
        }
        Trouble::Restart => {
            if world.members.restart(member).await {
                world.seen.count(Sight::Restarted);
                world.tally.count(Kind::DataLost);
                note("restarts with a part of its memory");
            }
            None
        }
        Trouble::WallStep => {
            note("has its time of day set");
            world.tally.count(Kind::WallSetBack);
            world.members.set_wall(member, &world.plan, random);
            None
        }
        Trouble::Eviction => {
            // What is under way at this moment comes to its end: a member that is asked to take a
            // hold back by what a majority answered before it could make it a majority again.
            for _ in 0..200 {
                tokio::task::yield_now().await;
            }
            let name = random.choose(&world.names);
            if world.members.evict(name, random).await {
                world.tally.count(Kind::Evicted);
                world.check.evicted(name);
            }
            None
        }
    }
}

fn relieve(world: &Arc<World>, processes: &[Process], relief: Relief) {
    match relief {
        Relief::Resume(index) => processes[index].resume(),
        Relief::Restore(index) => {
            for member in 0..world.plan.members {
                processes[index].set_faults(member, world.faults(member));
            }
        }
        Relief::Return(member) => {
            world.check.note(0, &format!("member {member} is back"));
            world.set_faults(member, world.plan.faults);
            reconnect(world, processes, member);
        }
    }
}

fn reconnect(world: &World, processes: &[Process], member: usize) {
    for process in processes {
        process.set_faults(member, world.faults(member));
    }
}

fn gone(world: &World, random: &mut Random) -> Faults {
    let faults = world.plan.faults;
    let late = if world.plan.evictions { faults.reply_late } else { 1_000 };
    *random.choose(&[
        Faults { request_lost: 1_000, ..faults },
        Faults { reply_lost: 1_000, ..faults },
        Faults { request_late: 1_000, ..faults },
        Faults { reply_late: late, ..faults },
        Faults { refused: 1_000, ..faults },
        Faults { refused: 500, reply_lost: 1_000, ..faults },
    ])
}
