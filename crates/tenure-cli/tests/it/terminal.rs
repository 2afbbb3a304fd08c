//! On a terminal.

use std::{fs, process::Stdio};

use crate::{
    process::{Running, code, is_stopped, lives, program},
    scene::{Scene, eventually},
    screen::Screen,
};

#[test]
fn control_c_reaches_the_command_and_its_exit_code_comes_back() {
    let scene = Scene::new();
    let mut screen = Screen::new(&scene);
    screen.types("$T run name -- sh -c 'trap \"exit 9\" INT; echo $$ > pid; while :; do sleep 0.02; done'; echo $? > code\n");
    scene.line("pid");
    screen.types("\x03");
    assert_eq!(scene.line("code"), "9");
    screen.ends();
}

#[test]
fn the_command_has_the_terminal_and_can_read_from_it() {
    let scene = Scene::new();
    let mut screen = Screen::new(&scene);
    screen.types(
        "$T run name -- sh -c 'echo > ready; read line; echo \"$line\" > got'; echo $? > code\n",
    );
    scene.line("ready");
    screen.types("hello\n");
    assert_eq!(scene.line("got"), "hello");
    assert_eq!(scene.line("code"), "0");
    screen.ends();
}

#[test]
fn control_z_stops_command_and_tenure_and_fg_continues_both() {
    let scene = Scene::new();
    let mut screen = Screen::new(&scene);
    screen.types("$T run name -- sh -c 'echo $PPID $$ > pids; read line; echo \"$line\" > got'; echo $? > code\n");
    let command = scene.pids("pids")[1];
    screen.types("\x1a");
    eventually("the command is stopped", || is_stopped(command));
    // The shell has the terminal again, or it could not say so.
    assert_eq!(scene.line("code"), "148");
    fs::remove_file(scene.path("code")).unwrap();
    screen.types("fg; echo $? > code\n");
    eventually("the command goes on", || lives(command) && !is_stopped(command));
    screen.types("after\n");
    assert_eq!(scene.line("got"), "after");
    assert_eq!(scene.line("code"), "0");
    screen.ends();
}

#[test]
fn a_waiter_on_a_terminal_shows_who_holds_the_lock_and_how_many_are_ahead() {
    let scene = Scene::new();
    let holder =
        scene.start("name --label web-7", "echo > held; until [ -e go ]; do sleep 0.01; done");
    scene.line("held");
    let ahead = scene.start("name", "true");
    scene.until_waiting("name", 1);
    let mut command = program("script");
    let line = format!("{} run name -- echo my turn", env!("CARGO_BIN_EXE_tenure"));
    let screen = scene.path("screen");
    command.args(["-qfec", &line]).arg(&screen).env("TENURE_STORE", scene.store());
    command.env("TERM", "xterm").stdin(Stdio::null()).stdout(Stdio::null());
    let waiter = Running::start(&mut command);
    let seen = || fs::read_to_string(&screen).unwrap_or_default();
    eventually("the line tells who is ahead", || {
        seen().contains("waiting for name: held by \"web-7\" for") && seen().contains("1 ahead")
    });
    fs::write(scene.path("go"), "").unwrap();
    assert_eq!(code(&holder.wait()), 0);
    assert_eq!(code(&ahead.wait()), 0);
    waiter.wait();
    assert!(seen().contains("my turn"), "{:?}", seen());
}

#[test]
fn break_asks_on_a_terminal_and_takes_no_for_an_answer() {
    let scene = Scene::new();
    let _holder = scene.start("name --label web-7", "echo > held; exec sleep 1000");
    scene.line("held");
    let mut screen = Screen::new(&scene);
    screen.types("$T break name; echo $? > code\n");
    screen.shows("Take name away?");
    screen.types("n\n");
    assert_eq!(scene.line("code"), "1");
    assert_eq!(scene.show("name")["holders"][0]["label"], "web-7");
    fs::remove_file(scene.path("code")).unwrap();
    screen.types("$T break name; echo $? > code\n");
    screen.shows_times("Take name away?", 2);
    screen.types("y\n");
    assert_eq!(scene.line("code"), "0");
    let seen = screen.ends();
    assert!(seen.contains("Take name away? [y/N]"), "{seen}");
    assert!(seen.contains("tenure: lock \"name\" was not changed"), "no error: {seen}");
}

