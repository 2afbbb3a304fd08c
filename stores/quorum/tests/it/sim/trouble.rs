//! What goes wrong over a quorum: beside its processes, its members.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tenure_core::Timestamp;
use tenure_sim::{
    chaos::{Chaos, choose, cut_off, until},
    client::Process,
};
use tenure_testkit::{
    Random,
    fault::{Faults, Kind},
};

use super::{process, seen::Sight, world::World};

/// A kind of trouble that comes at some moment.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trouble {
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
pub(super) enum Relief {
    Resume(usize),
    /// A process finds the way to its members again.
    Restore(usize),
    /// All find the way to a member again.
    Return(usize),
}

/// The troubles of a world's plan.
pub(super) struct Troubles {
    world: Arc<World>,
    /// How many of the processes that ended have another one in their place.
    replaced: usize,
}

impl Troubles {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: world.clone(), replaced: 0 }
    }
}

#[async_trait]
impl Chaos for Troubles {
    type Trouble = Trouble;
    type Relief = Relief;

    fn possible(&self) -> Vec<Trouble> {
        let plan = &self.world.plan;
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

    fn gap(&self, random: &mut Random) -> Duration {
        random.length(Duration::from_millis(10), Duration::from_millis(300))
    }

    async fn make(
        &mut self,
        processes: &[Process],
        trouble: Trouble,
        random: &mut Random,
    ) -> Option<(Timestamp, Relief)> {
        let (world, stage) = (&self.world, &self.world.stage);
        let (index, process) = choose(processes, random)?;
        let member = random.below(world.plan.members as u64) as usize;
        let until = until(stage, random);
        let note = |what: &str| stage.check.note(0, &format!("member {member} {what}"));
        match trouble {
            Trouble::Pause => {
                stage.tally.count(Kind::Paused);
                process.pause();
                Some((until, Relief::Resume(index)))
            }
            Trouble::Crash => {
                process.context.crash(None);
                None
            }
            Trouble::Outage => {
                stage.tally.count(Kind::Outage);
                let cut = gone(world, random);
                for member in 0..world.plan.members {
                    if random.happens(500) {
                        process.context.note(&format!("loses the way to member {member}"));
                        process.context.lines[member].set_faults(cut);
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
                    stage.tally.count(Kind::DataLost);
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
                    stage.tally.count(Kind::DataLost);
                    note("restarts with a part of its memory");
                }
                None
            }
            Trouble::WallStep => {
                note("has its time of day set");
                stage.tally.count(Kind::WallSetBack);
                world.members.set_wall(member, &world.plan, random);
                None
            }
            Trouble::Eviction => {
                // What is under way at this moment comes to its end: a member that is asked to take
                // a hold back by what a majority answered before it could make it a majority again.
                for _ in 0..200 {
                    tokio::task::yield_now().await;
                }
                let name = random.choose(&stage.names);
                if world.members.evict(name, random).await {
                    stage.tally.count(Kind::Evicted);
                    stage.check.evicted(name);
                }
                None
            }
        }
    }

    fn relieve(&mut self, processes: &mut Vec<Process>, relief: Relief, _random: &mut Random) {
        let world = &self.world;
        match relief {
            Relief::Resume(index) => processes[index].resume(),
            Relief::Restore(index) => {
                for (member, line) in processes[index].context.lines.iter().enumerate() {
                    line.set_faults(world.faults(member));
                }
            }
            Relief::Return(member) => {
                world.stage.check.note(0, &format!("member {member} is back"));
                world.set_faults(member, world.plan.faults);
                reconnect(world, processes, member);
            }
        }
    }

    /// What ended stays in the list, so that its tasks are seen to end.
    fn go_on(&mut self, processes: &mut Vec<Process>, random: &mut Random) {
        let ended = processes.iter().filter(|process| process.has_crashed()).count();
        if self.replaced < ended && random.happens(500) {
            self.replaced += 1;
            processes.push(process::start(processes.len() as u64 + 1, &self.world, random));
        }
    }
}

fn reconnect(world: &World, processes: &[Process], member: usize) {
    for process in processes {
        process.context.lines[member].set_faults(world.faults(member));
    }
}

fn gone(world: &World, random: &mut Random) -> Faults {
    let faults = world.plan.faults;
    // A late copy of an ask could bring back what an operator took away.
    let late = if world.plan.evictions { faults.reply_late } else { 1_000 };
    cut_off(faults, late, random)
}
