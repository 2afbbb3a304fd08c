//! What the documentation says about the code.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use tenure::observe::{METRICS, MetricKind};

use crate::files::{here, sources};

/// Where tests live, seen from this crate.
const TESTS: [&str; 16] = [
    "tests",
    "../tenure-proto/tests",
    "../tenure-core/tests",
    "../tenure-testkit/src/conformance",
    "../tenure-testkit/tests",
    "../tenure-sim/tests",
    "../tenure-cli/tests",
    "../../stores/embedded/tests",
    "../../stores/redis/tests",
    "../../stores/quorum/tests",
    "../../stores/mysql/tests",
    "../../stores/postgres/tests",
    "../../stores/sql/tests",
    "../../stores/zookeeper/tests",
    // Pages name functions of the kinds in the same way.
    "../tenure-core/src",
    "../../ladder/tests",
];

/// The words between backticks that look like the name of a test: a sentence of three words.
fn tests_named_in(page: &str) -> BTreeSet<&str> {
    let sentence = |word: &&str| {
        word.matches('_').count() >= 2
            && word.chars().all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    page.split('`').skip(1).step_by(2).filter(sentence).collect()
}

fn pages(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "md") {
            into.push(path);
        }
    }
}

/// The folders of the crates that are published.
fn packages() -> Vec<PathBuf> {
    let of = |dir| fs::read_dir(here(dir)).unwrap().map(|entry| entry.unwrap().path());
    ["../../crates", "../../stores"].into_iter().flat_map(of).collect()
}

pub(crate) fn all_pages() -> Vec<PathBuf> {
    let mut all = Vec::new();
    for dir in ["../..", "../../docs", "../../docs/stores", "../../docs/tutorials", "../../ops"] {
        pages(&here(dir), &mut all);
    }
    for package in packages() {
        pages(&package, &mut all);
    }
    all
}

fn manifests() -> Vec<PathBuf> {
    packages().iter().map(|package| package.join("Cargo.toml")).collect()
}

/// The text of a page without its blocks of code.
pub(crate) fn prose(page: &str) -> String {
    let mut in_code = false;
    let mut lines = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            lines.push(line);
        }
    }
    lines.join("\n")
}

/// How the web shows a heading's address: small letters and digits, with a hyphen for each space.
fn address_of(heading: &str) -> String {
    let shown = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    shown.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

/// Where a link can lead to within a page.
fn anchors(page: &str) -> BTreeSet<String> {
    let page = prose(page);
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let headings = headings.map(|line| address_of(line.trim_start_matches('#').trim()));
    let named = page.split("<a id=\"").skip(1).filter_map(|rest| rest.split_once('"'));
    headings.chain(named.map(|(id, _)| id.to_owned())).collect()
}

#[test]
fn every_link_from_one_page_to_another_leads_somewhere() {
    for page in all_pages() {
        let text = fs::read_to_string(&page).unwrap();
        let text = prose(&text);
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        for (target, _) in targets.filter(|(target, _)| !target.contains("://")) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = page.parent().unwrap().join(file);
            let leads_to = if target.starts_with('#') { page.clone() } else { file };
            assert!(leads_to.exists(), "{} links to {target}", page.display());
            let there = || anchors(&fs::read_to_string(&leads_to).unwrap()).contains(anchor);
            assert!(anchor.is_empty() || there(), "{} links to {target}", page.display());
        }
    }
}

/// A reader finds only the pages that the map names.
#[test]
fn the_map_links_to_every_page() {
    let map = fs::read_to_string(here("../../docs/README.md")).unwrap();
    let dirs = [
        ("../../docs", ""),
        ("../../docs/stores", "stores/"),
        ("../../docs/tutorials", "tutorials/"),
    ];
    for (dir, prefix) in dirs {
        let mut all = Vec::new();
        pages(&here(dir), &mut all);
        for page in all {
            let link = format!("({prefix}{}", page.file_name().unwrap().to_str().unwrap());
            assert!(page.ends_with("docs/README.md") || map.contains(&link), "{}", page.display());
        }
    }
}

/// The page lists each metric with its kind and its labels, in the order of the code, and no other.
#[test]
fn the_page_of_metrics_has_each_metric() {
    let page = fs::read_to_string(here("../../docs/metrics.md")).unwrap();
    let (page, _) = page.split_once("## What to watch").unwrap();
    let listed: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `tenure_"))
        .map(|row| row.split(" | ").take(3).collect::<Vec<_>>().join(" | "))
        .collect();
    let described: Vec<_> = METRICS
        .iter()
        .map(|metric| {
            let kind = match metric.kind {
                MetricKind::Counter => "counter",
                MetricKind::Gauge => "gauge",
                _ => "histogram",
            };
            let labels = metric.labels.iter().map(|label| format!("`{label}`"));
            let name = metric.name.trim_start_matches("tenure_");
            format!("{name}` | {kind} | {}", labels.collect::<Vec<_>>().join(", "))
        })
        .collect();
    assert_eq!(listed, described);
}

/// The addresses of this project that a text sends its reader to.
fn own_addresses(text: &str) -> Vec<&str> {
    let end_of_word = |c: char| c.is_whitespace() || "()<>\"`'".contains(c);
    let words = text.split(end_of_word).map(|word| word.trim_end_matches(['.', ',', ';', ':']));
    let home = env!("CARGO_PKG_REPOSITORY").trim_start_matches("https://");
    let own = |word: &&str| {
        let web = word.starts_with("http://") || word.starts_with("https://");
        (web && word.contains("tenure")) || word.contains(home)
    };
    words.filter(own).collect()
}

