//! The record of the tokens' form: who writes it, when it is looked at, and who may not.

use tenure_core::{Tenure, store::Severity};
use tenure_servers::ZookeeperServer;
use zookeeper_client::{Acl, Acls, AuthId, CreateMode, Permission};

use crate::{
    support::{PATIENCE, hold, name, tenure, until, waiting},
    token_form::{FORMS, Scene, refusal},
};

impl Scene {
    /// Makes the base path, as an operator.
    async fn make_base(&self, data: &[u8], rights: Permission) {
        let acl = [Acl::new(rights, AuthId::anyone())];
        let persistent = CreateMode::Persistent.with_acls(Acls::from(acl.as_slice()));
        self.raw.create(&self.base, data, &persistent).await.unwrap();
    }

    async fn is_there(&self, node: &str) -> bool {
        let path = format!("{}{node}", self.base);
        self.raw.check_stat(&path).await.unwrap().is_some()
    }
}

/// What the diagnosis says of tokens.
async fn of_tokens(tenure: &Tenure) -> (Severity, String) {
    let found = tenure.store().health().await.unwrap();
    let found = found.into_iter().find(|diagnostic| diagnostic.what == "tokens").unwrap();
    (found.severity, format!("{found:?}"))
}

/// An operator removes data that left no room for the record, and stops nobody first.
#[tokio::test(flavor = "multi_thread")]
async fn who_waits_while_the_other_form_is_recorded_is_refused() {
    let scene = Scene::new().await;
    scene.make_base(b"10.0.0.7", Permission::ALL).await;
    let (shifted, czxid) = (scene.with("shifted"), scene.with("czxid"));
    let held = hold(&shifted, "a").await;
    let has = shifted.semaphore("b", 1).acquire().await.unwrap();
    // What one client hands from task to task asks nobody.
    let shifted = scene.with("shifted");
    let waits = tokio::spawn(shifted.mutex("a").lock().wait(PATIENCE).into_future());
    let semaphore = shifted.semaphore("b", 1);
    let wants = tokio::spawn(semaphore.acquire().wait(PATIENCE).into_future());
    for lock in ["a", "b"] {
        until("one waits", async || waiting(&shifted, lock).await == 1).await;
    }
    let said = refusal(czxid.mutex("c").try_lock().await);
    let cure = said.find("does not exist yet").unwrap() < said.find("zkCli.sh deleteall").unwrap();
    assert!(cure && said.contains("stop all programs"), "{said}");
    scene.raw.set_data(&scene.base, b"tokens=czxid", None).await.unwrap();
    let bare = hold(&czxid, "c").await;
    held.release().await.unwrap();
    has.release().await.unwrap();
    for refused in [waits.await.unwrap(), wants.await.unwrap()] {
        let said = refusal(refused);
        assert!(said.contains("tokens=czxid"), "{said}");
    }
    bare.check().unwrap();
}

/// Nothing needed a right to the data of the base path before there was a record.
#[tokio::test(flavor = "multi_thread")]
async fn without_rights_to_the_record_locks_work_and_bare_tokens_are_refused() {
    let (make, read) = (Permission::CREATE | Permission::DELETE, Permission::READ);
    for (rights, lacks) in [(make | read, "write"), (make, "read")] {
        let scene = Scene::new().await;
        scene.make_base(b"", rights).await;
        let (shifted, czxid) = (scene.with("shifted"), scene.with("czxid"));
        let held = hold(&shifted, "a").await;
        let waits =
            tokio::spawn(scene.with("shifted").mutex("a").lock().wait(PATIENCE).into_future());
        until("one waits", async || waiting(&shifted, "a").await == 1).await;
        held.release().await.unwrap();
        let next = waits.await.unwrap().unwrap();
        let seen = shifted.store().inspect(&name("a")).await.unwrap();
        assert_eq!(seen.holders[0].token, Some(next.token()));
        shifted.semaphore("b", 2).try_acquire().await.unwrap().unwrap().release().await.unwrap();
        shifted.rwlock("c").read().await.unwrap().release().await.unwrap();
        shifted.election("d").campaign().await.unwrap().resign().await.unwrap();
        let (severity, said) = of_tokens(&shifted).await;
        assert_eq!(severity, Severity::Warning, "{said}");
        assert!(said.contains(&format!("may not {lacks}")) && said.contains("S2"), "{said}");
        for answer in [czxid.mutex("e").try_lock().await.map(drop), {
            let lock = czxid.mutex("e").lock().wait(PATIENCE).await;
            lock.map(drop)
        }] {
            let said = refusal(answer);
            let cure = if lacks == "read" { "cdrw" } else { "create PATH tokens=czxid" };
            assert!(said.contains(cure), "{said}");
        }
        assert_eq!(of_tokens(&czxid).await.0, Severity::Bad);
    }
}

