//! What the command says, where a word more spares a search.

use std::{fs, process::Stdio};

use crate::{
    process::{Running, code, program},
    scene::{Scene, events, json, text},
};

#[test]
fn a_command_without_the_two_dashes_is_told_of_them() {
    let scene = Scene::new();
    for words in
        [&["run", "hello", "true"][..], &["run", "hello", "ls", "-l"], &["elect", "a", "b"]]
    {
        let refused = scene.output(words.iter().copied());
        let said = text(&refused.stderr);
        assert_eq!(code(&refused), 2, "{words:?}");
        assert!(said.contains("write -- before the command"), "{words:?}: {said}");
    }
    let other = scene.output(["run", "hello", "--colour", "--", "true"]);
    assert!(!text(&other.stderr).contains("write --"), "{}", text(&other.stderr));
}

#[test]
fn an_option_of_another_tool_is_told_what_it_is_called_here() {
    let scene = Scene::new();
    for (option, here) in [
        ("--timeout", "--wait TIME"),
        ("--nonblock", "--no-wait"),
        ("--conflict-exit-code", "--busy-exit-code N"),
        ("-w", "--wait TIME"),
        ("-n", "--no-wait"),
        ("-E", "--busy-exit-code N"),
        ("-x", "takes the lock exclusively"),
        ("-e", "takes the lock exclusively"),
        ("-s", "--shared"),
        ("-o", "leave it out"),
        ("-q", "tenure run --help"),
    ] {
        let refused = scene.output(["run", "hello", option, "5s", "--", "true"]);
        let said = text(&refused.stderr);
        assert_eq!(code(&refused), 2, "{option}");
        assert!(said.contains(here), "{option}: {said}");
    }
}

#[test]
fn every_error_begins_alike() {
    let scene = Scene::new();
    let failing: [&[&str]; 5] = [
        &["run", "name", "true"],
        &["run", "name", "--", "no-such-command"],
        &["run", "name", "--store", "floppy:/a", "--", "true"],
        &["show", "name", "--store", "redis://127.0.0.1:1"],
        &["bench", "--rounds", "0"],
    ];
    for args in failing {
        let output = scene.output(args.iter().copied());
        let said = text(&output.stderr);
        assert!(said.starts_with("tenure: error: "), "{args:?}: {said}");
        assert_eq!(said.matches("error: ").count(), 1, "{args:?}: {said}");
    }
}

#[test]
fn a_failure_is_told_once_also_with_v() {
    let scene = Scene::new();
    assert_eq!(code(&scene.run("name", "true")), 0);
    scene.damage_the_only_state();
    let failed = scene.run("name -v", "true");
    assert_eq!(code(&failed), 125);
    let said = text(&failed.stderr);
    assert_eq!(said.matches("makes no sense").count(), 1, "{said}");
}

#[test]
fn a_length_without_a_unit_is_told_of_the_unit() {
    let scene = Scene::new();
    for (option, number) in [("--wait", "5"), ("--ttl", "30"), ("--max-hold", "1.5")] {
        let refused = scene.run(&format!("name {option} {number}"), "true");
        let said = text(&refused.stderr);
        assert_eq!(code(&refused), 2, "{option}");
        let hint = format!("write {number}s for seconds or {number}ms for milliseconds");
        assert!(said.contains(&hint), "{option}: {said}");
    }
    let _holder = scene.start("name", "echo > held; exec sleep 1000");
    scene.line("held");
    assert_eq!(code(&scene.run("name --wait 0", "true")), 124, "nothing is nothing in any unit");
}

#[test]
fn a_space_beside_a_comma_is_no_part_of_a_name() {
    let scene = Scene::new();
    for names in ["a, b", " a,b", "a ,b", "a,b\t"] {
        let refused = scene.output(["run", "--all", names, "--", "true"]);
        let said = text(&refused.stderr);
        assert_eq!(code(&refused), 2, "{names:?}: {said}");
    }
    let refused = scene.output(["run", "--all", "a, b", "--", "true"]);
    assert!(text(&refused.stderr).contains("no space beside the commas: \"b\""), "{refused:?}");
    assert_eq!(code(&scene.output(["run", "--all", "a b,c", "--", "true"])), 0);
}