/// There is nothing at it yet. The one place that has it is the workspace's `repository`.
#[test]
fn no_page_sends_its_reader_to_an_address_of_this_project() {
    for page in [all_pages(), manifests()].concat() {
        let text = fs::read_to_string(&page).unwrap();
        assert_eq!(own_addresses(&text), Vec::<&str>::new(), "{}", page.display());
    }
}

/// What rustdoc shows of a source, without its blocks of code.
fn documentation(source: &str) -> String {
    let lines = source.lines().map(str::trim_start);
    let shown = lines.filter_map(|line| line.strip_prefix("///").or(line.strip_prefix("//!")));
    prose(&shown.collect::<Vec<_>>().join("\n"))
}

/// docs.rs has no pages beside it: they are named by where they will be once the crates are published.
#[test]
fn the_documentation_of_items_links_to_each_page_and_promise_that_it_names() {
    let web = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");
    let for_tests = ["tenure-testkit", "tenure-sim", "tenure-servers"];
    let published = packages().into_iter();
    let published =
        published.filter(|package| !for_tests.iter().any(|name| package.ends_with(name)));
    let sources = published.flat_map(|package| sources(&package.join("src")));
    let mut links = 0;
    for source in sources {
        let text = documentation(&fs::read_to_string(&source).unwrap());
        for target in text.split(web).skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let page = fs::read_to_string(here("../..").join(file));
            let page = page.unwrap_or_else(|_| panic!("{} links to {target}", source.display()));
            let leads = anchor.is_empty() || anchors(&page).contains(anchor);
            assert!(leads, "{} links to {target}", source.display());
            links += 1;
        }
        let linked = text.replace(&format!("({web}"), "(");
        for plain in ["promise S", "promises S", "`docs/", " docs/", "(S1)", "(S2)", "(S9)"] {
            assert!(!linked.contains(plain), "{} names {plain}", source.display());
        }
    }
    assert!(links > 40, "{links}");
}

/// What they show is held to code that runs, by a test that stands beside that code.
const HELD_TO_CODE: [&str; 4] = [
    "docs/wrong-locks.md",
    "docs/flash-sale.md",
    "docs/tutorials/web-service.md",
    "docs/tutorials/leader.md",
];

#[test]
fn code_on_a_page_is_compiled_or_shows_that_it_is_a_part() {
    let doctests = ["src/lib.rs", "../tenure-sim/src/lib.rs"];
    let doctests = doctests.map(|source| fs::read_to_string(here(source)).unwrap()).concat();
    let root = here("../..").canonicalize().unwrap();
    for page in all_pages() {
        let text = fs::read_to_string(&page).unwrap();
        let page = page.canonicalize().unwrap();
        let page = page.strip_prefix(&root).unwrap().to_str().unwrap();
        let blocks = text.split("\n```rust").skip(1).filter_map(|rest| rest.split_once("\n```"));
        for (block, _) in blocks.filter(|_| !HELD_TO_CODE.contains(&page)) {
            let compiled = doctests.contains(&format!("include_str!(\"../../../{page}\")"));
            let part = block.starts_with(",ignore") && block.contains('…');
            let whole = compiled && !block.starts_with(",ignore");
            assert!(part || whole, "{page} shows what nobody compiles:{block}");
        }
    }
}

#[test]
fn every_test_that_the_documentation_names_exists() {
    let mut code = Vec::new();
    for dir in TESTS {
        code.extend(sources(&here(dir)).iter().map(|file| fs::read_to_string(file).unwrap()));
    }
    let code = code.concat();
    for page in [
        "guarantees.md",
        "fencing.md",
        "handles.md",
        "wrong-locks.md",
        "stores/redis.md",
        "stores/redis-drills.md",
    ] {
        let page = fs::read_to_string(here("../../docs").join(page)).unwrap();
        let named = tests_named_in(&page);
        assert!(!named.is_empty());
        for test in named {
            assert!(code.contains(&format!("fn {test}(")), "no test is called {test}");
        }
    }
}

#[test]
fn the_rights_that_the_page_on_redis_gives_are_those_that_are_tested() {
    let page = fs::read_to_string(here("../../docs/stores/redis.md")).unwrap();
    let tested = fs::read_to_string(here("../../docs/stores/redis.acl")).unwrap();
    let shown = page.split("```text\n").find(|block| block.starts_with("ACL SETUSER"));
    let shown = shown.and_then(|block| block.split_once("```"));
    assert_eq!(shown.map(|(rights, _)| rights), Some(tested.as_str()));
}

/// What a tutorial shows of a program is in that program, line for line.
#[test]
fn tutorials_show_the_programs_as_they_are() {
    let pages = [
        (
            "web-service.md",
            ["web-service/src/main.rs", "web-service/src/metrics.rs", "web-service/src/payment.rs"]
                .as_slice(),
        ),
        ("leader.md", &["scheduler/src/main.rs"]),
    ];
    for (page, sources) in pages {
        let read = |file: &str| fs::read_to_string(here("../..").join(file)).unwrap();
        let sources: Vec<_> =
            sources.iter().map(|file| read(&format!("examples/{file}"))).collect();
        let page = read(&format!("docs/tutorials/{page}"));
        let blocks =
            page.split("\n```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
        let mut shown = 0;
        for (language, block) in blocks.filter(|(language, _)| *language == "rust,ignore") {
            assert!(sources.iter().any(|source| source.contains(block)), "{language}\n{block}");
            shown += 1;
        }
        assert!(shown > 3, "{shown}");
    }
}
