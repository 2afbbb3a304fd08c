use std::process::Command;

use crate::{
    process::code,
    scene::{Scene, text},
};

#[test]
fn completions_are_there_for_each_shell_and_make_sense_to_bash() {
    let scene = Scene::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = scene.output(["completions", shell]);
        assert_eq!(code(&output), 0);
        assert!(text(&output.stdout).contains("hold-at-least"), "{shell}");
    }
    let script = scene.output(["completions", "bash"]).stdout;
    let check = Command::new("bash").args(["-n", "-c", text(&script)]).output().unwrap();
    assert!(check.status.success(), "{}", text(&check.stderr));
}

#[test]
fn the_manual_page_tells_of_every_subcommand() {
    let page = Scene::new().output(["man"]).stdout;
    let page = text(&page);
    assert!(page.contains(".TH TENURE 1 "), "{page}");
    for part in ["RUN", "LOCK", "RENEW", "UNLOCK", "LS", "SHOW", "BREAK", "DOCTOR"] {
        assert!(page.contains(&format!("TENURE {part}")), "{part}");
    }
    assert!(page.contains("hold\\-at\\-least"));
}

#[test]
fn help_names_the_exit_codes() {
    let output = Scene::new().output(["--help"]);
    assert_eq!(code(&output), 0);
    let said = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("123 run, elect, hold, lock, renew, unlock: the lock was lost"),
        "{said}"
    );
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let script = format!("{} man | head -1; echo ${{PIPESTATUS[0]}}", env!("CARGO_BIN_EXE_tenure"));
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(text(&output.stdout).ends_with("\n0\n"), "{}", text(&output.stdout));
    assert_eq!(text(&output.stderr), "");
}
