//! How far `tenure doctor` comes on the way to a store, and what it says of the step that failed.

use std::{
    io::{Read, Write},
    net::TcpListener,
};

use tenure_servers::{Certificates, RedisServer, redis::Reply};

use crate::{
    process::code,
    scene::{Scene, json, text},
};

/// What doctor looked at, with how it is, and the last of it.
fn looked_at(url: &str) -> (Vec<String>, serde_json::Value) {
    let scene = Scene::with_store(url);
    let output = scene.output(["doctor", "--json"]);
    assert_eq!(code(&output), 1, "{output:?}");
    assert_eq!(text(&output.stderr), "");
    let seen = json(&output.stdout);
    let last = seen["diagnostics"].as_array().unwrap().last().unwrap().clone();
    (steps(&seen), last)
}

/// The step that failed, which has to be the last, and what is said of it.
fn failed(url: &str, expected: &[&str]) -> String {
    let (steps, last) = looked_at(url);
    assert_eq!(steps, expected, "{last}");
    assert_eq!(last["severity"], "bad");
    format!("{}; {}", last["found"].as_str().unwrap(), last["help"].as_str().unwrap())
}

fn port(server: &RedisServer) -> u16 {
    server.address().port()
}

#[test]
fn of_a_folder_that_cannot_be_used_the_step_and_the_cure_are_told() {
    let scene = Scene::new();
    let place = scene.path("locks");
    std::fs::write(&place, "no directory").unwrap();
    let seen = scene.output(["doctor"]);
    assert_eq!((code(&seen), text(&seen.stderr)), (1, ""));
    let said = text(&seen.stdout);
    assert!(said.contains(place.to_str().unwrap()), "which store: {said}");
    assert!(said.contains("is a file"), "what is wrong: {said}");
    assert!(said.contains("> name a directory"), "what to do: {said}");
    let seen = scene.output(["doctor", "--json"]);
    assert_eq!(code(&seen), 1);
    let seen = json(&seen.stdout);
    assert_eq!(seen["kind"], "file");
    assert_eq!(steps(&seen), ["good boot", "bad place"]);
    // Something else lies there.
    std::fs::remove_file(&place).unwrap();
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("other"), "").unwrap();
    let seen = json(&scene.output(["doctor", "--json"]).stdout);
    assert_eq!(steps(&seen), ["good boot", "bad place"]);
}

/// What doctor looked at, with how it is.
fn steps(seen: &serde_json::Value) -> Vec<String> {
    let word =
        |diagnostic: &serde_json::Value, key: &str| diagnostic[key].as_str().unwrap().to_owned();
    let diagnostics = seen["diagnostics"].as_array().unwrap().iter();
    diagnostics
        .map(|diagnostic| word(diagnostic, "severity") + " " + &word(diagnostic, "what"))
        .collect()
}

#[test]
fn a_folder_that_nobody_may_read_is_said_to_be_one() {
    use std::os::unix::fs::PermissionsExt;

    let scene = Scene::new();
    // Root may read everything; a folder that no one can make is the same to it.
    let parent = scene.path("closed");
    std::fs::create_dir(&parent).unwrap();
    std::fs::set_permissions(&parent, std::fs::Permissions::from_mode(0o000)).unwrap();
    let place = if std::fs::read_dir(&parent).is_ok() {
        "/proc/nowhere/locks".to_owned()
    } else {
        parent.join("locks").display().to_string()
    };
    let (steps, last) = looked_at(&format!("file:{place}"));
    assert_eq!(steps, ["good boot", "bad place"], "{last}");
    assert!(last["found"].as_str().unwrap().contains("/"), "{last}");
}

#[test]
fn a_name_that_leads_nowhere_is_the_first_step() {
    let said = failed("redis://nohost.invalid", &["bad name"]);
    assert!(said.contains("nohost.invalid") && said.contains("correct the host"), "{said}");
}

#[test]
fn a_port_where_nothing_listens_is_the_second() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let said = failed(&format!("redis://localhost:{free}"), &["good name", "bad connection"]);
    assert!(said.contains(&format!("127.0.0.1:{free}: Connection refused")), "{said}");
    let said = failed(&format!("redis://127.0.0.1:{free}"), &["bad connection"]);
    assert_eq!(said.matches("127.0.0.1").count(), 1, "{said}");
    let said = failed("unix:/nowhere/redis.sock", &["bad connection"]);
    assert!(said.contains("No such file"), "{said}");
}

#[test]
fn a_listener_that_says_nothing_is_no_server() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("{}?connect_timeout=300ms", silent.local_addr().unwrap());
    let said = failed(&format!("redis://{place}"), &["good connection", "bad login"]);
    assert!(said.contains("does not answer") && said.contains("connect_timeout"), "{said}");
    let said = failed(&format!("rediss://{place}"), &["good connection", "bad TLS"]);
    assert!(said.contains("does not speak TLS") && said.contains("redis://"), "{said}");
}

