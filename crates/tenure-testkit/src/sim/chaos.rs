//! What goes wrong over time: pauses, crashes, outages, lost data, clocks that are set.

use std::{sync::Arc, time::Duration};

use tenure_core::{Clock, Store, Timestamp, proto::queue::Snapshot};

use super::{process::Process, world::World};
use crate::{
    Random,
    fault::{Faults, Kind},
};

/// A kind of trouble that comes at some moment.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    Pause,
    Crash,
    Outage,
    DataLoss,
    WallStep,
    Eviction,
}

/// What is to end again at some moment, and for which process.
#[derive(Clone, Copy, Debug)]
enum Relief {
    Resume(usize),
    Restore(usize),
    Restart,
}

/// Makes trouble until the plan's time is over, and then puts everything right.
pub(super) async fn rage(world: &Arc<World>, processes: &mut Vec<Process>, random: &mut Random) {
    let end = world.now().saturating_add(world.plan.chaos);
    let troubles = possible(world);
    let mut reliefs: Vec<(Timestamp, Relief)> = Vec::new();
    let mut next = trouble_after(world, random);
    loop {
        let relief = reliefs.iter().map(|(at, _)| *at).min().unwrap_or(Timestamp::NEVER);
        world.clock.sleep_until(next.min(relief).min(end)).await;
        let now = world.now();
        let over = now >= end;
        let (due, later) = reliefs.into_iter().partition(|(at, _)| over || *at <= now);
        reliefs = later;
        for (_, relief) in due {
            relieve(world, processes, random, relief);
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
    }
    world.check.note(0, "nothing goes wrong any more");
    world.calm_down();
    for process in processes {
        process.resume();
        process.set_faults(world.plan.calm());
    }
}

fn possible(world: &World) -> Vec<Trouble> {
    let plan = &world.plan;
    let all = [
        (plan.pauses, Trouble::Pause),
        (plan.crashes, Trouble::Crash),
        (plan.outages, Trouble::Outage),
        (plan.data_loss, Trouble::DataLoss),
        (plan.wall_steps, Trouble::WallStep),
        (plan.evictions, Trouble::Eviction),
    ];
    all.into_iter().filter_map(|(possible, trouble)| possible.then_some(trouble)).collect()
}

fn trouble_after(world: &World, random: &mut Random) -> Timestamp {
    let gap = random.length(Duration::from_millis(20), Duration::from_millis(500));
    world.now().saturating_add(gap)
}

async fn make(
    world: &Arc<World>,
    processes: &[Process],
    random: &mut Random,
    trouble: Trouble,
) -> Option<(Timestamp, Relief)> {
    let index = usize::try_from(random.below(processes.len() as u64)).ok()?;
    let process = processes.get(index).filter(|process| !process.has_crashed())?;
    let longest = world.plan.longest_pause() / (1 << random.below(6));
    let until = world.now().saturating_add(random.length(longest / 8, longest));
    match trouble {
        Trouble::Pause => {
            world.tally.count(Kind::Paused);
            process.pause();
            Some((until, Relief::Resume(index)))
        }
        Trouble::Crash => {
            world.tally.count(Kind::Crashed);
            process.crash();
            Some((until, Relief::Restart))
        }
        Trouble::Outage => {
            world.tally.count(Kind::Outage);
            world.check.note(process.post.number, "is cut off");
            let faults = world.plan.faults;
            process.set_faults(*random.choose(&[
                Faults { request_lost: 1_000, ..faults },
                Faults { reply_lost: 1_000, ..faults },
                Faults { request_late: 1_000, ..faults },
                Faults { reply_late: 1_000, ..faults },
                Faults { refused: 1_000, ..faults },
                Faults { refused: 500, reply_lost: 1_000, ..faults },
            ]));
            Some((until, Relief::Restore(index)))
        }
        Trouble::DataLoss => {
            // Promise S2 asks that the clock is not behind what was issued; a restart takes time.
            if world.may_lose_data(world.clock.wall() + 2_000) {
                world.tally.count(Kind::DataLost);
                world.clock.set_wall_by(2_000);
                for name in world.latches() {
                    let left = world.store.inspect(name).await.unwrap_or_default();
                    world.check.wiped(name, &left);
                }
                world.lose_data();
            }
            None
        }
        Trouble::WallStep => {
            let back = 1_000 << random.below(14);
            // The same goes for a store that lost its data before.
            let wall = world.clock.wall().saturating_add_signed(-back);
            if !world.check.has_lost_data() || world.may_lose_data(wall) {
                world.tally.count(Kind::WallSetBack);
                world.check.note(0, "the time of day is set back");
                world.clock.set_wall_by(-back);
            }
            None
        }
        Trouble::Eviction => {
            let name = random.choose(&world.names);
            let holders = world.store.evict(name).await.unwrap_or_default();
            if !holders.is_empty() {
                if world.latches().contains(name) {
                    world.check.wiped(name, &Snapshot { holders, ..Snapshot::default() });
                }
                world.tally.count(Kind::Evicted);
                world.check.evicted(name);
            }
            None
        }
    }
}

fn relieve(world: &Arc<World>, processes: &mut Vec<Process>, random: &mut Random, relief: Relief) {
    match relief {
        Relief::Resume(index) => {
            if let Some(process) = processes.get(index) {
                process.resume();
            }
        }
        Relief::Restore(index) => {
            if let Some(process) = processes.get(index) {
                process.set_faults(world.plan.faults);
            }
        }
        // What ended stays in the list, so that its tasks are seen to end.
        Relief::Restart => {
            let number = processes.len() as u64 + 1;
            processes.push(Process::start(number, world, random));
        }
    }
}
