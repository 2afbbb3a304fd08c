use tenure_servers::PostgresServer;

use crate::{
    process::code,
    scene::{Scene, events, eventually, text},
};

#[test]
fn waiters_come_in_the_order_of_asking() {
    let scene = Scene::new();
    let holder = scene.start("name", "echo > held; until [ -e go ]; do sleep 0.01; done");
    scene.line("held");
    let waiters: Vec<_> = (1..=4)
        .map(|number| {
            let waiter = scene.start("name --fair", &format!("echo {number} >> order"));
            scene.until_waiting("name", number);
            waiter
        })
        .collect();
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(code(&holder.wait()), 0);
    for waiter in waiters {
        assert_eq!(code(&waiter.wait()), 0);
    }
    let order = std::fs::read_to_string(scene.path("order")).unwrap();
    assert_eq!(order, "1\n2\n3\n4\n");
}

#[test]
fn a_waiter_tells_who_holds_the_lock() {
    let scene = Scene::new();
    let holder =
        scene.start("name --label web-7", "echo > held; until [ -e go ]; do sleep 0.01; done");
    scene.line("held");
    let plain = scene.start("name -v", "true");
    scene.until_waiting("name", 1);
    let json = scene.start("name --json", "true");
    scene.until_waiting("name", 2);
    std::fs::write(scene.path("go"), "").unwrap();
    holder.wait();
    let said = plain.wait().stderr;
    assert!(text(&said).contains("waiting for name: held by \"web-7\""), "{}", text(&said));
    let said = events(&json.wait().stderr);
    let waiting = said.iter().find(|event| event["event"] == "waiting").unwrap();
    assert_eq!(waiting["holder"]["label"], "web-7");
    assert!(waiting["holder"]["token"].is_string());
}

#[test]
fn a_name_stays_taken_after_a_short_job_that_holds_it_at_least_so_long() {
    let scene = Scene::new();
    assert_eq!(code(&scene.run("name --hold-at-least 5s", "true")), 0);
    assert_eq!(code(&scene.run("name --no-wait", "true")), 124);
    let kept = scene.show("name");
    assert_eq!(kept["holders"][0]["lingering"], true);
    eventually("the name is free", || code(&scene.run("name --no-wait", "true")) == 0);
}

#[test]
fn a_failed_job_keeps_the_name_taken_unless_it_is_to_succeed() {
    let scene = Scene::new();
    let kept = "--hold-at-least 1h";
    assert_eq!(code(&scene.run(&format!("always {kept}"), "exit 3")), 3);
    assert_eq!(code(&scene.run("always --no-wait", "true")), 124);
    let if_success = format!("{kept} --hold-at-least-if success");
    assert_eq!(code(&scene.run(&format!("job {if_success}"), "exit 3")), 3);
    let absent = format!("run job {if_success} --no-wait -- /nowhere/to/be/found");
    assert_eq!(code(&scene.output(absent.split(' '))), 127);
    assert_eq!(code(&scene.run(&format!("job {if_success} --no-wait"), "true")), 0);
    assert_eq!(code(&scene.run("job --no-wait", "true")), 124);
    let both = format!("run --all a,b {if_success} -- false");
    assert_eq!(code(&scene.output(both.split(' '))), 1);
    assert_eq!(code(&scene.run("a --no-wait", "true")), 0);
}

/// One that holds the lock and one that waits, in a store that allows one waiter.
#[test]
fn a_queue_that_is_full_is_waited_for() {
    let server = PostgresServer::start();
    let scene = Scene::with_store(&format!("{}?max_waiters=1", server.url()));
    let holder = scene.start("name", "echo > held; until [ -e go ]; do sleep 0.01; done");
    scene.line("held");
    let waiter = scene.start("name", "true");
    scene.until_waiting("name", 1);

    let tried = scene.run("name --no-wait", "true");
    assert_eq!(
        (code(&tried), text(&tried.stderr)),
        (124, ""),
        "nothing is said of a lock that was tried"
    );
    let refused = scene.run("name --wait 2s --json", "true");
    assert_eq!(code(&refused), 124);
    let said = events(&refused.stderr);
    assert!(said.iter().any(|event| event["event"] == "queue_full"), "{said:?}");
    let end = said.last().unwrap();
    // The end of the wait may have come while it asked once more.
    let kind = end["kind"].as_str().unwrap();
    assert!(end["event"] == "busy" && ["full", "in_doubt"].contains(&kind), "{end}");
    assert!(kind != "full" || end["waited_ms"].as_u64().unwrap() >= 2_000, "at once: {end}");

    let other = scene.start("name --wait 1m -v", "exit 3");
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!((code(&holder.wait()), code(&waiter.wait())), (0, 0));
    let other = other.wait();
    assert_eq!(code(&other), 3, "{}", text(&other.stderr));
}

#[test]
fn every_event_says_when_and_where_it_was_and_the_last_for_how_long() {
    let scene = Scene::new();
    let output = scene.run("name --label web-7 --json", "sleep 0.05");
    let said = events(&output.stderr);
    assert!(said.len() >= 4, "{said:?}");
    for event in &said {
        assert!(event["time"].as_str().unwrap().ends_with('Z'), "{event}");
        assert!(!event["host"].as_str().unwrap().is_empty(), "{event}");
        assert_eq!(event["label"], "web-7", "{event}");
        assert!(event.get("holder").is_none(), "it says who holds the lock: {event}");
    }
    let lasted = |name: &str, field: &str| {
        let event = said.iter().find(|event| event["event"] == name).unwrap();
        event[field].as_u64().unwrap()
    };
    assert!(lasted("ended", "ran_ms") >= 50);
    assert!(lasted("released", "held_ms") >= lasted("ended", "ran_ms"));
}

#[test]
fn a_busy_lock_is_told_in_fields() {
    let scene = Scene::new();
    let _holder = scene.start("name --label web-7", "echo $TENURE_TOKEN > held; exec sleep 1000");
    let token = scene.line("held");
    for (options, kind) in [("name --no-wait", "busy"), ("name --wait 200ms", "timed_out")] {
        let said = events(&scene.run(&format!("{options} --json"), "true").stderr);
        let busy = said.last().unwrap();
        assert_eq!(busy["event"], "busy");
        assert_eq!((&busy["kind"], &busy["lock"]), (&kind.into(), &"name".into()));
        assert_eq!(
            (&busy["token"], &busy["holder"]["label"]),
            (&token.as_str().into(), &"web-7".into())
        );
        assert_eq!((&busy["store"], &busy["exit_code"]), (&scene.store().into(), &124.into()));
        assert!(busy["retry_after_ms"].as_u64().unwrap() <= 30_000, "{busy}");
        assert_eq!(busy["waited_ms"].is_u64(), kind == "timed_out", "{busy}");
        assert!(busy["time"].is_string() && busy["host"].is_string() && busy["help"].is_string());
    }
}
