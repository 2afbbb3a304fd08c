//! When things go wrong, and when they are put right again.

use std::time::Duration;

use async_trait::async_trait;
use tenure_core::{Clock, Timestamp};

use super::client::{Process, SharedContext};
use tenure_testkit::{Random, fault::Faults};

/// The longest that a process may stand still or be cut off.
const LONGEST: Duration = Duration::from_secs(3);

/// What can go wrong in one simulation.
#[async_trait]
pub trait Chaos: Send + Sync {
    /// Something that goes wrong at some moment.
    type Trouble: Copy + Send + Sync;
    /// What ends it again.
    type Relief: Send;

    /// What happens, each as likely as the others; what is there twice happens twice as often.
    fn possible(&self) -> Vec<Self::Trouble>;

    /// How long it takes until the next trouble.
    fn gap(&self, random: &mut Random) -> Duration;

    /// Makes trouble. What ends it and when, if it does not end by itself.
    async fn make(
        &mut self,
        processes: &[Process],
        trouble: Self::Trouble,
        random: &mut Random,
    ) -> Option<(Timestamp, Self::Relief)>;

    /// Ends a trouble.
    fn relieve(&mut self, processes: &mut Vec<Process>, relief: Self::Relief, random: &mut Random);

    /// Comes after all that happened at a moment.
    fn go_on(&mut self, _processes: &mut Vec<Process>, _random: &mut Random) {}
}

/// Makes trouble for so long, and then puts everything right: calls have the faults in `calm`.
pub async fn rage(
    stage: &SharedContext,
    chaos: &mut impl Chaos,
    processes: &mut Vec<Process>,
    (length, calm): (Duration, Faults),
    random: &mut Random,
) {
    let end = stage.now().saturating_add(length);
    let troubles = chaos.possible();
    let mut reliefs: Vec<(Timestamp, _)> = Vec::new();
    let mut next = stage.now().saturating_add(chaos.gap(random));
    loop {
        let relief = reliefs.iter().map(|(at, _)| *at).min().unwrap_or(Timestamp::NEVER);
        stage.clock.sleep_until(next.min(relief).min(end)).await;
        let now = stage.now();
        let over = now >= end;
        let (due, later): (Vec<_>, _) = reliefs.into_iter().partition(|(at, _)| over || *at <= now);
        reliefs = later;
        for (_, relief) in due {
            chaos.relieve(processes, relief, random);
        }
        if over {
            break;
        }
        if now >= next {
            if !troubles.is_empty() {
                let trouble = *random.choose(&troubles);
                reliefs.extend(chaos.make(processes, trouble, random).await);
            }
            next = stage.now().saturating_add(chaos.gap(random));
        }
        chaos.go_on(processes, random);
    }
    stage.check.note(0, "nothing goes wrong any more");
    stage.calm_down();
    for process in processes {
        process.resume();
        process.set_faults(calm);
    }
}

/// One of the processes and where it is in the list, unless that one has ended.
pub fn choose<'a>(processes: &'a [Process], random: &mut Random) -> Option<(usize, &'a Process)> {
    let index = usize::try_from(random.below(processes.len() as u64)).ok()?;
    let process = processes.get(index).filter(|process| !process.has_crashed())?;
    Some((index, process))
}

/// When a trouble that begins now ends.
pub fn until(stage: &SharedContext, random: &mut Random) -> Timestamp {
    let longest = LONGEST / (1 << random.below(6));
    stage.now().saturating_add(random.length(longest / 8, longest))
}

/// What goes wrong with the calls of a process that is cut off, instead of `faults`: most of them
/// come to nothing. Where it is the answers that are late, `reply_late` of a thousand are.
pub fn cut_off(faults: Faults, reply_late: u32, random: &mut Random) -> Faults {
    *random.choose(&[
        Faults { request_lost: 1_000, ..faults },
        Faults { reply_lost: 1_000, ..faults },
        Faults { request_late: 1_000, ..faults },
        Faults { reply_late, ..faults },
        Faults { refused: 1_000, ..faults },
        Faults { refused: 500, reply_lost: 1_000, ..faults },
    ])
}
