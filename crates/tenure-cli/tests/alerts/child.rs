//! A program whose locks are watched.

use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tenure::{
    Tenure,
    observe::{METRICS, MetricKind},
};
use tenure_testkit::child::{order, role, say};
use tokio::{runtime::Runtime, time::sleep};

/// Not a test by itself: what a child does.
#[test]
fn plays_its_role() {
    let Some(role) = role() else { return };
    let [url, work, ttl] = role.try_into().unwrap();
    let recorder = install();
    let runtime = Runtime::new().unwrap();
    let tenure = runtime.block_on(Tenure::open(&url)).unwrap();
    let ttl = Duration::from_millis(ttl.parse().unwrap());
    runtime.spawn(async move {
        match &*work {
            "holds" => tenure.mutex("held").ttl(ttl).lock().await.unwrap().lost().await.reason,
            "waits" => panic!("{:?}", tenure.mutex("held").lock().await),
            "tries" => tries(&tenure).await,
            "campaigns" => panic!("{:?}", tenure.election("chief").campaign().await),
            "works" => works(&tenure, ttl).await,
            other => panic!("no such work: {other}"),
        }
    });
    say("ready");
    loop {
        assert_eq!(order(), "scrape");
        recorder.render().lines().filter(|line| !line.is_empty()).for_each(say);
        say(".");
    }
}

fn install() -> PrometheusHandle {
    let mut builder = PrometheusBuilder::new();
    for metric in METRICS {
        if let MetricKind::Histogram { buckets } = metric.kind {
            let name = Matcher::Full(metric.name.to_owned());
            builder = builder.set_buckets_for_metric(name, buckets).unwrap();
        }
    }
    builder.install_recorder().unwrap()
}

async fn tries(tenure: &Tenure) -> ! {
    loop {
        let _ = tenure.mutex("tried").try_lock().await;
        sleep(Duration::from_millis(50)).await;
    }
}

/// As a healthy service: many names, each for a moment; one that others want too; one for as long as it runs; and a
/// leader.
async fn works(tenure: &Tenure, ttl: Duration) -> ! {
    let _held =
        tenure.mutex(format!("held-by-{}", std::process::id())).ttl(ttl).lock().await.unwrap();
    let leads = tenure.clone();
    tokio::spawn(async move {
        let _leads = leads.election("chief").campaign().await.unwrap();
        std::future::pending::<()>().await;
    });
    for number in 0_u64.. {
        tenure.mutex(format!("order-{number}")).lock().await.unwrap().release().await.unwrap();
        tenure.mutex("wanted").lock().await.unwrap().release().await.unwrap();
        if number > 10_000 {
            sleep(Duration::from_millis(50)).await;
        }
    }
    unreachable!("numbers do not end")
}