/// An operator's command, and a service that follows a leader, need not have the setting.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_others_are_shown_in_the_recorded_form() {
    for (ours, theirs) in [(0, 1), (1, 0)].map(|(ours, theirs)| (FORMS[ours], FORMS[theirs])) {
        let scene = Scene::new().await;
        let (one, other) = (scene.with(ours), scene.with(theirs));
        let held = hold(&one, "a").await;
        let permit = one.semaphore("b", 2).acquire().await.unwrap();
        let leads = one.election("c").campaign().await.unwrap();
        for (lock, token) in [("a", held.token()), ("b", permit.token())] {
            let seen = other.store().inspect(&name(lock)).await.unwrap();
            assert_eq!(seen.holders[0].token, Some(token));
            let listed = other.store().list(lock, 9).await.unwrap().names;
            assert_eq!(listed[0].1, seen);
        }
        let leader = other.election("c").leader().await.unwrap().unwrap();
        assert_eq!(leader.term, leads.token());
        for (lock, token) in [("a", held.token()), ("b", permit.token())] {
            let evicted = other.store().evict(&name(lock)).await.unwrap();
            assert_eq!(evicted[0].token, Some(token));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diagnosis_leaves_the_record_to_the_first_lock() {
    for is_made in [true, false] {
        let scene = Scene::new().await;
        if is_made {
            scene.make_base(b"", Permission::ALL).await;
        }
        let shifted = scene.with("shifted");
        let (severity, said) = of_tokens(&shifted).await;
        assert_eq!((severity, scene.record().await.as_str()), (Severity::Good, ""), "{said}");
        // What others may have used without a record is no place for bare tokens.
        let said = refusal(scene.with("czxid").mutex("a").try_lock().await);
        assert!(said.contains("create PATH tokens=czxid"), "{said}");
        assert_eq!(scene.record().await, "");
        hold(&shifted, "a").await.release().await.unwrap();
        assert!(scene.record_is("shifted").await);
    }
}

/// As Curator makes its parents: with such a base path the record goes, and another program may be the next.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_of_bare_tokens_that_may_go_is_warned_of() {
    let scene = Scene::new().await;
    let container = CreateMode::Container.with_acls(Acls::anyone_all());
    scene.raw.create(&scene.base, b"", &container).await.unwrap();
    let czxid = scene.with("czxid");
    let said = refusal(czxid.mutex("a").try_lock().await);
    assert!(said.contains("deleteall PATH") && !said.contains("set PATH"), "{said}");
    scene.raw.set_data(&scene.base, b"tokens=czxid", None).await.unwrap();
    let (severity, said) = of_tokens(&czxid).await;
    assert_eq!(severity, Severity::Warning, "{said}");
    assert!(said.contains("a container") && said.contains("create PATH tokens=czxid"), "{said}");
    // As it says.
    scene.raw.delete(&scene.base, None).await.unwrap();
    scene.make_base(b"tokens=czxid", Permission::ALL).await;
    let (severity, said) = of_tokens(&czxid).await;
    assert_eq!(severity, Severity::Good, "{said}");
    hold(&czxid, "a").await.release().await.unwrap();
}

/// One that stays empty would leave bare tokens out for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_base_path_that_a_diagnosis_makes_goes_again_in_each_layout() {
    let quick = ["-Dznode.container.checkIntervalMs=20", "-Dznode.container.maxPerMinute=1000000"];
    let server = ZookeeperServer::with_java(&[], &quick);
    for layout in ["curator", "kazoo"] {
        let scene = Scene::on(&server).await;
        let with = |form| tenure(&format!("{}&layout={layout}&tokens={form}", scene.url));
        let (severity, said) = of_tokens(&with("shifted")).await;
        assert_eq!(severity, Severity::Good, "{said}");
        until("the base path goes", async || !scene.is_there("").await).await;
        hold(&with("czxid"), "a").await.release().await.unwrap();
        assert!(scene.record_is("czxid").await, "{layout}");
    }
}

/// Else one that asks again and again keeps the base path there, and with it what it is refused for.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_refused_for_its_tokens_makes_no_node_again() {
    let scene = Scene::new().await;
    hold(&scene.with("shifted"), "a").await.release().await.unwrap();
    let czxid = scene.with("czxid");
    refusal(czxid.mutex("b").lock().wait(PATIENCE).await);
    for _ in 0..3 {
        refusal(czxid.mutex("c").lock().wait(PATIENCE).await);
        refusal(czxid.semaphore("d", 2).try_acquire().await);
        refusal(czxid.election("e").campaign().await.map(drop));
    }
    for node in ["/c", "/d", "/e"] {
        assert!(!scene.is_there(node).await, "{node} was made");
    }
    scene.raw.set_data(&scene.base, b"tokens=czxid", None).await.unwrap();
    hold(&czxid, "c").await.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_path_is_made_with_the_record_and_stays_where_tokens_are_bare() {
    let quick = ["-Dznode.container.checkIntervalMs=20", "-Dznode.container.maxPerMinute=1000000"];
    let server = ZookeeperServer::with_java(&[], &quick);
    let (bare, shifted) = (Scene::on(&server).await, Scene::on(&server).await);
    for (scene, form) in [(&bare, "czxid"), (&shifted, "shifted")] {
        let held = hold(&scene.with(form), "a").await;
        let (data, stat) = scene.raw.get_data(&scene.base).await.unwrap();
        assert_eq!((data, stat.version), (format!("tokens={form}").into_bytes(), 0));
        held.release().await.unwrap();
    }
    until("its lock goes", async || !bare.is_there("/a").await).await;
    until("the other one goes", async || !shifted.is_there("").await).await;
    assert!(bare.record_is("czxid").await);
}
