//! The form of tokens: bare ones are the `czxid` of a node, and two forms are never handed out beside each other.

use std::{
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

use tenure_core::{AcquireError, Guard, LostReason, Tenure, store::Severity};
use tenure_servers::ZookeeperServer;
use tokio::task::JoinSet;
use zookeeper_client::{Acls, Client, CreateMode};

use crate::{
    child::Process,
    support::{PATIENCE, hold, name, path, quiet_server, tenure, until},
};

pub(crate) const FORMS: [&str; 2] = ["shifted", "czxid"];

/// A base path that nobody else has, and a client that is not the store's.
pub(crate) struct Scene {
    pub(crate) raw: Client,
    pub(crate) base: String,
    pub(crate) url: String,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        Self::on(quiet_server()).await
    }

    pub(crate) async fn on(server: &ZookeeperServer) -> Self {
        let (base, server) = (path(), server.address());
        let url = format!("zookeeper://{server}{base}?session=4s&tick=500ms");
        let raw = Client::connect(&server.to_string()).await.unwrap();
        Self { raw, base, url }
    }

    pub(crate) fn with(&self, form: &str) -> Tenure {
        tenure(&format!("{}&tokens={form}", self.url))
    }

    pub(crate) async fn record(&self) -> String {
        String::from_utf8(self.raw.get_data(&self.base).await.unwrap().0).unwrap()
    }

    pub(crate) async fn record_is(&self, form: &str) -> bool {
        self.record().await == format!("tokens={form}")
    }

    /// The transactions that created the nodes in a directory.
    pub(crate) async fn czxids(&self, dir: &str) -> Vec<u64> {
        let dir = format!("{}/{dir}", self.base);
        let mut all = Vec::new();
        for node in self.raw.list_children(&dir).await.unwrap() {
            let stat = self.raw.check_stat(&format!("{dir}/{node}")).await.unwrap().unwrap();
            all.push(u64::try_from(stat.czxid).unwrap());
        }
        all
    }
}

