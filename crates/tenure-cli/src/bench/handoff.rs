//! From a release in one process to the grant in another.

use super::{
    MeasurementExtent, figures::LatencyHistogram, player::BenchWorker, progress::Progress,
    turns::HandoffMessage,
};
use crate::{
    exit::Failure, explanation::Explanation, output::bench::HandoffMeasurement,
    run::signals::Signals,
};

/// Two processes take turns on the lock `name` of the store with this URL.
pub(crate) async fn measure(
    url: &str,
    name: &str,
    extent: MeasurementExtent,
    progress: &Progress,
    signals: &mut Signals,
    interrupted: impl Into<Explanation>,
) -> Result<HandoffMeasurement, Failure> {
    let mut players =
        [BenchWorker::start(url, name, extent)?, BenchWorker::start(url, name, extent)?];
    let measured =
        signals.unless_interrupted(interrupted, play(&mut players, extent, progress)).await;
    let [one, other] = players;
    // Whatever became of it, they release what they hold.
    tokio::join!(one.end(), other.end());
    measured
}

async fn play(
    players: &mut [BenchWorker; 2],
    extent: MeasurementExtent,
    progress: &Progress,
) -> Result<HandoffMeasurement, Failure> {
    let mut times = LatencyHistogram::new().map_err(Failure::failed)?;
    let (HandoffMessage::Ready, HandoffMessage::Ready) = hear(players, extent).await? else {
        return Err(nonsense());
    };
    for round in 0..extent.rounds {
        let left = extent.length.saturating_mul(extent.rounds - round);
        progress.say(&format!("handoff: round {} of {}", round + 1, extent.rounds), left);
        for player in &mut *players {
            player.start_round().await?;
        }
        let (HandoffMessage::Held(one), HandoffMessage::Held(other)) =
            hear(players, extent).await?
        else {
            return Err(nonsense());
        };
        let of = |process: usize| move |(granted, released)| (granted, released, process);
        let holds = one.into_iter().map(of(0)).chain(other.into_iter().map(of(1))).collect();
        handoffs(holds).into_iter().for_each(|nanos| times.add(nanos));
    }
    Ok(HandoffMeasurement { count: times.count(), took: times.took() })
}

/// The next word of both, or the first failure.
async fn hear(
    [one, other]: &mut [BenchWorker; 2],
    extent: MeasurementExtent,
) -> Result<(HandoffMessage, HandoffMessage), Failure> {
    tokio::try_join!(one.hear(extent.length), other.hear(extent.length))
}

/// How long each took that went from one process to the other; holds are when they began, when they
/// ended, and whose they were.
fn handoffs(mut holds: Vec<(u64, u64, usize)>) -> Vec<u64> {
    holds.sort_unstable();
    let next = holds.iter().skip(1);
    let pairs = holds.iter().zip(next).filter(|(one, next)| one.2 != next.2);
    pairs.map(|(one, next)| next.0.saturating_sub(one.1)).collect()
}

fn nonsense() -> Failure {
    Failure::failed("a process of the handoff sent an unexpected answer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handoff_is_from_one_process_to_the_other() {
        // The first keeps the lock once, which is none.
        let holds = vec![(10, 20, 0), (60, 70, 1), (25, 35, 0), (71, 80, 0)];
        assert_eq!(handoffs(holds), [25, 1]);
        assert!(handoffs(Vec::new()).is_empty());
    }
}
