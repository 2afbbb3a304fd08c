//! Who holds a lock, by its label.

use std::{
    fs::{self, Permissions},
    os::unix::{fs::PermissionsExt, process::CommandExt},
};

use nix::unistd::{Uid, User, gethostname};

use crate::{
    process::{Running, code},
    scene::{Scene, events, eventually, json, text},
    screen::Screen,
};

/// What the command's labels begin with here.
fn me() -> String {
    let uid = Uid::effective();
    let user = User::from_uid(uid).unwrap().map_or(uid.to_string(), |user| user.name);
    format!("{user}@{}/", gethostname().unwrap().into_string().unwrap())
}

fn label(scene: &Scene, name: &str) -> String {
    scene.show(name)["holders"][0]["label"].as_str().unwrap().to_owned()
}

#[test]
fn events_have_the_label_that_a_variable_says() {
    let scene = Scene::new();
    let mut command = scene.run_command("name --json", "true");
    let told = events(&command.env("TENURE_LABEL", "web-7").output().unwrap().stderr);
    assert!(!told.is_empty() && told.iter().all(|event| event["label"] == "web-7"), "{told:?}");
}

/// It may be a URL or a handle that stands in the wrong place, and everybody reads labels.
#[test]
fn neither_label_nor_error_shows_a_password_that_stands_where_the_command_belongs() {
    let scene = Scene::new();
    let refused = scene.output(["run", "name", "--json", "--", "redis://me:s3ntinel@host", "x"]);
    assert_eq!(code(&refused), 127);
    assert!(!text(&refused.stderr).contains("s3ntinel"), "{}", text(&refused.stderr));
}

#[test]
fn a_label_tells_user_host_process_and_the_commands_name_but_no_argument() {
    let scene = Scene::new();
    for subcommand in ["run", "elect"] {
        let script = "echo $$ > held; exec sleep 1000 # secret";
        let holder = scene.start_as(subcommand, subcommand, script);
        scene.line("held");
        let expected = format!("{}{} sh", me(), holder.pid());
        assert_eq!(label(&scene, subcommand), expected);
        fs::remove_file(scene.path("held")).unwrap();
    }
}

#[test]
fn what_is_chosen_by_a_flag_a_variable_or_the_file_goes_first() {
    let scene = Scene::new();
    fs::create_dir_all(scene.path("config/tenure")).unwrap();
    fs::write(scene.path("config/tenure/config.toml"), "[locks.'c*']\nlabel = 'file'").unwrap();
    let held = |options: &str, variable: Option<&str>, name: &str| {
        let mut command = scene.run_command(options, "echo > held; exec sleep 1000");
        command.envs(variable.map(|label| ("TENURE_LABEL", label)));
        let _holder = Running::start(&mut command);
        scene.line("held");
        fs::remove_file(scene.path("held")).unwrap();
        label(&scene, name)
    };
    assert_eq!(held("a --label flag", Some("variable"), "a"), "flag");
    assert_eq!(held("b", Some("variable"), "b"), "variable");
    assert_eq!(held("c", None, "c"), "file");
    assert!(held("d", None, "d").starts_with(&me()));
}

#[test]
fn the_label_of_a_lock_that_stays_held_says_so_however_long_the_commands_name_is() {
    let scene = Scene::new();
    assert_eq!(code(&scene.output(["lock", "name", "--for", "1m", "--handle", "h"])), 0);
    let seen = label(&scene, "name");
    assert!(seen.starts_with(&me()) && seen.ends_with(" (detached)"), "{seen}");

    let long = scene.path(&"x".repeat(250));
    fs::write(&long, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&long, Permissions::from_mode(0o755)).unwrap();
    let words = ["run", "--attach", "--handle", "h", "--", long.to_str().unwrap()];
    let ran = scene.output(words);
    assert_eq!(code(&ran), 0, "{}", text(&ran.stderr));
    let seen = label(&scene, "name");
    assert!(seen.contains(" xxx") && seen.ends_with(" (detached)"), "{seen}");
}

