//! The configuration: what goes before what, and each mistake with file, line and help.

use std::{cell::RefCell, collections::BTreeSet, fs, path::Path, time::Duration};

use tempfile::tempdir;
use tenure::{
    LockName, OpenError, Tenure,
    config::{Config, ConfigError, VARIABLES},
};

const FILE: &str = "/etc/tenure/config.toml";

fn parse(text: &str) -> Result<Config, ConfigError> {
    parse_with(text, &[])
}

fn parse_with(text: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    Config::parse(Some((Path::new(FILE), text)), |name| {
        variables.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned())
    })
}

fn ttl(config: &Config, name: &str) -> Option<u64> {
    config.defaults_of(&LockName::new(name).unwrap()).ttl.map(|ttl| ttl.as_secs())
}

/// The mistakes that a file can have: its text, the line, what is said and the help.
const MISTAKES: &[(&str, usize, &str, &str)] = &[
    ("\n\nttl = '30'", 3, "ttl: the length of time 30 has no unit", "write \"30s\""),
    ("ttl = 30", 1, "ttl: the length of time 30 has no unit", "\"30ms\" for milliseconds"),
    ("wait = 1.5", 1, "wait: the length of time 1.5 has no unit", "write \"1.5s\""),
    ("wait = 'soon'", 1, "wait: \"soon\" is not a duration", "500ms, 2s, 1m"),
    ("wait = '3 moons'", 1, "\"3 moons\" has an unknown unit", "1m30s"),
    ("wait = ''", 1, "wait: \"\" has no value", "leave the setting out"),
    ("wait = true", 1, "wait: true or false is not a length of time", "write it like"),
    ("ttl = '5ms'", 1, "ttl: 5ms is out of range", "choose from 10ms to 24h"),
    ("max-hold = '2days'", 1, "max-hold: 2d is out of range", "choose from 10ms to 24h"),
    ("hold-at-least = '1ms'", 1, "hold-at-least: 1ms is out of range", "choose from 10ms"),
    ("grace = '2m'", 1, "grace: 2m is out of range", "choose from 0s to 1m"),
    ("fair = 'yes'", 1, "fair: text is neither true nor false", "without quotes"),
    ("label = 7", 1, "label is a number, not text", "write text in quotes"),
    ("store = ['redis://:s3cret@h']", 1, "store is a list, not text", "write text in quotes"),
    ("# ours\nstor = 'file:/x'", 2, "no setting is called \"stor\"", "did you mean store?"),
    ("max_hold = '1m'", 1, "no setting is called \"max_hold\"", "did you mean max-hold?"),
    (
        "colour = 1",
        1,
        "no setting is called \"colour\"",
        "it can contain store, service, ttl, wait, max-hold",
    ),
    (
        "[run]\n\nbusy = 7",
        3,
        "no setting under [run] is called \"busy\"",
        "grace, busy-exit-code, lost-exit-code, failed-exit-code and skipped-exit-code",
    ),
    ("[metrics]\nfamilies = 'a'", 2, "families: text is not a list", "[\"order:*\", \"nightly\"]"),
    ("[metrics]\nfamilies = [7]", 2, "families: a number is not a pattern", "in quotes"),
    ("[metrics]\nfamilies = ['']", 2, "families: no name of a lock matches \"\"", "1 to 512 bytes"),
    ("[metrics]\nfamilies = ['other']", 2, "all names that match no pattern", "leave it out"),
    ("[metrics]\nfamilies = [\n'a',\n7]", 4, "families: a number is not a pattern", "in quotes"),
    ("[metrics]\nfamilies = [\n'a',\n'']", 4, "families: no name of a lock matches", "1 to 512"),
    ("history = 7", 1, "history: a number is not a table", "\"nightly\" = 100"),
    ("[history]\n'b' = 7\n'a' = 0", 3, "history: a: ", "\"nightly\" = 100"),
    ("[history]\n\n'b' = 0\n'a' = 0", 3, "history: b: ", "\"nightly\" = 100"),
    ("[history]\na = 7\nb = '7'", 3, "history: b: \"7\" is neither", "\"order:*\" = \"7d\""),
    ("[history]\na = 7\nb = []", 3, "history: b: a list is neither", "\"order:*\" = \"7d\""),
    ("[history]\na = 7\n\"\" = 7", 3, "history: no name of a lock matches \"\"", "1 to 512"),
    ("[metrics]\nnames = []", 2, "no setting under [metrics] is called", "contain families"),
    ("[run]\nbusy-exit-code = 256", 2, "busy-exit-code: this is not an exit code", "from 0 to 255"),
    ("[run]\nskipped-exit-code = 256", 2, "skipped-exit-code: this is not", "from 0 to 255"),
    ("[run]\nlost-exit-code = 0", 2, "lost-exit-code: this is not an exit code", "from 1 to 255"),
    (
        "[run]\nfailed-exit-code = 0",
        2,
        "failed-exit-code: this is not an exit code",
        "from 1 to 255",
    ),
    ("[run]\ngrace = 5", 2, "grace: the length of time 5 has no unit", "write \"5s\""),
    ("locks = 'a'", 1, "locks is text, not a table", "write [locks] on a separate line"),
    (
        "[locks]\n'a*' = '5s'",
        2,
        "a* is text, not a table",
        "write [locks.\"a*\"] on a separate line",
    ),
    (
        "[locks.'order:*']\nttl = '9s'\ntl = '8s'",
        3,
        "no setting under [locks.\"order:*\"] is called \"tl\"",
        "did you mean ttl?",
    ),
    ("store = 'prod'", 1, "no store is called \"prod\"", "write a URL like \"redis://host\""),
    ("store = 'prdo'\n[stores]\nprod = 'file:/p'", 1, "no store is called \"prdo\"", "prod?"),
    (
        "store = 'x'\n[stores]\nprod = 'file:/p'\ntest = 'file:/t'",
        1,
        "\"x\" (there are prod, test)",
        "write a URL",
    ),
    ("store = '/srv/locks'", 1, "is a path, not a URL", "write file:/srv/locks"),
    ("[stores]\nprod = 7", 2, "prod is a number, not text", "write text in quotes"),
    ("store = 'redis://${PW@h'", 1, "a ${ without its }", "write ${NAME}"),
    ("\nstore = 'redis://:${PW}@h'", 2, "the variable PW is not set", "set it"),
    ("store = 'p'\n[stores]\np = 'redis://:${PW}@h'", 3, "the variable PW is not set", "set it"),
    ("ttl = '1s'\nttl = '2s'", 2, "this is not TOML: duplicate key", "see https://toml.io"),
    ("store = 'redis://:s3cret@h", 1, "this is not TOML", "see https://toml.io"),
];