pub(crate) fn refusal<T: std::fmt::Debug>(answer: Result<T, AcquireError>) -> String {
    match answer {
        Err(error @ AcquireError::Misconfigured(_)) => format!("{error:#}"),
        other => panic!("it is not refused: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_token_is_the_transaction_of_the_holders_node() {
    let scene = Scene::new().await;
    let tenure = scene.with("czxid");
    let shown = async |lock: &str| {
        tenure.store().inspect(&name(lock)).await.unwrap().holders[0].token.unwrap()
    };
    // One task after the other, in one process: none has what was another's.
    let mut tasks = JoinSet::new();
    let last = std::sync::Arc::new(std::sync::Mutex::new(0));
    for _ in 0..4 {
        let (tenure, last) = (tenure.clone(), last.clone());
        tasks.spawn(async move {
            for _ in 0..5 {
                let guard = hold(&tenure, "mutex").await;
                let before = std::mem::replace(&mut *last.lock().unwrap(), guard.token().get());
                assert!(guard.token().get() > before);
                guard.release().await.unwrap();
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    let held = hold(&tenure, "mutex").await;
    assert_eq!(scene.czxids("mutex").await, [held.token().get()]);
    assert_eq!(shown("mutex").await, held.token());

    let leads = tenure.election("election").campaign().await.unwrap();
    assert_eq!(scene.czxids("election").await, [leads.token().get()]);
    let permit = tenure.semaphore("permits", 2).acquire().await.unwrap();
    assert_eq!(scene.czxids("permits/leases").await, [permit.token().get()]);
    assert_eq!(shown("permits").await, permit.token());
    let writes = tenure.rwlock("rwlock").write().await.unwrap();
    let token = writes.token();
    assert_eq!(scene.czxids("rwlock").await, [token.get()]);
    let reads: Guard = writes.downgrade().await.unwrap();
    assert_eq!((reads.token(), shown("rwlock").await), (token, token));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_refused_where_the_other_is_recorded() {
    for (ours, theirs) in [(0, 1), (1, 0)].map(|(ours, theirs)| (FORMS[ours], FORMS[theirs])) {
        let scene = Scene::new().await;
        let (one, other) = (scene.with(ours), scene.with(theirs));
        let refused = async || {
            let (rwlock, semaphore) = (other.rwlock("a"), other.semaphore("b", 2));
            for said in [
                refusal(other.mutex("a").try_lock().await),
                refusal(other.mutex("a").lock().wait(PATIENCE).await),
                refusal(rwlock.try_read().await),
                refusal(semaphore.try_acquire().await),
                refusal(semaphore.acquire().wait(PATIENCE).await),
                refusal(other.election("c").try_campaign().await.map(drop)),
            ] {
                let base = format!("data of {}", scene.base);
                for says in [format!("tokens={ours}"), format!("tokens={theirs}"), base] {
                    assert!(said.contains(&says), "{said}");
                }
            }
        };
        let held = hold(&one, "a").await;
        // What is held as another kind is refused for that.
        for said in [
            refusal(other.mutex("a").lock().wait(PATIENCE).await),
            refusal(other.mutex("d").try_lock().await),
        ] {
            assert!(said.contains(&format!("tokens={ours}")), "{said}");
        }
        assert_eq!(scene.czxids("a").await.len(), 1, "a node of the other one is left");
        held.check().unwrap();
        held.release().await.unwrap();
        refused().await;
        // Its directory goes, as that of a lock does that nobody uses.
        let node = format!("{}/a", scene.base);
        until("the directory is empty", async || scene.raw.delete(&node, None).await.is_ok()).await;
        refused().await;
        // A process of the form is killed, and its session ends while another one waits.
        let mut dies = Process::start(&["hold", &format!("{}&tokens={ours}", scene.url)]);
        dies.says_held();
        let waits = tokio::spawn(one.mutex("lock").lock().wait(PATIENCE).into_future());
        refusal(other.mutex("lock").try_lock().await);
        dies.kill();
        let next = waits.await.unwrap().unwrap();
        refusal(other.mutex("lock").lock().wait(PATIENCE).await);
        // An operator takes it away, with a program of either form.
        let evicted = other.store().evict(&name("lock")).await.unwrap();
        assert_eq!((evicted.len(), next.lost().await.reason), (1, LostReason::Taken));
        refusal(other.mutex("lock").try_lock().await);

        let found = other.store().health().await.unwrap();
        let found = found.iter().find(|diagnostic| diagnostic.what == "tokens").unwrap();
        assert_eq!((found.severity, found.promise), (Severity::Bad, Some("S2")), "{found:?}");
        // An operator resets it, and who recorded it before is refused from then on.
        let record = format!("tokens={theirs}");
        scene.raw.set_data(&scene.base, record.as_bytes(), None).await.unwrap();
        hold(&other, "a").await.release().await.unwrap();
        assert!(scene.record_is(theirs).await);
        refusal(one.mutex("a").try_lock().await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_forms_that_come_first_at_once_one_is_refused() {
    let mut granted = [0; 2];
    for _ in 0..20 {
        let scene = Scene::new().await;
        let tenures = FORMS.map(|form| scene.with(form));
        let lock =
            |at: usize| tenures[at].mutex(["a", "b"][at]).lock().wait(PATIENCE).into_future();
        let answers = tokio::join!(lock(0), lock(1));
        let answers = [answers.0, answers.1];
        let first = answers.iter().position(Result::is_ok).expect("one of them is granted");
        for (at, answer) in answers.into_iter().enumerate() {
            if at != first {
                refusal(answer);
            }
        }
        assert!(scene.record_is(FORMS[first]).await);
        granted[first] += 1;
    }
    println!("{granted:?}");
}

/// The base path goes whenever nobody has a node below it, and the record with it.
#[tokio::test(flavor = "multi_thread")]
async fn while_one_form_is_held_the_other_is_not_granted_whatever_goes() {
    let quick = ["-Dznode.container.checkIntervalMs=20", "-Dznode.container.maxPerMinute=1000000"];
    let server = ZookeeperServer::with_java(&[], &quick);
    let scene = Scene::on(&server).await;
    let granted = [const { AtomicU32::new(0) }; 2];
    let tries = async |at: usize| {
        let tenure = scene.with(FORMS[at]);
        while granted.iter().any(|granted| granted.load(Relaxed) < 5) {
            match tenure.mutex("a").try_lock().await {
                Ok(Some(guard)) => {
                    assert!(scene.record_is(FORMS[at]).await, "{}", scene.record().await);
                    granted[at].fetch_add(1, Relaxed);
                    guard.release().await.unwrap();
                }
                Ok(None) | Err(AcquireError::Misconfigured(_)) => {}
                Err(error) => panic!("{error:#}"),
            }
            // Now and then for long enough that all goes.
            tokio::time::sleep(Duration::from_millis(40 * at as u64 + 60)).await;
            // One that was made for bare tokens stays, unless an operator removes it.
            let _ = scene.raw.delete(&scene.base, None).await;
        }
    };
    tokio::time::timeout(PATIENCE * 2, async { tokio::join!(tries(0), tries(1)) }).await.unwrap();
}

/// As Curator writes the address of its host where it is given no data.
#[tokio::test(flavor = "multi_thread")]
async fn data_of_others_stay_and_leave_no_room_for_bare_tokens() {
    let scene = Scene::new().await;
    let persistent = CreateMode::Persistent.with_acls(Acls::anyone_all());
    scene.raw.create(&scene.base, b"10.0.0.7", &persistent).await.unwrap();
    hold(&scene.with("shifted"), "a").await.release().await.unwrap();
    let said = refusal(scene.with("czxid").mutex("a").try_lock().await);
    assert!(said.contains("has other data") && said.contains(&scene.base), "{said}");
    assert_eq!(scene.record().await, "10.0.0.7");
    scene.raw.set_data(&scene.base, b"tokens=later", None).await.unwrap();
    for form in FORMS {
        let said = refusal(scene.with(form).mutex("a").lock().wait(PATIENCE).await);
        assert!(said.contains("tokens=later"), "{said}");
    }
}
