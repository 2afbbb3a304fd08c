//! What a program asks for on standard input.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tenure::LockName;

use crate::args::{AcquireArgs, Hold, ModeArgs};

/// The longest line, in bytes.
pub(crate) const LONGEST: usize = 64 * 1024;
/// The longest id of a check or a hold, in bytes: it is repeated in each line about it.
const LONGEST_ID: usize = 128;

/// One command.
#[derive(Debug)]
pub(crate) enum HoldCommand {
    /// Acquire a lock. Of many holds, by this name.
    Acquire(String, Box<Hold>),
    /// Answer for how long the hold may be counted on.
    Check(Option<String>, Option<Value>),
    /// Release the hold.
    Release(Option<String>),
}

/// A command as JSON.
#[derive(Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
enum JsonCommand {
    Acquire {
        hold: String,
        lock: Option<String>,
        #[serde(default)]
        all: Vec<String>,
        #[serde(default)]
        shared: bool,
        #[serde(default)]
        write: bool,
        permits: Option<u32>,
        take: Option<u32>,
        #[serde(default)]
        fair: bool,
        wait_ms: Option<u64>,
        ttl_ms: Option<u64>,
        max_hold_ms: Option<u64>,
        hold_at_least_ms: Option<u64>,
        label: Option<String>,
        reason: Option<String>,
    },
    Check {
        hold: Option<String>,
        id: Option<Value>,
    },
    Release {
        hold: Option<String>,
    },
}

/// Reads a command. Where there are many holds, it says which one it is about.
pub(crate) fn parse(line: &str, many: bool) -> Result<HoldCommand, String> {
    let line = line.trim();
    let command = if line.starts_with('{') { json(line)? } else { words(line)? };
    let hold = match &command {
        HoldCommand::Acquire(..) if !many => {
            return Err(
                "one lock is held, and acquire asks for another: start with --multiplex".to_owned()
            );
        }
        HoldCommand::Acquire(hold, _) => Some(hold),
        HoldCommand::Check(hold, _) | HoldCommand::Release(hold) => hold.as_ref(),
    };
    match hold {
        Some(hold) if many => check_length("hold", hold)?,
        Some(_) => {
            return Err("one lock is held, and it has no name: leave out \"hold\"".to_owned());
        }
        None if many => return Err("it does not say which hold: {\"hold\":\"…\"}".to_owned()),
        None => {}
    }
    match &command {
        HoldCommand::Check(_, Some(Value::String(id))) => check_length("id", id)?,
        HoldCommand::Check(_, Some(id)) if !id.is_u64() => {
            return Err("id is a text or a whole number".to_owned());
        }
        _ => {}
    }
    Ok(command)
}

/// Which hold a line is about, and the id of its answer, as far as that can be told of a line that is refused.
pub(crate) fn about(line: &str) -> (Option<String>, Option<Value>) {
    let mut words = line.split_whitespace();
    if let (Some("check"), Some(id), None) = (words.next(), words.next(), words.next())
        && id.len() <= LONGEST_ID
    {
        return (None, Some(id.into()));
    }
    let Ok(value) = serde_json::from_str::<Value>(line) else { return (None, None) };
    let is_short = |value: &&Value| value.as_str().is_none_or(|text| text.len() <= LONGEST_ID);
    let field = |name| value.get(name).filter(is_short);
    let id = field("id").filter(|id| id.is_string() || id.is_u64());
    (field("hold").and_then(Value::as_str).map(str::to_owned), id.cloned())
}

fn check_length(what: &str, text: &str) -> Result<(), String> {
    if text.is_empty() || text.len() > LONGEST_ID {
        return Err(format!("{what} has {} bytes; use 1 to {LONGEST_ID}", text.len()));
    }
    Ok(())
}

fn words(line: &str) -> Result<HoldCommand, String> {
    let mut words = line.split_whitespace();
    let command = (words.next(), words.next(), words.next());
    match command {
        (Some("check"), id, None) => {
            Ok(HoldCommand::Check(None, id.map(|id| Value::String(id.to_owned()))))
        }
        (Some("release"), None, None) => Ok(HoldCommand::Release(None)),
        _ => Err("this is no command; write check, check ID, release, or JSON with \"command\""
            .to_owned()),
    }
}

