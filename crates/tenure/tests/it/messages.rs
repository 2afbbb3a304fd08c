//! Pages quote what tenure says. Who searches them has those words before their eyes, so a message that
//! changes has to change there too.

use std::{fs, path::Path};

use crate::files::{here, sources};

const PAGES: [&str; 2] = ["../../docs/troubleshooting.md", "../../docs/containers.md"];
/// Shorter pieces would be found anywhere.
const SHORTEST: usize = 6;

/// What the crates say: their code without comments, and texts that go over several lines as one.
fn spoken(dir: &Path, into: &mut String) {
    for file in sources(dir) {
        let code = fs::read_to_string(file).unwrap();
        let lines = code.lines().map(str::trim).filter(|line| !line.starts_with("//"));
        for line in lines {
            match line.strip_suffix('\\') {
                Some(goes_on) => into.push_str(goes_on),
                None => into.extend([line, "\n"]),
            }
        }
    }
}

fn all_spoken() -> String {
    let mut code = String::new();
    for dir in ["../../crates", "../../stores"] {
        for package in fs::read_dir(here(dir)).unwrap() {
            spoken(&package.unwrap().path().join("src"), &mut code);
        }
    }
    code.replace("\\\"", "\"")
}

/// The messages in a page's blocks of text, each in one line.
fn quoted(page: &str) -> Vec<String> {
    let blocks = page.split("\n```text\n").skip(1).filter_map(|rest| rest.split_once("\n```"));
    // Whatever its parts, a message is one; its lines go on indented.
    let plain = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = |block: &str| block.replace("\n  ", " ").lines().map(plain).collect();
    blocks.flat_map(|(block, _)| -> Vec<_> { lines(block) }).collect()
}

/// What stands in one place of the code: a message is put together from a place, a fault and its help.
fn pieces(message: &str) -> impl Iterator<Item = &str> {
    let message = message.trim_start_matches("tenure: ").trim_start_matches("error: ");
    let parts =
        message.split('…').flat_map(|part| part.split("; ")).flat_map(|part| part.split(": "));
    let parts =
        parts.flat_map(|part| part.split(" caused by").flat_map(|part| part.split(" help")));
    let parts =
        parts.map(|part| part.trim_matches(|c: char| c.is_whitespace() || ":;,.()`\"".contains(c)));
    parts.filter(|part| part.len() >= SHORTEST)
}

/// What the code puts together of two texts, with a bar where they meet.
const OF_TWO: [&str; 9] = [
    "members | granted",
    "but stays taken | for another",
    "cannot | create the directory",
    "cannot | look at the directory",
    "cannot | open",
    "that | is not known to keep locks between processes",
    "the server wants | the password in the clear",
    "what Redis | keeps of this lock is in format",
    "what Redis | keeps of this lock makes no sense",
];

fn says(code: &str, piece: &str) -> bool {
    // A fault names its store, which an error with a lock has named before.
    let piece = piece.strip_prefix("Redis ").or(piece.strip_prefix("ZooKeeper ")).unwrap_or(piece);
    let of_two = OF_TWO.iter().find(|of_two| of_two.replace("| ", "") == piece);
    of_two.map_or_else(
        || code.contains(piece),
        |of_two| of_two.split(" | ").all(|half| code.contains(half)),
    )
}

/// What the system says in the middle of a message.
const OF_THE_SYSTEM: [&str; 4] = [
    "Connection refused",
    "failed to lookup address information",
    "Permission denied",
    "timed out",
];
/// What servers say.
const OF_SERVERS: [&str; 4] = [
    "this user has no permissions to access one of the keys",
    "password authentication failed for user",
    "Access denied for user",
    "in encoding \"LATIN1",
];

#[test]
fn every_message_that_a_page_quotes_is_one_of_tenures() {
    let code = all_spoken();
    let pages = PAGES.map(|page| fs::read_to_string(here(page)).unwrap());
    let quoted: Vec<_> = pages.iter().flat_map(|page| quoted(page)).collect();
    assert!(quoted.len() > 50, "{} messages", quoted.len());
    let others = |piece: &&str| !OF_THE_SYSTEM.contains(piece) && !OF_SERVERS.contains(piece);
    let unknown: Vec<_> = quoted
        .iter()
        .flat_map(|message| pieces(message))
        .filter(others)
        .filter(|piece| !says(&code, piece))
        .collect();
    assert_eq!(unknown, Vec::<&str>::new(), "nothing of tenure says this");
}
