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
    assert!(text(&said).contains("waiting for name: held by web-7"), "{}", text(&said));
    let said = events(&json.wait().stderr);
    let waiting = said.iter().find(|event| event["event"] == "waiting").unwrap();
    assert_eq!(waiting["holder"]["label"], "web-7");
    assert!(waiting["holder"]["token"].is_string());
}

#[test]
fn a_name_stays_taken_after_a_short_job_that_holds_it_at_least_so_long() {
    let scene = Scene::new();
    assert_eq!(code(&scene.run("name --hold-at-least 1s", "true")), 0);
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