#[test]
fn each_mistake_is_named_with_file_line_and_cure() {
    for (text, line, what, help) in MISTAKES {
        let mistake = parse(text).and_then(|config| config.store().map(str::to_owned));
        let mistake = mistake.expect_err(text);
        let said = mistake.to_string();
        assert!(said.starts_with(&format!("{FILE}, line {line}: ")), "{text}: {said}");
        assert!(said.contains(what), "{text}: {said}");
        assert!(mistake.help().unwrap().contains(help), "{text}: {said}");
        assert_eq!((mistake.file(), mistake.line()), (Some(Path::new(FILE)), Some(*line)));
        assert!(!said.contains("s3cret") && !said.contains('\n'), "{said}");
    }
}

#[test]
fn a_mistake_in_a_variable_is_named_with_its_cure() {
    for (name, value, what, help) in [
        ("TENURE_TTL", "30", "the length of time 30 has no unit", "write \"30s\""),
        ("TENURE_WAIT", "soon", "\"soon\" is not a duration", "500ms, 2s, 1m"),
        ("TENURE_MAX_HOLD", "2days", "2d is out of range", "choose from"),
        ("TENURE_HOLD_AT_LEAST", "1ms", "is out of range", "choose from"),
        ("TENURE_GRACE", "2m", "2m is out of range", "choose from"),
        ("TENURE_FAIR", "maybe", "\"maybe\" is neither yes nor no", "true or false"),
        ("TENURE_STORE", "prod", "no store is called \"prod\"", "write a URL"),
    ] {
        let mistake = parse_with("", &[(name, value)]);
        let mistake = mistake.and_then(|config| config.store().map(drop)).expect_err(name);
        let said = mistake.to_string();
        assert!(said.starts_with(&format!("the variable {name}: ")), "{said}");
        assert!(said.contains(what) && mistake.help().unwrap().contains(help), "{said}");
        assert_eq!(mistake.variable(), Some(name));
    }
}

#[tokio::test]
async fn a_scheme_that_no_store_has_is_named_with_its_line() {
    let config = parse("\nstore = 'reddis://host'").unwrap();
    let Err(OpenError::Config(mistake)) = Tenure::from_config(&config).await else {
        panic!("it was opened")
    };
    let said = format!("{mistake:#}");
    assert!(
        said.contains(
            ", line 2: \"reddis\" is not a kind of store; did you mean \"redis:\"? known: file:"
        ),
        "{said}"
    );
}

