//! Locks of other libraries on the same server, which tenure's own layout does not exclude.

use std::collections::BTreeMap;

use tenure_core::{Fault, FaultKind, store::Diagnostic};

use super::ProbeContext;
use crate::{
    client::{Value, text},
    locks::{layout::redisson::holder::is_holder, listing::walk::page},
    options::Layout,
    servers::NodeRef,
};

/// How far the keys of a server are walked over.
const STEPS: usize = 20;
const STEP: &str = "500";
/// How many keys are looked into.
const LOOKS: usize = 200;
/// How many keys are refused before no more are looked into: each refusal is logged at the server.
const REFUSALS: usize = 3;
/// How much of a value is read.
const READ: &str = "63";

/// A library whose locks look like nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Library {
    Redisson,
    ShedLock,
    /// redis-py, redsync, Spring Integration and others: a random value with a ttl.
    Plain,
}

impl Library {
    const fn says(self) -> &'static str {
        match self {
            Self::Redisson => "looks like a lock of Redisson's",
            Self::ShedLock => "looks like a lock of ShedLock's",
            Self::Plain => "looks like a plain lock, as of redis-py, redsync or Spring Integration",
        }
    }
}

/// Locks of other libraries among the first keys, as far as this user may see them.
pub(super) async fn found(probe: &ProbeContext<'_>) -> Option<Diagnostic> {
    let options = &probe.transport.options;
    if options.layout.layout != Layout::Tenure {
        return None;
    }
    let mut seen = BTreeMap::new();
    for node_ref in probe.transport.node_refs().await.ok()?.iter().take(3) {
        look_at_node(probe, node_ref, &mut seen).await;
    }
    if seen.is_empty() {
        return None;
    }
    let found = seen.iter().map(|(library, key)| format!("{key:?} {}", library.says()));
    let found = found.collect::<Vec<_>>().join("; ");
    let help = "these do not exclude tenure's locks of the same name; if they have to, use the layout of that library: \
                https://github.com/tenure-rs/tenure/blob/main/docs/together.md";
    Some(Diagnostic::warning("other libraries", found, "S1", help))
}

async fn look_at_node(
    probe: &ProbeContext<'_>,
    node_ref: &NodeRef,
    seen: &mut BTreeMap<Library, String>,
) {
    let (mut cursor, mut looks, mut refusals) = ("0".to_owned(), 0, 0);
    for _ in 0..STEPS {
        let scan = ["SCAN", &cursor, "COUNT", STEP];
        let Some((next, keys)) = probe.transport.scan(node_ref, &scan).await.ok().and_then(page)
        else {
            return;
        };
        for key in keys {
            let ours = &probe.transport.options.prefix;
            if looks == LOOKS || (!ours.is_empty() && key.starts_with(ours)) {
                continue;
            }
            looks += 1;
            match look(probe, node_ref, &key).await {
                Ok(Some(library)) => drop(seen.entry(library).or_insert(key)),
                Ok(None) => {}
                // Others may be this user's.
                Err(fault) if fault.kind() == FaultKind::Misconfigured => refusals += 1,
                Err(_) => return,
            }
            if refusals == REFUSALS {
                return;
            }
        }
        if next == "0" {
            return;
        }
        cursor = next;
    }
}

async fn look(
    probe: &ProbeContext<'_>,
    node_ref: &NodeRef,
    key: &str,
) -> Result<Option<Library>, Fault> {
    let ask = async |words: &[&str]| probe.transport.send(node_ref, words).await;
    // A lock ends.
    let Value::Int(1..) = ask(&["PTTL", key]).await? else { return Ok(None) };
    Ok(match ask(&["TYPE", key]).await? {
        Value::Text(kind) if kind == "string" => {
            let value = ask(&["GETRANGE", key, "0", READ]).await?;
            text(&value).and_then(|value| of_value(&value))
        }
        Value::Text(kind) if kind == "hash" => {
            let Value::Int(1..=64) = ask(&["HLEN", key]).await? else { return Ok(None) };
            let Value::Array(fields) = ask(&["HKEYS", key]).await? else { return Ok(None) };
            let is_holder = |field: &Value| text(field).is_some_and(|field| is_holder(&field));
            let is_mode = |field: &Value| text(field).as_deref() == Some("mode");
            let one = fields.iter().any(is_holder);
            let all = fields.iter().all(|field| is_holder(field) || is_mode(field));
            (one && all).then_some(Library::Redisson)
        }
        _ => None,
    })
}

/// Whose lock has this value.
fn of_value(value: &str) -> Option<Library> {
    let hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let uuid = value.len() == 36 && is_holder(&format!("{value}:"));
    let random = value.len() == 32 && hexadecimal(value);
    let encoded = value.len() == 24
        && value.ends_with("==")
        && value[..22].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte));
    match value {
        _ if value.starts_with("ADDED:") && value.contains('@') => Some(Library::ShedLock),
        _ if uuid || random || encoded => Some(Library::Plain),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_tells_whose_lock_it_is() {
        for plain in [
            "00112233445566778899aabbccddeeff",
            "q83vEjRWeJCrze8SNFZ4kA==",
            "0fe07e3c-5bbd-4e24-8ee7-6a5d4c3b2a19",
        ] {
            assert_eq!(of_value(plain), Some(Library::Plain), "{plain}");
        }
        let shed = "ADDED:2026-11-27T10:00:00.000Z@worker-7";
        assert_eq!(of_value(shed), Some(Library::ShedLock));
        for other in
            ["", "1", "ADDED: a product", "{\"user\":1}", "💥💥💥💥💥💥💥💥💥", &"a".repeat(64)]
        {
            assert_eq!(of_value(other), None, "{other}");
        }
    }
}
