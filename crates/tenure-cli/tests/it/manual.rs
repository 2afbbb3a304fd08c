//! The manual, on one page and on many.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    process::{Command, Output},
};

use crate::{
    process::code,
    scene::{Scene, json, text},
};

fn write(scene: &Scene, more: &[&str]) -> Output {
    scene.output(["man", "--dir", "pages"].into_iter().chain(more.iter().copied()))
}

/// The pages that are there, with their names.
fn pages(scene: &Scene) -> Vec<(String, String)> {
    let entries = fs::read_dir(scene.path("pages")).unwrap().map(|entry| entry.unwrap());
    let page = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
    };
    let mut pages: Vec<_> = entries.map(page).collect();
    pages.sort();
    pages
}

fn written() -> (Scene, Vec<(String, String)>) {
    let scene = Scene::new();
    fs::create_dir(scene.path("pages")).unwrap();
    let output = write(&scene, &[]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let pages = pages(&scene);
    (scene, pages)
}

#[test]
fn there_is_a_page_for_each_subcommand_and_each_page_that_one_speaks_of() {
    let (_scene, pages) = written();
    let names: Vec<_> = pages.iter().map(|(name, _)| name.as_str()).collect();
    for sub in [
        "run", "lock", "renew", "unlock", "elect", "ls", "show", "history", "break", "export",
        "doctor", "bench", "man",
    ] {
        assert!(names.contains(&format!("tenure-{sub}.1").as_str()), "{sub}: {names:?}");
    }
    for (name, page) in &pages {
        let words = page.split(|c: char| c.is_whitespace() || c == ',' || c == 'B');
        let cited = words.map(|word| word.replace("\\f", "").replace("\\-", "-"));
        let cited: Vec<_> =
            cited.filter_map(|word| Some(word.split_once("(1)")?.0.to_owned())).collect();
        for other in cited.iter().filter(|other| other.starts_with("tenure")) {
            assert!(names.contains(&format!("{other}.1").as_str()), "{name} speaks of {other}");
        }
        assert!(!cited.is_empty(), "{name} speaks of no other: {page}");
    }
}

#[test]
fn the_page_of_run_has_what_its_users_look_for() {
    let (_scene, pages) = written();
    let (_, run) = pages.iter().find(|(name, _)| name == "tenure-run.1").unwrap();
    assert!(run.contains(".TH TENURE\\-RUN 1 ") || run.contains(".TH TENURE-RUN 1 "), "{run}");
    for section in ["SYNOPSIS", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"] {
        let title = format!(".SH {section}\n").replace("EXIT STATUS", "\"EXIT STATUS\"");
        assert!(run.contains(&title), "{section}: {run}");
    }
    // Word by word what the help says.
    let help = Scene::new().output(["run", "--help"]);
    let plain =
        |text: &str| text.replace('\\', "").split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["the command cannot be executed", "set for the command: the fencing token,"] {
        assert!(plain(text(&help.stdout)).contains(words), "{words}");
        assert!(plain(run).contains(words), "{words}: {run}");
    }
}

#[test]
fn readers_of_manual_pages_find_nothing_wrong_with_them() {
    let (scene, mut pages) = written();
    let one = scene.output(["man"]);
    fs::write(scene.path("pages/all.1"), &one.stdout).unwrap();
    pages.push(("all.1".to_owned(), text(&one.stdout).to_owned()));
    for (name, page) in pages {
        assert!(page.is_ascii(), "{name}");
        let path = scene.path("pages").join(&name);
        let linted =
            Command::new("mandoc").args(["-Tlint", "-Wstyle"]).arg(&path).output().unwrap();
        assert_eq!((text(&linted.stdout), text(&linted.stderr)), ("", ""), "{name}");
        let read = Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]).arg(&path).output();
        let read = read.unwrap();
        assert_eq!((code(&read), text(&read.stderr)), (0, ""), "{name}");
    }
}

#[test]
fn pages_of_tenures_own_are_replaced_and_everybody_can_read_them() {
    let (scene, before) = written();
    let run = scene.path("pages/tenure-run.1");
    let (_, page) = before.iter().find(|(name, _)| name == "tenure-run.1").unwrap();
    fs::write(&run, page.replace("0.1.0", "0.0.9")).unwrap();
    let again = write(&scene, &["--json"]);
    assert_eq!(code(&again), 0, "{}", text(&again.stderr));
    assert_eq!(json(&again.stdout)["pages"].as_array().unwrap().len(), before.len());
    assert_eq!(pages(&scene), before);
    assert_eq!(fs::metadata(&run).unwrap().permissions().mode() & 0o444, 0o444);
}

#[test]
fn nothing_else_is_replaced_and_no_link_is_followed() {
    let scene = Scene::new();
    let refused = write(&scene, &[]);
    assert_eq!(code(&refused), 2);
    assert!(text(&refused.stderr).contains("mkdir -p"), "{}", text(&refused.stderr));

    fs::create_dir(scene.path("pages")).unwrap();
    let (page, other) = (scene.path("pages/tenure-run.1"), scene.path("other"));
    let refused = |what: &str| {
        let refused = write(&scene, &[]);
        let said = text(&refused.stderr);
        assert_eq!(code(&refused), 2, "{what}: {said}");
        assert!(said.contains("tenure-run.1 is ") && said.contains(what), "{said}");
        let there: Vec<_> = fs::read_dir(scene.path("pages")).unwrap().collect();
        assert_eq!(there.len(), 1, "{what}: no page was written: {there:?}");
    };
    for foreign in ["", ".TH TENURE-RUN 1\n", "no page"] {
        fs::write(&page, foreign).unwrap();
        refused("not a page that tenure wrote");
        assert_eq!(fs::read_to_string(&page).unwrap(), foreign);
    }
    fs::remove_file(&page).unwrap();
    let all = scene.output(["man"]).stdout;
    fs::write(&other, &all).unwrap();
    symlink(&other, &page).unwrap();
    refused("a symbolic link");
    assert_eq!(fs::read(&other).unwrap(), all);
    fs::remove_file(&page).unwrap();
    fs::create_dir(&page).unwrap();
    refused("not a regular file");
}

#[test]
fn the_help_of_each_subcommand_has_its_exit_codes() {
    let scene = Scene::new();
    for (command, words) in [
        ("run", "123 the lock was lost"),
        ("elect", "127 the command was not found"),
        ("lock", "124 the lock was busy"),
        ("unlock", "123 the handle holds nothing any more"),
        ("show", "1 with --exit-code"),
        ("doctor", "1 a promise does not hold"),
        ("bench", "128+n signal n ended it"),
        ("export", "125 tenure itself failed: the address is taken"),
    ] {
        let help = scene.output([command, "--help"]);
        assert_eq!(code(&help), 0);
        let said = text(&help.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(words), "{command}: {said}");
    }
}