#[test]
fn tls_on_one_side_alone_is_said_to_be_that() {
    let plain = RedisServer::start();
    let url = format!("rediss://localhost:{}?connect_timeout=1s", port(&plain));
    let said = failed(&url, &["good name", "good connection", "bad TLS"]);
    assert!(said.contains("write redis://"), "{said}");
    let encrypted = RedisServer::with_tls(&Certificates::new(), false);
    let url = encrypted.tls_url().unwrap().replace("rediss://", "redis://");
    let said = failed(&url, &["good name", "good connection", "bad login"]);
    assert!(said.contains("write rediss://"), "{said}");
}

#[test]
fn a_wrong_password_a_large_database_and_a_foreign_format_are_steps() {
    const SENTINEL: &str = "s3ntinel";
    let server = RedisServer::start();
    let ok = |words: &[&str]| {
        assert_eq!(server.command(words), Reply::Text("OK".to_owned()), "{words:?}");
    };
    ok(&["ACL", "SETUSER", "me", "on", ">right", "~*", "&*", "+@all"]);
    let place = format!("127.0.0.1:{}", port(&server));
    let url = format!("redis://me:{SENTINEL}@{place}");
    let said = failed(&url, &["good connection", "bad login"]);
    assert!(said.contains("refuses this user and password: WRONGPASS"), "{said}");
    let output = Scene::with_store(&url).output(["doctor"]);
    assert!(!format!("{output:?}").contains(SENTINEL), "{output:?}");
    let known = ["good connection", "good login"];
    let said = failed(
        &format!("redis://me:right@{place}/4711"),
        &[&known[..], &["bad database"]].concat(),
    );
    assert!(said.contains("no such database") && said.contains("databases"), "{said}");
    ok(&["SET", "tenure:format", "99"]);
    let said = failed(&format!("redis://{place}"), &[&known[..], &["bad format"]].concat());
    assert!(said.contains("\"99\"") && said.contains("docs/upgrading.md"), "{said}");
}

#[test]
fn a_user_who_may_not_do_what_a_lock_needs_is_told_so_and_the_rest_is_looked_at() {
    let server = RedisServer::start();
    let words = ["ACL", "SETUSER", "me", "on", ">right", "~*", "&*", "+@all", "-pexpireat", "-set"];
    assert_eq!(server.command(&words), Reply::Text("OK".to_owned()));
    let (steps, _) = looked_at(&format!("redis://me:right@127.0.0.1:{}", port(&server)));
    let expected = ["good connection", "good login", "good format", "bad permissions"];
    assert_eq!(steps[..4], expected);
    assert!(steps.contains(&"good version".to_owned()), "{steps:?}");
}

#[test]
fn a_server_without_hello_is_too_old() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let old = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 256]).unwrap();
        stream
            .write_all(b"-ERR unknown command `HELLO`, with args beginning with: `3`\r\n")
            .unwrap();
        // Until the other side has heard it.
        let _ = stream.read(&mut [0; 256]);
    });
    let said = failed(&format!("redis://{place}"), &["good connection", "bad login"]);
    assert!(said.contains("too old") && said.contains("7.0"), "{said}");
    old.join().unwrap();
}

#[test]
fn what_went_well_is_told_with_what_was_found() {
    let server = RedisServer::start();
    let scene = Scene::with_store(&format!("redis://localhost:{}/3", port(&server)));
    let output = scene.output(["doctor"]);
    assert_eq!(code(&output), 0, "{output:?}");
    let said = text(&output.stdout);
    for found in ["localhost is 127.0.0.1", "is open", "takes user \"default\"", "number 3"] {
        assert!(said.contains(found), "{found}: {said}");
    }
}

#[test]
fn each_member_of_a_quorum_has_its_own_steps() {
    let servers = [RedisServer::start(), RedisServer::start()];
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let [one, other] = servers.each_ref().map(RedisServer::url);
    let scene = Scene::with_store(&format!("quorum:{one},{other},redis://{free}"));
    let seen = json(&scene.output(["doctor", "--json"]).stdout);
    let steps = steps(&seen);
    let member = format!("redis://{free}/0: ");
    let of_lost: Vec<_> = steps.iter().filter(|step| step.contains(&member)).collect();
    assert_eq!(of_lost, [&format!("warning {member}connection")], "{steps:?}");
    let well = steps.iter().filter(|step| step.ends_with(": permissions")).count();
    assert_eq!(well, 2, "{steps:?}");
    // One that cannot be used at all hides no other.
    let scene = Scene::with_store(&format!("quorum:{one},{other},file:/proc/nowhere"));
    let seen = json(&scene.output(["doctor", "--json"]).stdout);
    let steps = self::steps(&seen);
    assert!(steps.contains(&"bad file:/proc/nowhere: place".to_owned()), "{steps:?}");
    assert_eq!(steps.iter().filter(|step| step.ends_with(": permissions")).count(), 2);
}