#[test]
fn every_variable_that_is_read_is_listed() {
    let asked = RefCell::new(BTreeSet::from(["TENURE_CONFIG".to_owned()]));
    let note = |name: &str| {
        asked.borrow_mut().insert(name.to_owned());
        None
    };
    Config::parse(None, note).unwrap();
    let listed: BTreeSet<_> = VARIABLES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(*asked.borrow(), listed);
}

#[test]
fn a_variable_goes_before_the_file_and_the_file_before_nothing() {
    let file = "store = 'file:/f'\nttl = '8s'\n[locks.a]\nttl = '9s'";
    let config = parse(file).unwrap();
    assert_eq!(
        (config.store().unwrap(), ttl(&config, "a"), ttl(&config, "b")),
        ("file:/f", Some(9), Some(8))
    );
    let variables = [("TENURE_STORE", "file:/v"), ("TENURE_TTL", "7s")];
    let config = parse_with(file, &variables).unwrap();
    assert_eq!(
        (config.store().unwrap(), ttl(&config, "a"), ttl(&config, "b")),
        ("file:/v", Some(7), Some(7))
    );
    let config = parse("").unwrap();
    assert_eq!((config.store().unwrap(), ttl(&config, "a")), ("file:", None));
}

#[test]
fn of_the_patterns_that_match_the_one_closest_to_the_name_counts() {
    let config = parse(
        "ttl = '1s'\nwait = '1s'\n\
         [locks.'order:pay:*']\nttl = '4s'\n\
         [locks.'*']\nttl = '2s'\nwait = '2s'\n\
         [locks.'order:*']\nttl = '3s'\n\
         [locks.'*:7']\nfair = true\n",
    )
    .unwrap();
    assert_eq!(ttl(&config, "order:pay:7"), Some(4));
    assert_eq!(ttl(&config, "order:7"), Some(3));
    assert_eq!(ttl(&config, "job"), Some(2));
    // What the closest leaves open comes from the next.
    let closest = config.defaults_of(&LockName::new("order:pay:7").unwrap());
    assert_eq!((closest.wait, closest.fair), (Some(Duration::from_secs(2)), Some(true)));
}

#[test]
fn a_store_can_be_called_by_its_name() {
    let file = "store = 'main'\n[stores]\nmain = 'file:/m'\nother = 'redis://:${PW}@h'\n";
    let mut config = parse_with(file, &[]).unwrap();
    assert_eq!(config.store().unwrap(), "file:/m");
    let chosen = parse_with(file, &[("TENURE_STORE", "other"), ("PW", "a@b/c")]).unwrap();
    assert_eq!(chosen.store().unwrap(), "redis://:a%40b%2Fc@h");
    assert!(!format!("{chosen:?}").contains("a%40b"), "a password is shown");
    config.use_store("file:/x", "--store");
    assert_eq!(config.store().unwrap(), "file:/x");
    config.use_store("mian", "--store");
    let said = format!("{:#}", config.store().unwrap_err());
    assert!(
        said.ends_with("no store is called \"mian\" (there are main, other); did you mean main?"),
        "{said}"
    );
}

#[test]
fn a_variable_can_be_a_whole_url_or_a_part_of_it() {
    let variables = [("URL", "redis://u:p@h/1"), ("DIR", "/srv/a b")];
    let config = parse_with("store = '${URL}'", &variables).unwrap();
    assert_eq!(config.store().unwrap(), "redis://u:p@h/1");
    let config = parse_with("store = 'file:${DIR}/locks'", &variables).unwrap();
    assert_eq!(config.store().unwrap(), "file:/srv/a b/locks");
}

/// A total of all series would count each lock twice.
#[test]
fn families_of_the_file_are_in_all_series_of_locks() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    metrics::with_local_recorder(&recorder, || {
        let config = parse("store = 'memory:'\n[metrics]\nfamilies = ['order:*']\n").unwrap();
        runtime.block_on(async {
            let tenure = Tenure::from_config(&config).await.unwrap();
            tenure.mutex("order:1").lock().await.unwrap().release().await.unwrap();
        });
    });
    let text = recorder.handle().render();
    let acquired = text.lines().filter(|line| line.starts_with("tenure_acquired_total{"));
    let (with, without): (Vec<_>, Vec<_>) = acquired.partition(|line| line.contains("family="));
    assert!(with.len() > 1, "{text}");
    assert_eq!(without, Vec::<&str>::new());
}