#[test]
fn a_lock_that_is_kept_says_for_how_much_longer() {
    let scene = Scene::new();
    assert_eq!(code(&scene.run("name --hold-at-least 1h --label web-7", "true")), 0);
    let refused = scene.run("name --no-wait -v", "true");
    let said = text(&refused.stderr);
    let kept = ["1h", "59m"]
        .map(|left| format!("released by \"web-7\", but stays taken for another {left}"));
    assert!(kept.iter().any(|kept| said.contains(kept)), "{said}");
    let waited = scene.run("name --wait 20ms", "true");
    let said = text(&waited.stderr);
    let kept = ["3600s", "35"]
        .map(|left| format!("released by \"web-7\", but stays taken for another {left}"));
    assert!(kept.iter().any(|kept| said.contains(kept)), "{said}");
    assert!(!said.contains("held by"), "{said}");
}

#[test]
fn what_chose_the_store_is_told() {
    let scene = Scene::new();
    fs::create_dir_all(scene.path("config/tenure")).unwrap();
    let file = scene.path("config/tenure/config.toml");
    let place = scene.path("by-file").display().to_string();
    fs::write(&file, format!("# ours\nstore = 'main'\n[stores]\nmain = 'file:{place}'\n")).unwrap();
    let file = format!("{}, line 2", file.display());
    let by_flag = ["run", "x", "--store", &format!("file:{place}"), "-v", "--", "true"];
    let cases = [(true, "--store"), (false, "the variable TENURE_STORE")];
    for (flag, by) in cases {
        let plain = ["run", "x", "-v", "--", "true"];
        let output = if flag { scene.output(by_flag) } else { scene.output(plain) };
        assert!(text(&output.stderr).contains(&format!("chosen by {by}\n")), "{output:?}");
    }
    let doctor = scene.output(["doctor"]);
    assert!(text(&doctor.stdout).contains("chosen by the variable TENURE_STORE."), "{doctor:?}");
    let mut by_file = scene.tenure(["run", "x", "--json", "--", "true"]);
    let output = by_file.env_remove("TENURE_STORE").output().unwrap();
    assert_eq!(events(&output.stderr)[0]["chosen_by"], file.as_str());
    let mut doctor = scene.tenure(["doctor", "--json"]);
    let output = doctor.env_remove("TENURE_STORE").output().unwrap();
    assert_eq!(json(&output.stdout)["chosen_by"], file.as_str());
}

#[test]
fn a_store_that_is_not_configured_is_told_which_are() {
    let scene = Scene::new();
    fs::create_dir_all(scene.path("config/tenure")).unwrap();
    let file = scene.path("config/tenure/config.toml");
    fs::write(file, "[stores]\nmain = 'file:/a'\ntest = 'file:/b'\n").unwrap();
    for name in ["mian", "elsewhere"] {
        let refused = scene.output(["ls", "--store", name]);
        assert_eq!(code(&refused), 2);
        assert!(text(&refused.stderr).contains("there are main, test"), "{refused:?}");
    }
}

#[test]
fn a_variable_that_tenure_does_not_know_is_told_where_one_of_its_own_was_meant_or_with_v() {
    let scene = Scene::new();
    let said = |option: &str| {
        let mut command = scene.run_command(&format!("name {option}"), "true");
        command.env("TENURE_WIAT", "5s").env("TENURE_TOKEN_2", "7").env("TENURE_BACKEND", "x");
        let output = command.output().unwrap();
        assert_eq!(code(&output), 0, "it is no error");
        text(&output.stderr).to_owned()
    };
    let loud = said("-v");
    let slip = "tenure: the variable TENURE_WIAT is set, but tenure has no such setting; \
                did you mean TENURE_WAIT?\n";
    assert!(loud.contains(slip) && loud.contains("TENURE_BACKEND"), "{loud}");
    assert!(!loud.contains("TENURE_TOKEN_2"), "{loud}");
    assert_eq!((said(""), said("-q")), (slip.to_owned(), String::new()));
    let told = said("--json");
    assert!(told.contains("TENURE_WIAT") && !told.contains("TENURE_BACKEND"), "{told}");
}