fn json(line: &str) -> Result<HoldCommand, String> {
    let command = serde_json::from_str(line).map_err(|error| error.to_string())?;
    Ok(match command {
        JsonCommand::Check { hold, id } => HoldCommand::Check(hold, id),
        JsonCommand::Release { hold } => HoldCommand::Release(hold),
        JsonCommand::Acquire {
            hold,
            lock,
            all,
            shared,
            write,
            permits,
            take,
            fair,
            wait_ms,
            ttl_ms,
            max_hold_ms,
            hold_at_least_ms,
            label,
            reason,
        } => {
            let modes = [shared, write, permits.is_some(), !all.is_empty()];
            if modes.iter().filter(|is| **is).count() > 1 {
                return Err("shared, write, permits and all exclude each other".to_owned());
            }
            if lock.is_some() != all.is_empty() {
                return Err("name one \"lock\", or several in \"all\"".to_owned());
            }
            if take.is_some() && permits.is_none() {
                return Err("take needs permits".to_owned());
            }
            if permits == Some(0) || take == Some(0) {
                return Err("permits and take are at least 1".to_owned());
            }
            let name = |text: String| LockName::new(text).map_err(|error| error.to_string());
            let length = |millis: Option<u64>| millis.map(Duration::from_millis);
            let asked = Hold {
                name: lock.map(name).transpose()?,
                all: all.into_iter().map(name).collect::<Result<_, _>>()?,
                sharing: ModeArgs { shared, write, permits, take },
                ttl: length(ttl_ms),
                max_hold: length(max_hold_ms),
                hold_at_least: length(hold_at_least_ms),
                fair,
                asking: AcquireArgs {
                    wait: length(wait_ms),
                    label,
                    reason,
                    ..AcquireArgs::default()
                },
                ..Hold::default()
            };
            HoldCommand::Acquire(hold, Box::new(asked))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str, many: bool) -> String {
        parse(line, many).unwrap_err()
    }

    #[test]
    fn words_are_enough_for_one_hold() {
        assert!(matches!(parse("check\r", false), Ok(HoldCommand::Check(None, None))));
        let Ok(HoldCommand::Check(None, Some(id))) = parse("check 7", false) else { panic!() };
        assert_eq!(id, Value::String("7".to_owned()));
        assert!(matches!(parse(" release ", false), Ok(HoldCommand::Release(None))));
        for wrong in ["", "relase", "release 7", "check 7 8"] {
            assert!(refused(wrong, false).contains("no command"), "{wrong}");
        }
    }

    #[test]
    fn json_says_the_same_and_which_hold() {
        let line = r#"{"command":"check","id":7}"#;
        let Ok(HoldCommand::Check(None, Some(id))) = parse(line, false) else { panic!() };
        assert_eq!(id, 7);
        assert!(refused(r#"{"command":"check","id":[7]}"#, false).contains("whole number"));
        assert!(refused(line, true).contains("which hold"));
        let line = r#"{"command":"release","hold":"a"}"#;
        assert!(matches!(parse(line, true), Ok(HoldCommand::Release(Some(hold))) if hold == "a"));
        assert!(refused(line, false).contains("leave out"));
        assert!(refused("release", true).contains("which hold"));
    }

    #[test]
    fn an_acquire_names_what_run_has_options_for() {
        let line = r#"{"command":"acquire","hold":"1","lock":"a","permits":3,"take":2,"wait_ms":0,"ttl_ms":9000}"#;
        let Ok(HoldCommand::Acquire(hold, asked)) = parse(line, true) else { panic!() };
        assert_eq!(hold, "1");
        assert_eq!(asked.names().map(LockName::as_str).collect::<Vec<_>>(), ["a"]);
        assert_eq!((asked.sharing.permits, asked.sharing.take), (Some(3), Some(2)));
        assert_eq!(asked.asking.wait, Some(Duration::ZERO));
        assert_eq!(asked.ttl, Some(Duration::from_secs(9)));
        assert!(refused(line, false).contains("--multiplex"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let acquire =
            |rest: &str| refused(&format!(r#"{{"command":"acquire","hold":"1"{rest}}}"#), true);
        assert!(acquire("").contains("name one"));
        assert!(acquire(r#","lock":"a","all":["b"]"#).contains("name one"));
        assert!(
            acquire(r#","lock":"a","shared":true,"write":true"#).contains("exclude each other")
        );
        assert!(acquire(r#","lock":"a","take":1"#).contains("needs permits"));
        assert!(acquire(r#","lock":"a","permits":0"#).contains("at least 1"));
        assert!(acquire(r#","lock":"a\nb""#).contains("control"));
        assert!(acquire(r#","lock":"a","wait":5"#).contains("unknown field"));
        assert!(
            refused(r#"{"command":"acquire","hold":"","lock":"a"}"#, true).contains("1 to 128")
        );
        let long = "x".repeat(129);
        assert!(refused(&format!("check {long}"), false).contains("1 to 128"));
    }
}
