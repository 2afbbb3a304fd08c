//! Outages of a real server, as a recorder and a subscriber of the whole process see them: each loss once, with its
//! reason, inside the span of its holder, and at risk before. `TENURE_OUTAGES=50` has so many of each kind.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panics")]

mod spans;

use std::time::Duration;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tenure::{Guard, LostReason, Tenure, observe::METRICS};
use tenure_servers::RedisServer;
use tracing::{Instrument, info_span};

use spans::{Hold, HoldEvents};

/// Long enough for a server that is started again, and for a machine that does other things.
const TTL: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(60);

/// What happens to a hold.
#[derive(Clone, Copy, Debug)]
enum Outage {
    Killed,
    Frozen,
    Taken,
    MaxHold,
}

impl Outage {
    const ALL: [Self; 4] = [Self::Killed, Self::Frozen, Self::Taken, Self::MaxHold];

    fn reason(self) -> (LostReason, &'static str) {
        match self {
            Self::Killed | Self::Frozen => (LostReason::Deadline, "deadline"),
            Self::Taken => (LostReason::Taken, "taken"),
            Self::MaxHold => (LostReason::MaxHold, "max_hold"),
        }
    }

    /// Whether there is time to warn of it.
    fn has_margin(self) -> bool {
        !matches!(self, Self::Taken)
    }
}

fn outages() -> usize {
    std::env::var("TENURE_OUTAGES").map_or(2, |count| count.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_loss_is_told_once_with_its_reason_inside_the_span_of_its_holder() {
    let recorder = PrometheusBuilder::new().install_recorder().unwrap();
    let events = HoldEvents::install();
    let mut server = RedisServer::start();
    let tenure = Tenure::open(&server.url()).await.unwrap();
    for metric in METRICS {
        assert!(
            recorder.render().contains(&format!("\n# TYPE {} ", metric.name)),
            "{}",
            metric.name
        );
    }
    for outage in Outage::ALL {
        for round in 0..outages() {
            let name = format!("{outage:?}-{round}");
            let job = info_span!("job", name);
            let mut lock = tenure.mutex(&name).lock().ttl(TTL);
            if matches!(outage, Outage::MaxHold) {
                lock = lock.max_hold(TTL);
            }
            let guard = lock.into_future().instrument(job).await.unwrap();
            let lost = suffer(outage, &mut server, &tenure, &guard).await;
            assert_eq!(lost, outage.reason().0, "{name}");
            drop(guard);
            // A holder learns before observers do.
            let told = eventually(|| events.hold(&name) == expected(outage)).await;
            assert!(told, "{name}: {:?}", events.hold(&name));
        }
    }
    let count = u64::try_from(outages()).unwrap();
    shows(&recorder, &format!("lost_total{{LOCK,reason=\"deadline\"}} {}", 2 * count)).await;
    shows(&recorder, &format!("lost_total{{LOCK,reason=\"taken\"}} {count}")).await;
    shows(&recorder, &format!("lost_total{{LOCK,reason=\"max_hold\"}} {count}")).await;
    shows(&recorder, &format!("at_risk_total{{LOCK}} {}", 3 * count)).await;
    shows(&recorder, "held{LOCK} 0").await;
}

/// The recorder shows this series, sooner or later.
async fn shows(recorder: &PrometheusHandle, series: &str) {
    let lock = "store=\"redis\",kind=\"mutex\"";
    let line = format!("tenure_{}\n", series.replace("LOCK", lock));
    let shown = eventually(|| recorder.render().contains(&line)).await;
    assert!(shown, "no {line} in {}", recorder.render());
}

/// Whether it is so before patience ends.
async fn eventually(mut is_so: impl FnMut() -> bool) -> bool {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.is_ok()
}

/// What the spans and events of a hold say after this outage.
fn expected(outage: Outage) -> Hold {
    let mut said = Vec::new();
    if outage.has_margin() {
        said.push("at risk: lost unless it is renewed soon".to_owned());
    }
    said.push("lost".to_owned());
    let reason = outage.reason().1.to_owned();
    Hold { within: vec!["job"], error: Some(reason), events: said, closed: true }
}

/// Lets it happen, and waits for the loss.
async fn suffer(
    outage: Outage,
    server: &mut RedisServer,
    tenure: &Tenure,
    guard: &Guard,
) -> LostReason {
    let lost = tokio::time::timeout(PATIENCE, guard.lost());
    let lost = match outage {
        Outage::Killed => {
            server.kill();
            let lost = lost.await;
            server.restart();
            lost
        }
        Outage::Frozen => {
            let frozen = server.freeze();
            let lost = lost.await;
            drop(frozen);
            lost
        }
        Outage::Taken => {
            tenure.store().evict(guard.name()).await.unwrap();
            lost.await
        }
        Outage::MaxHold => lost.await,
    };
    lost.unwrap().reason
}
