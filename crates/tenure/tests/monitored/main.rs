//! Outages of a real server, as a recorder and a subscriber of the whole process see them: each loss once, with its
//! reason, inside the span of its holder, and at risk before. `TENURE_OUTAGES=50` has so many of each kind.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panics")]

mod server;
mod spans;

use std::{sync::OnceLock, time::Duration};

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tenure::{Guard, LostReason, Tenure, observe::METRICS};
use tracing::{Instrument, info_span};

use server::{Embedded, Quorum, Server};
use spans::{Hold, HoldEvents};

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

    fn is_of_server(self) -> bool {
        matches!(self, Self::Killed | Self::Frozen)
    }

    /// Whether there is time to warn of it.
    fn has_margin(self) -> bool {
        !matches!(self, Self::Taken)
    }
}

fn outages() -> usize {
    std::env::var("TENURE_OUTAGES").map_or(2, |count| count.parse().unwrap())
}

/// The recorder and the subscriber of this process.
fn watched() -> &'static (PrometheusHandle, HoldEvents) {
    static WATCHED: OnceLock<(PrometheusHandle, HoldEvents)> = OnceLock::new();
    WATCHED.get_or_init(|| {
        (PrometheusBuilder::new().install_recorder().unwrap(), HoldEvents::install())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn each_loss_is_told_once_on_redis() {
    each_loss_is_told_once(tenure_servers::RedisServer::start()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_loss_is_told_once_on_postgres() {
    each_loss_is_told_once(tenure_servers::PostgresServer::start()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_loss_is_told_once_on_mysql() {
    each_loss_is_told_once(tenure_servers::MariadbServer::start()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_loss_is_told_once_on_zookeeper() {
    each_loss_is_told_once(tenure_servers::ZookeeperServer::start()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes its time: scripts/drill outages"]
async fn each_loss_is_told_once_on_a_quorum() {
    each_loss_is_told_once(Quorum::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_loss_is_told_once_in_a_directory() {
    each_loss_is_told_once(Embedded::new()).await;
}

/// With its reason, inside the span of its holder.
async fn each_loss_is_told_once<S: Server>(mut server: S) {
    let (recorder, events) = watched();
    let tenure = Tenure::open(&server.url()).await.unwrap();
    let kind = tenure.store().kind();
    for metric in METRICS {
        let shown = recorder.render().contains(&format!("\n# TYPE {} ", metric.name));
        assert!(shown, "{}", metric.name);
    }
    let suffered =
        Outage::ALL.into_iter().filter(|outage| S::IS_A_SERVER || !outage.is_of_server());
    let suffered: Vec<_> = suffered.collect();
    for outage in suffered.iter().copied() {
        for round in 0..outages() {
            let name = format!("{kind}-{outage:?}-{round}");
            let job = info_span!("job", name);
            let lock = || {
                let lock = tenure.mutex(&name).lock().ttl(S::TTL);
                if matches!(outage, Outage::MaxHold) { lock.max_hold(S::TTL) } else { lock }
            };
            // A majority keeps members out for a while that were started again.
            let granted = async {
                loop {
                    match lock().into_future().instrument(job.clone()).await {
                        Ok(guard) => return guard,
                        Err(error) => assert!(error.is_transient(), "{error:#}"),
                    }
                }
            };
            let guard = tokio::time::timeout(PATIENCE, granted).await.unwrap();
            drop(job);
            let lost = suffer(outage, &mut server, &tenure, &guard).await;
            assert_eq!(lost, outage.reason().0, "{name}");
            drop(guard);
            // A holder learns before observers do.
            let told = eventually(|| events.hold(&name) == expected(outage)).await;
            assert!(told, "{name}: {:?}", events.hold(&name));
        }
    }
    let count = |is_so: &dyn Fn(Outage) -> bool| {
        suffered.iter().filter(|outage| is_so(**outage)).count() * outages()
    };
    for reason in ["deadline", "taken", "max_hold"] {
        let lost = count(&|outage| outage.reason().1 == reason);
        shows(kind, recorder, &format!("lost_total{{LOCK,reason=\"{reason}\"}} {lost}")).await;
    }
    let at_risk = count(&|outage| outage.has_margin());
    shows(kind, recorder, &format!("at_risk_total{{LOCK}} {at_risk}")).await;
    shows(kind, recorder, "held{LOCK} 0").await;
}

/// The recorder shows this series, sooner or later.
async fn shows(store: &str, recorder: &PrometheusHandle, series: &str) {
    let lock = format!("store=\"{store}\",kind=\"mutex\"");
    let line = format!("tenure_{}\n", series.replace("LOCK", &lock));
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
    server: &mut impl Server,
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
        Outage::Frozen => server.frozen(lost).await,
        Outage::Taken => {
            tenure.store().evict(guard.name()).await.unwrap();
            lost.await
        }
        Outage::MaxHold => lost.await,
    };
    lost.unwrap().reason
}