#[test]
fn a_user_without_a_name_is_called_by_its_number() {
    if !Uid::effective().is_root() {
        return; // Nobody else may become another user.
    }
    let scene = Scene::new();
    fs::set_permissions(scene.path(""), Permissions::from_mode(0o777)).unwrap();
    // The program may lie where that user cannot look.
    let program = scene.path("tenure");
    tenure_testkit::child::copy_program(env!("CARGO_BIN_EXE_tenure"), &program);
    let mut command = std::process::Command::new(&program);
    command.args(["run", "name", "--", "sh", "-c", "\"$0\" show name --json"]).arg(&program);
    command.current_dir(scene.path("")).uid(54_321).gid(54_321);
    command.env("TENURE_STORE", scene.store()).env("XDG_CONFIG_HOME", scene.path("config"));
    let output = command.output().unwrap();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let seen = json(&output.stdout);
    let seen = seen["holders"][0]["label"].as_str().unwrap();
    assert!(seen.starts_with("54321@") && seen.ends_with(" sh"), "{seen}");
}

#[test]
fn ls_finds_what_is_held_and_waited_for_by_its_label_and_its_fields() {
    let scene = Scene::new();
    let hold = "echo > held; exec sleep 1000";
    let mut all = Vec::new();
    for options in ["mine", "labelled --label bob@web9/9000017", "queue --label web --reason x"] {
        all.push(scene.start(options, hold));
        scene.line("held");
        fs::remove_file(scene.path("held")).unwrap();
    }
    all.push(scene.start("queue", "true"));
    scene.until_waiting("queue", 1);
    let found = |words: &str| -> Vec<String> {
        let words = ["ls", "--json"].into_iter().chain(words.split_whitespace());
        let output = scene.output(words);
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        let seen = json(&output.stdout);
        assert_eq!(seen["more"], false);
        let names = seen["names"].as_array().unwrap().iter();
        names.map(|name| name["name"].as_str().unwrap().to_owned()).collect()
    };
    let host = scene.show("mine")["holders"][0]["host"].as_str().unwrap().to_owned();
    assert_eq!(found(""), ["labelled", "mine", "queue"]);
    assert_eq!(found("--mine"), ["labelled", "mine", "queue"], "whatever the label says");
    assert_eq!(found(&format!("--host {host}")), ["labelled", "mine", "queue"]);
    assert_eq!(found("--host web9"), [""; 0], "that is only in a label");
    assert_eq!(found("--label /9000017"), ["labelled"]);
    assert_eq!(found("q --mine"), ["queue"]);
    assert_eq!(found("--label sh"), ["mine", "queue"], "who waits counts");
    let table = scene.output(["ls", "--label", "web"]);
    let table = text(&table.stdout);
    assert!(table.contains("labelled") && !table.contains("mine"), "{table}");
    let none = scene.output(["ls", "--label", "nobody"]);
    assert_eq!((code(&none), text(&none.stdout)), (0, ""));
}

#[test]
fn on_a_narrow_terminal_labels_and_tokens_stay_in_one_piece() {
    let scene = Scene::new();
    let _holder = scene.start("deploy:shop", "echo $TENURE_TOKEN > held; exec sleep 1000");
    let token = scene.line("held");
    let label = label(&scene, "deploy:shop");
    let mut screen = Screen::new(&scene);
    screen.types("stty cols 50\n$T ls\n$T show deploy:shop\necho > shown\n");
    eventually("it was shown", || scene.path("shown").exists());
    let seen = screen.ends();
    assert_eq!(seen.matches(&format!("\n  {label}\r\n")).count(), 2, "{seen}");
    assert_eq!(seen.matches(&token).count(), 2, "{seen}");
    assert!(!seen.contains("LEASE LEFT"), "{seen}");
}
