use crate::{
    process::code,
    scene::{Scene, text},
};

#[test]
fn hostile_names_are_names_like_others() {
    let scene = Scene::new();
    let longest = "ü".repeat(256);
    let names = ["..", "/", "../../etc/passwd", "a b", "n*?$(id)`id`';\"", "\u{202e}x", &longest];
    for name in names {
        let output = scene.output(["run", name, "--", "printenv", "TENURE_NAME"]);
        assert_eq!(text(&output.stdout).trim_end_matches('\n'), name, "{}", text(&output.stderr));
        assert_eq!(code(&output), 0);
        assert_eq!(scene.show(name)["name"], name);
    }
}

#[test]
fn what_is_no_name_is_refused_with_the_reason() {
    let scene = Scene::new();
    let too_long = "x".repeat(513);
    let refused =
        [("", "cannot be empty"), (&too_long, "513 bytes"), ("a\nb", "'\\n' is at byte 1")];
    for (name, reason) in refused {
        for command in ["run", "show", "break"] {
            let mut args = vec![command, "--yes", "--", name];
            match command {
                "run" => args = vec!["run", name, "--", "true"],
                "show" => args = vec!["show", name],
                _ => {}
            }
            let output = scene.output(args);
            assert_eq!(code(&output), 2, "{command} {name:?}");
            assert!(text(&output.stderr).contains(reason), "{}", text(&output.stderr));
        }
    }
}