#[tokio::test]
async fn locks_use_what_the_file_says() {
    let dir = tempdir().unwrap();
    let file = format!(
        "store = 'file:{}'\n[locks.'short:*']\nttl = '2s'\nlabel = 'by the file'\n",
        dir.path().join("locks").display()
    );
    let tenure = Tenure::from_config(&parse(&file).unwrap()).await.unwrap();
    let guard = tenure.mutex("short:a").lock().await.unwrap();
    assert!(guard.remaining() <= Duration::from_secs(2));
    let seen = tenure.store().inspect(guard.name()).await.unwrap();
    assert_eq!(seen.holders[0].label, "by the file");
    let guard = tenure.mutex("short:b").ttl(Duration::from_secs(60)).lock().await.unwrap();
    assert!(guard.remaining() > Duration::from_secs(2), "code goes first");
}

/// The page has one example with every key.
#[test]
fn the_example_of_the_page_is_a_configuration() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, behind) = page.split_once("```toml\n").unwrap();
    let (example, _) = behind.split_once("```").unwrap();
    let config = parse_with(example, &[("REDIS_PASSWORD", "x")]).unwrap();
    assert_eq!(config.store().unwrap(), "redis://:x@locks.internal:6379");
    assert_eq!(ttl(&config, "order:pay:7"), Some(10));
    let run = config.run();
    let codes =
        [run.busy_exit_code, run.lost_exit_code, run.failed_exit_code, run.skipped_exit_code];
    assert!(codes.iter().all(Option::is_some));
    let half = Duration::from_secs(ttl(&config, "order:pay:7").unwrap() / 2);
    assert!(config.run().grace.unwrap() <= half, "a command has this long to end itself");
    let everything = config.defaults_of(&LockName::new("anything").unwrap());
    let debug = format!("{everything:?}");
    assert!(!debug.contains("None"), "a key is missing in the example: {debug}");
}

/// It would mean a lock on this machine alone.
#[tokio::test]
async fn an_empty_url_is_refused_wherever_it_comes_from() {
    for url in ["", " "] {
        let fault = match Tenure::open(url).await {
            Err(OpenError::Url { fault, .. }) => fault,
            other => panic!("{other:?}"),
        };
        assert!(fault.help().contains("write file: for the embedded store"), "{fault:#}");
        assert!(tenure::blocking::Tenure::open(url).is_err());
        assert!(Tenure::examine(url).await.is_err());
        let mut config = parse("").unwrap();
        config.use_store(url, "--store");
        for mistake in [
            parse(&format!("store = '{url}'")).and_then(|config| config.store().map(drop)),
            parse_with("", &[("TENURE_STORE", url)]).and_then(|config| config.store().map(drop)),
            config.store().map(drop),
        ] {
            let mistake = mistake.unwrap_err();
            assert!(mistake.to_string().ends_with("the store is empty"), "{mistake}");
        }
    }
}

#[tokio::test]
async fn a_url_that_is_written_wrong_is_refused_before_anything_is_opened() {
    for (url, says) in [
        ("file:locks", "depends on where the program is started; write file:/"),
        ("file:./locks", "depends on where the program is started"),
        ("file:~/locks", "no shell expands the ~"),
        ("/srv/locks", "write file:/srv/locks"),
        ("file://srv/locks", "write file:/srv/locks"),
    ] {
        let refused = Tenure::open(url).await.unwrap_err();
        assert!(matches!(refused, OpenError::Url { .. }), "{url}: {refused:?}");
        assert!(format!("{refused:#}").contains(says), "{url}: {refused:#}");
        let text = format!("# ours\nstore = '{url}'");
        let refused = match parse(&text) {
            Ok(config) => format!("{:#}", Tenure::from_config(&config).await.unwrap_err()),
            Err(mistake) => mistake.to_string(),
        };
        assert!(refused.starts_with(&format!("{FILE}, line 2: ")), "{refused:#}");
        assert!(refused.contains(says), "{refused:#}");
    }
    assert!(!Path::new("locks").exists() && !Path::new("~").exists());
}

#[tokio::test]
async fn a_look_names_a_ttl_that_a_busy_machine_does_not_keep() {
    let folder = tempdir().unwrap();
    let store = format!("file:{}", folder.path().join("locks").display());
    for (ttls, found) in [
        ("ttl = '100ms'", None),
        ("ttl = '30s'\n[locks.'a*']\nttl = '90ms'", Some("90ms for some locks")),
    ] {
        let config = parse(&format!("store = '{store}'\n{ttls}")).unwrap();
        let looked = Tenure::examine_config(&config).await.unwrap();
        let ttl = looked.diagnostics.iter().find(|diagnostic| diagnostic.what == "ttl");
        assert_eq!(ttl.is_some(), found.is_some());
        assert!(ttl.is_none_or(|ttl| ttl.found.starts_with(found.unwrap())), "{ttl:?}");
    }
}
