//! Where the handle of `tenure lock` goes if it is printed.

use std::fs;

use crate::{
    process::{code, program},
    scene::{Scene, text},
};

/// `tenure WORDS` in a shell, with what the shell makes of them.
fn in_shell(scene: &Scene, words: &str) -> std::process::Output {
    let mut shell = program("sh");
    shell.args(["-c", &format!("exec \"$T\" {words}")]).current_dir(scene.path(""));
    shell.env("T", env!("CARGO_BIN_EXE_tenure")).env("TENURE_STORE", scene.store());
    shell.env("XDG_CONFIG_HOME", scene.path("config")).output().unwrap()
}

#[test]
fn a_lock_whose_handle_nobody_could_read_is_not_taken() {
    let scene = Scene::new();
    fs::write(scene.path("file"), "").unwrap();
    for output in [">&-", "> /dev/null", "1<> /dev/null", "1< file"] {
        for more in ["", "--json ", "--failed-exit-code 125 "] {
            let refused = in_shell(&scene, &format!("lock name --for 10m {more}{output}"));
            let said = text(&refused.stderr);
            assert_eq!(code(&refused), 125, "{output}: {said}");
            assert!(said.contains("--handle FILE"), "{output}: {said}");
        }
    }
    assert!(!scene.path("locks").exists(), "the store was not even opened");
}

#[test]
fn with_a_file_for_the_handle_nobody_has_to_read_anything() {
    let scene = Scene::new();
    for (output, more) in [(">&-", ""), ("> /dev/null", "--json ")] {
        let locked = in_shell(&scene, &format!("lock name --for 10m --handle h {more}{output}"));
        assert_eq!(code(&locked), 0, "{}", text(&locked.stderr));
        assert_eq!(code(&scene.output(["unlock", "--handle", "h"])), 0);
    }
    let locked = in_shell(&scene, "lock name --for 10m > printed");
    assert_eq!(code(&locked), 0, "{}", text(&locked.stderr));
    let unlocked = in_shell(&scene, "unlock < printed");
    assert_eq!(code(&unlocked), 0, "{}", text(&unlocked.stderr));
}
