//! What each server that the URL names says of itself, as administrators ask it.

use std::{collections::BTreeMap, time::Duration};

use futures_util::future::{join, join_all};
use tenure_core::{runtime, store::Diagnostic};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::config::options::{ZookeeperOptions, place_of};

/// How long a server may take for a word of four letters.
const PATIENCE: Duration = Duration::from_secs(2);

/// How much of an answer is read.
const MOST: u64 = 64 * 1024;

/// The settings that all have to agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MemberSettings {
    tick: Duration,
    /// The shortest and the longest session that it grants.
    bounds: (Duration, Duration),
}

/// One for each server, and what they have to agree on with the URL and with each other.
pub(crate) async fn diagnostics(options: &ZookeeperOptions) -> Vec<Diagnostic> {
    if options.tls.is_some() {
        let found = "not checked: over TLS the servers are not asked for their tickTime";
        return vec![unchecked(options.tick, found.to_owned())];
    }
    let ask = |server| async move { (server, query_server(server).await) };
    let asked = join_all(options.servers.iter().map(ask)).await;
    let mut diagnostics = Vec::new();
    let (mut told, mut modes) = (Vec::new(), Vec::new());
    for (server, (of_server, mode, of_settings)) in asked {
        let place = place_of(server);
        diagnostics.push(of_server);
        modes.extend(mode.map(|mode| (place.clone(), mode)));
        told.push((place, of_settings));
    }
    diagnostics.extend(ensembles(&modes, told.len()));
    diagnostics.extend(ticks(options.tick, &told));
    diagnostics.extend(bounds(&told));
    diagnostics
}

async fn query_server(
    server: &(String, u16),
) -> (Diagnostic, Option<String>, Result<MemberSettings, &'static str>) {
    let what = format!("server {}", place_of(server));
    let (state, settings) = join(four_letters(server, "srvr"), four_letters(server, "conf")).await;
    let (of_server, mode) = match state {
        Ok(told) => (of_server(what, &told), value(&told, "Mode:").map(str::to_owned)),
        Err(error) => (Diagnostic::warning(what, error, "S6", "check that it runs"), None),
    };
    let settings = match settings {
        Ok(told) => settings_of(&told).ok_or("it does not report its settings"),
        Err(_) => Err("it does not answer"),
    };
    (of_server, mode, settings)
}

/// What stands behind a name in an answer to `srvr`.
fn value<'a>(told: &'a str, name: &str) -> Option<&'a str> {
    told.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

fn of_server(what: String, told: &str) -> Diagnostic {
    let Some(mode) = value(told, "Mode:") else {
        let found = told.lines().next().unwrap_or("it reports nothing");
        let help = "allow it: 4lw.commands.whitelist=srvr,conf; nothing depends on it";
        return Diagnostic::warning(what, found.to_owned(), "S6", help);
    };
    let version = value(told, "Zookeeper version:").unwrap_or("unknown");
    let version = version.split(['-', ',']).next().unwrap_or(version);
    let zxid = value(told, "Zxid:")
        .and_then(|zxid| u64::from_str_radix(zxid.trim_start_matches("0x"), 16).ok());
    let epoch = zxid.map_or(0, |zxid| zxid >> 32);
    let found = format!("{mode}, version {version}, epoch {epoch}");
    if mode == "read-only" {
        let help = "check that a majority of the servers runs and that they reach each other";
        return Diagnostic::warning(what, found, "S6", help);
    }
    Diagnostic::good(what, found)
}

/// Whether all of them, so many, are one ensemble, by what each says that it is, and whether the leader is among them.
fn ensembles(modes: &[(String, String)], all: usize) -> Option<Diagnostic> {
    let those = |wanted: &str| -> Vec<&str> {
        modes.iter().filter(|(_, mode)| mode == wanted).map(|(place, _)| place.as_str()).collect()
    };
    let (alone, leaders) = (those("standalone"), those("leader"));
    let bad = |found: String| {
        let help = "name the servers of one ensemble, each by the same server.N lines in its configuration";
        Some(Diagnostic::bad(
            "ensemble",
            format!("{found}: each grants the same locks"),
            "S1",
            help,
        ))
    };
    if modes.len() > 1 && !alone.is_empty() {
        return bad(format!(
            "{} is standalone, and not in one ensemble with the others",
            alone.join(", ")
        ));
    }
    if leaders.len() > 1 {
        return bad(format!("{} each lead an ensemble", leaders.join(" and ")));
    }
    if modes.len() == all && leaders.is_empty() && !those("follower").is_empty() {
        let found = "the leader, whose tickTime decides when sessions end, is not among them: it was not checked";
        let help = "name all servers in the URL, each with a separate name, and check again";
        return Some(Diagnostic::warning("ensemble", found, "S1", help));
    }
    None
}

/// What is assumed and was not looked at.
fn unchecked(said: Duration, found: String) -> Diagnostic {
    let help = format!(
        "check that tickTime of the servers is {said:?} at most, or write theirs into the URL: 3 s \
         if their configuration does not set it"
    );
    Diagnostic::warning("tick", found, "S1", help)
}