#[test]
fn a_table_keeps_a_token_in_one_piece_on_any_terminal() {
    let scene = Scene::new();
    let label = "a-label-that-is-rather-long";
    let options = format!("name --label {label}");
    let _holder = scene.start(&options, "echo $TENURE_TOKEN > held; exec sleep 1000");
    let token = scene.line("held");
    for columns in [0, 1, 20, 45, 60, 80] {
        for command in ["ls", "show name"] {
            let line = format!("stty cols {columns}; {} {command}", env!("CARGO_BIN_EXE_tenure"));
            let mut screen = program("script");
            screen.args(["-qfec", &line, "/dev/null"]).env("TENURE_STORE", scene.store());
            let shown = screen.stdin(Stdio::null()).output().unwrap();
            let shown = text(&shown.stdout);
            assert!(shown.contains(&token), "{command} on {columns}: {shown}");
        }
    }
    let line = format!("stty cols 0; {} doctor", env!("CARGO_BIN_EXE_tenure"));
    let mut screen = program("script");
    screen.args(["-qfec", &line, "/dev/null"]).env("TENURE_STORE", scene.store());
    let shown = screen.stdin(Stdio::null()).output().unwrap();
    let shown = text(&shown.stdout);
    assert!(shown.contains("of one name, in order"), "{shown}");
}

#[test]
fn no_word_of_the_command_line_reaches_the_terminal_raw() {
    let scene = Scene::new();
    let clipboard = "x\x1b]52;c;aGk=\x07";
    for words in [
        &["show", clipboard][..],
        &["run", "a", "--ttl", "5\x1b[31m", "--", "true"],
        &["run", "a", "--\x1b[2Jx", "--", "true"],
        &["\x1b[2J"],
        &["run", "a", "--store", "file:\x1b]0;t\x07", "--", "true"],
    ] {
        let mut command = program("script");
        let line = words.iter().map(|word| format!(" '{word}'")).collect::<String>();
        let line = format!("{}{line}", env!("CARGO_BIN_EXE_tenure"));
        command.args(["-qfec", &line, "/dev/null"]).env("TENURE_STORE", scene.store());
        let shown = command.stdin(Stdio::null()).output().unwrap().stdout;
        let shown = String::from_utf8_lossy(&shown);
        assert!(shown.contains("\\u{1b}"), "{words:?}: {shown:?}");
        for raw in ["\x1b]", "\x1b[2J", "\x07"] {
            assert!(!shown.contains(raw), "{words:?}: {shown:?}");
        }
    }
}

/// Fields of the log have names and what servers say.
#[test]
fn the_log_shows_nothing_raw() {
    let scene = Scene::new();
    let output = scene.tenure(["-vv", "run", "a\u{202e}b", "--", "true"]).output().unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("acquired lock=a\\u{202e}b token="), "{said}");
    assert!(!said.contains('\u{202e}'), "{said}");
}

#[test]
fn names_that_look_the_same_are_told_apart() {
    let scene = Scene::new();
    let names = ["a\u{200b}b", "a\u{feff}b", "a\u{ad}b", "a\u{e0062}b", "a\u{a0}b", "a\u{2028}b"];
    let mut held = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let mut command = scene.tenure(["run", name, "--"]);
        command.args(["sh", "-c", &format!("echo > held-{at}; exec sleep 1000")]);
        held.push(Running::start(&mut command));
        scene.line(&format!("held-{at}"));
    }
    for words in [&["ls"][..], &["ls", "--json"]] {
        let listed = scene.output(words.iter().copied());
        let told = text(&listed.stdout);
        for name in names {
            assert!(!told.contains(name), "{name:?}: {told:?}");
        }
        assert!(told.contains("200b") && told.contains("2028"), "{told}");
    }
}
