//! What goes wrong over one store: pauses, crashes, outages, lost data, clocks that are set.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tenure_core::{Clock, Store, Timestamp, proto::queue::Snapshot};

use super::{
    chaos::{Chaos, choose, cut_off, until},
    client::{LockKind, Process},
    process,
    world::World,
};
use tenure_testkit::{Random, fault::Kind};

/// A kind of trouble that comes at some moment.
#[derive(Clone, Copy, Debug)]
pub(super) enum InjectedFailure {
    Pause,
    Crash,
    Outage,
    DataLoss,
    WallStep,
    Eviction,
}

/// What is to end again at some moment, and for which process.
#[derive(Clone, Copy, Debug)]
pub(super) enum Recovery {
    Resume(usize),
    Restore(usize),
    Restart,
}

/// The troubles of a world's plan.
pub(super) struct FailureInjector(pub(super) Arc<World>);

#[async_trait]
impl Chaos for FailureInjector {
    type Trouble = InjectedFailure;
    type Relief = Recovery;

    fn possible(&self) -> Vec<InjectedFailure> {
        let plan = &self.0.plan;
        let all = [
            (plan.pauses, InjectedFailure::Pause),
            (plan.crashes, InjectedFailure::Crash),
            (plan.outages, InjectedFailure::Outage),
            (plan.data_loss, InjectedFailure::DataLoss),
            (plan.wall_steps, InjectedFailure::WallStep),
            (plan.evictions, InjectedFailure::Eviction),
        ];
        all.into_iter().filter_map(|(possible, trouble)| possible.then_some(trouble)).collect()
    }

    fn gap(&self, random: &mut Random) -> Duration {
        random.length(Duration::from_millis(20), Duration::from_millis(500))
    }

    async fn make(
        &mut self,
        processes: &[Process],
        trouble: InjectedFailure,
        random: &mut Random,
    ) -> Option<(Timestamp, Recovery)> {
        let (world, stage) = (&self.0, &self.0.stage);
        let (index, process) = choose(processes, random)?;
        let until = until(stage, random);
        match trouble {
            InjectedFailure::Pause => {
                stage.tally.count(Kind::Paused);
                process.pause();
                return Some((until, Recovery::Resume(index)));
            }
            InjectedFailure::Crash => {
                stage.tally.count(Kind::Crashed);
                process.context.crash(None);
                return Some((until, Recovery::Restart));
            }
            InjectedFailure::Outage => {
                stage.tally.count(Kind::Outage);
                process.context.note("is cut off");
                process.set_faults(cut_off(world.plan.faults, 1_000, random));
                return Some((until, Recovery::Restore(index)));
            }
            InjectedFailure::DataLoss => lose_data(world).await,
            InjectedFailure::WallStep => set_back(world, random),
            InjectedFailure::Eviction => evict(world, random).await,
        }
        None
    }

    fn relieve(&mut self, processes: &mut Vec<Process>, relief: Recovery, random: &mut Random) {
        match relief {
            Recovery::Resume(index) => {
                if let Some(process) = processes.get(index) {
                    process.resume();
                }
            }
            Recovery::Restore(index) => {
                if let Some(process) = processes.get(index) {
                    process.set_faults(self.0.plan.faults);
                }
            }
            // What ended stays in the list, so that its tasks are seen to end.
            Recovery::Restart => {
                process::add(processes, &self.0, random);
            }
        }
    }
}

async fn lose_data(world: &World) {
    let (clock, stage) = (&world.stage.clock, &world.stage);
    // Promise S2 asks that the clock is not behind what was issued; a restart takes time.
    if world.may_lose_data(clock.wall() + 2_000) {
        stage.tally.count(Kind::DataLost);
        clock.set_wall_by(2_000);
        for name in world.latches() {
            let left = world.store.inspect(name).await.unwrap_or_default();
            stage.check.wiped(name, &left);
        }
        world.lose_data();
    }
}

fn set_back(world: &World, random: &mut Random) {
    let (clock, stage) = (&world.stage.clock, &world.stage);
    // A caller waits for the beginning of its slot, however far the time of day is set back.
    let steps = if matches!(world.plan.locks, LockKind::Slots(_)) { 10 } else { 14 };
    let back = 1_000 << random.below(steps);
    // The same goes for a store that lost its data before.
    let wall = clock.wall().saturating_add_signed(-back);
    if !stage.check.has_lost_data() || world.may_lose_data(wall) {
        stage.tally.count(Kind::WallSetBack);
        stage.check.note(0, "the time of day is set back");
        stage.check.wall_set_back();
        clock.set_wall_by(-back);
    }
}

async fn evict(world: &World, random: &mut Random) {
    let stage = &world.stage;
    let name = random.choose(&stage.names);
    let holders = world.store.evict(name).await.unwrap_or_default();
    if holders.is_empty() {
        return;
    }
    if world.latches().contains(name) {
        stage.check.wiped(name, &Snapshot::new(holders, Vec::new()));
    }
    stage.tally.count(Kind::Evicted);
    stage.check.evicted(name);
}