#[test]
fn break_asks_again_when_another_holds_the_lock_than_was_shown() {
    let scene = Scene::new();
    let until =
        |file: &str| format!("echo > {file}; until [ -e {file}-ends ]; do sleep 0.01; done");
    let first = scene.start("name --label web-7", &until("first"));
    scene.line("first");
    let second = scene.start("name --label web-8", &until("second"));
    scene.until_waiting("name", 1);
    let mut screen = Screen::new(&scene);
    screen.types("$T break name; echo $? > code\n");
    screen.shows("Take name away?");
    fs::write(scene.path("first-ends"), "").unwrap();
    assert_eq!(code(&first.wait()), 0);
    scene.line("second");
    screen.types("y\n");
    screen.shows("its holders have changed");
    screen.types("n\n");
    assert_eq!(scene.line("code"), "1");
    assert_eq!(scene.show("name")["holders"][0]["label"], "web-8");
    fs::write(scene.path("second-ends"), "").unwrap();
    assert_eq!(code(&second.wait()), 0);
    let seen = screen.ends();
    let asked: Vec<_> = seen.match_indices("Take name away?").collect();
    assert_eq!(asked.len(), 2, "{seen}");
}

#[test]
fn what_was_typed_before_is_no_answer() {
    let scene = Scene::new();
    let _holder = scene.start("name --label web-7", "echo > held; exec sleep 1000");
    scene.line("held");
    let mut screen = Screen::new(&scene);
    screen.types("sleep 0.3; $T break name; echo $? > code\ny\n");
    screen.shows("Take name away?");
    screen.types("n\n");
    assert_eq!(scene.line("code"), "1");
    assert_eq!(scene.show("name")["holders"][0]["label"], "web-7");
    screen.ends();
}

#[test]
fn a_handle_is_not_waited_for_on_a_terminal() {
    let scene = Scene::new();
    let mut screen = Screen::new(&scene);
    for command in ["renew", "unlock", "unlock --handle -"] {
        screen.types(&format!("$T {command}; echo $? > code\n"));
        assert_eq!(scene.line("code"), "2");
        fs::remove_file(scene.path("code")).unwrap();
    }
    assert!(screen.ends().contains("set TENURE_HANDLE"));
}

#[test]
fn whoever_locks_on_a_terminal_is_told_for_how_long() {
    let scene = Scene::new();
    let mut screen = Screen::new(&scene);
    screen.types("$T lock name --for 10m --handle h; echo $? > code\n");
    assert_eq!(scene.line("code"), "0");
    let seen = screen.ends();
    assert!(seen.contains("name stays held for 10m") && !seen.contains("tenure-handle"), "{seen}");
}

#[test]
fn break_asks_before_it_repairs_and_says_that_nobody_can_be_told() {
    let scene = Scene::new();
    assert_eq!(code(&scene.run("name", "true")), 0);
    scene.damage_the_only_state();
    let mut screen = Screen::new(&scene);
    for (times, answer, expected, then) in [(1, "n", "1", 125), (2, "y", "0", 0)] {
        screen.types("$T break name; echo $? > code\n");
        screen.shows_times("Take name away?", times);
        screen.types(&format!("{answer}\n"));
        assert_eq!(scene.line("code"), expected);
        fs::remove_file(scene.path("code")).unwrap();
        assert_eq!(code(&scene.run("name --no-wait", "true")), then);
    }
    let seen = screen.ends();
    assert!(seen.contains("its holders are unknown"), "{seen}");
}

#[test]
fn who_tries_once_on_a_terminal_is_told_who_holds_the_lock() {
    let scene = Scene::new();
    let _holder = scene.start("name --label web-7", "echo > held; exec sleep 1000");
    scene.line("held");
    let mut screen = Screen::new(&scene);
    screen.types("$T run name --no-wait -- true; echo $? > code\n");
    assert_eq!(scene.line("code"), "124");
    let seen = screen.ends();
    assert!(seen.contains("held by \"web-7\""), "{seen}");
}