/// The settings in an answer to `conf`; nothing if that is not allowed, or the server does not serve.
fn settings_of(told: &str) -> Option<MemberSettings> {
    let millis = |name: &str| {
        let mut lines = told.lines().filter_map(|line| line.trim().split_once('='));
        let value = lines.find_map(|(key, value)| (key == name).then_some(value))?;
        value.trim().parse().ok().map(Duration::from_millis)
    };
    let bounds = (millis("minSessionTimeout")?, millis("maxSessionTimeout")?);
    Some(MemberSettings { tick: millis("tickTime")?, bounds })
}

/// Whether the URL says the tick that the servers have.
fn ticks(
    said: Duration,
    told: &[(String, Result<MemberSettings, &'static str>)],
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut those: BTreeMap<Duration, Vec<&str>> = BTreeMap::new();
    let mut silent = Vec::new();
    for (place, told) in told {
        match told {
            Ok(told) => those.entry(told.tick).or_default().push(place),
            Err(why) => silent.push(format!("{place}: {why}")),
        }
    }
    if !silent.is_empty() {
        // The servers allow `srvr` alone unless they are told otherwise.
        let found = format!(
            "not checked at {}; 4lw.commands.whitelist=srvr,conf lets them report it",
            silent.join(", ")
        );
        diagnostics.push(unchecked(said, found));
    }
    for (tick, places) in those {
        let places = places.join(", ");
        let found = format!("tickTime is {tick:?} at {places}, and the tick of the URL {said:?}");
        diagnostics.push(if tick == said {
            Diagnostic::good("tick", found)
        } else if tick > said {
            let found = format!("{found}: a holder that is cut off may stop too late");
            Diagnostic::warning("tick", found, "S1", format!("write tick={tick:?} into the URL"))
        } else {
            let found = format!("{found}: a holder that is cut off stops sooner than it has to");
            Diagnostic::warning("tick", found, "S5", format!("write tick={tick:?} into the URL"))
        });
    }
    diagnostics
}

/// Whether a session goes on with the same length at each of them.
fn bounds(told: &[(String, Result<MemberSettings, &'static str>)]) -> Option<Diagnostic> {
    let mut those: BTreeMap<(Duration, Duration), Vec<&str>> = BTreeMap::new();
    for (place, told) in told {
        let Ok(told) = told else { continue };
        those.entry(told.bounds).or_default().push(place);
    }
    let of = |((least, most), places): (&(Duration, Duration), &Vec<&str>)| {
        format!("{least:?} to {most:?} at {}", places.join(", "))
    };
    let found: Vec<_> = those.iter().map(of).collect();
    let found = format!("sessions last {}", found.join(", and "));
    match those.len() {
        0 => None,
        1 => Some(Diagnostic::good("session bounds", found)),
        _ => {
            let found =
                format!("{found}: a session that moves to another server may stall or change");
            let help = "set minSessionTimeout and maxSessionTimeout of all servers alike";
            Some(Diagnostic::warning("session bounds", found, "S5", help))
        }
    }
}

/// Asks a server; an error is why it did not answer.
async fn four_letters((host, port): &(String, u16), word: &str) -> Result<String, String> {
    let answer = async {
        let addresses = runtime::addresses(host, *port).await?;
        let mut stream = TcpStream::connect(addresses.as_slice()).await?;
        stream.write_all(word.as_bytes()).await?;
        let mut told = Vec::new();
        stream.take(MOST).read_to_end(&mut told).await?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&told).into_owned())
    };
    match timeout(PATIENCE, answer).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err("it does not answer".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::store::Severity;

    use super::*;

    fn of(modes: &[(&str, &str)]) -> Option<Diagnostic> {
        let owned = |(place, mode): &(&str, &str)| ((*place).to_owned(), (*mode).to_owned());
        ensembles(&modes.iter().map(owned).collect::<Vec<_>>(), 3)
    }

    #[test]
    fn servers_that_are_no_ensemble_are_found() {
        let three = [("a", "follower"), ("b", "leader"), ("c", "follower")];
        assert_eq!(of(&three), None);
        assert_eq!(of(&[("a", "standalone")]), None);
        for modes in [
            [("a", "standalone"), ("b", "standalone")],
            [("a", "standalone"), ("b", "leader")],
            [("a", "leader"), ("b", "leader")],
        ] {
            let found = of(&modes).unwrap();
            assert!(found.severity == Severity::Bad && found.found.contains('a'), "{found:?}");
        }
        let followers = [("a", "follower"), ("b", "follower"), ("c", "follower")];
        assert_eq!(of(&followers).unwrap().severity, Severity::Warning);
        // The one that says nothing, which is told of, may be the leader.
        assert_eq!(of(&followers[..2]), None);
        let read = of_server("server a".to_owned(), "Mode: read-only\n");
        assert_eq!(read.severity, Severity::Warning);
    }
}
