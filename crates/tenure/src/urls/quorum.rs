//! Opens a quorum by the URLs of its members.

use std::sync::Arc;

use tenure_core::{Fault, FaultKind, Store};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_url::{ValueError, duration, yes_no};

use crate::{
    Examination,
    urls::{
        examination,
        stores::{
            embedded, examine_embedded, examine_redis, is_redis, names_several, redis_member,
        },
        url::{HIDDEN, shown_member},
    },
};

/// What is wrong with the spelling of `list`, if anything. `of_member` says what is wrong with a member's URL.
pub(crate) fn find_mistake(list: &str, of_member: impl Fn(&str) -> Option<Fault>) -> Option<Fault> {
    let (mut options, mut members, mut places) = (QuorumOptions::new(), 0, Vec::new());
    for part in parts(list) {
        match setting(part, options.clone()) {
            Ok(Some(with)) => options = with,
            Ok(None) => {
                members += 1;
                if let Err(fault) = check_member_scheme(part, members) {
                    return Some(fault);
                }
                let url = part.replace("%2C", ",");
                if let Some(fault) = of_member(&url) {
                    let what = format!("member number {members}: {}", fault.message_and_cause());
                    return Some(Fault::new(fault.kind(), what, fault.help()));
                }
                places.extend(member_location(&url));
            }
            Err(fault) => return Some(fault),
        }
    }
    let counted = tenure_quorum::check_count(members);
    counted.and_then(|()| tenure_quorum::check_distinct(&places)).err()
}

/// The location of a member, as far as its URL alone gives it.
fn member_location(url: &str) -> Option<String> {
    #[cfg(feature = "redis")]
    if let Ok(options) = tenure_redis::RedisOptions::from_url(url) {
        return Some(options.location());
    }
    url.starts_with("file:").then(|| url.to_owned())
}

fn parts(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim)
}

/// `options` with the setting in `part`; `None` if that is a member.
fn setting(part: &str, options: QuorumOptions) -> Result<Option<QuorumOptions>, Fault> {
    Ok(Some(match part.split_once('=') {
        Some((name @ "longest_lease", length)) => {
            options.longest_lease(value(name, duration(length))?)?
        }
        Some((name @ "member_limit", length)) => {
            options.member_limit(value(name, duration(length))?)?
        }
        Some((name @ "durable_members", answer)) => {
            options.durable_members(value(name, yes_no(answer))?)
        }
        _ => return Ok(None),
    }))
}

/// Examines the quorum whose members and settings are in `list`, or each member alone if one cannot be used at all.
pub(crate) async fn examine(list: &str) -> Result<Examination, Fault> {
    let mut options = QuorumOptions::new();
    let mut urls = Vec::new();
    for part in parts(list) {
        match setting(part, options.clone())? {
            Some(with) => options = with,
            None => urls.push(part),
        }
    }
    if let Ok(members) =
        urls.iter().zip(1..).map(|(url, number)| member(url, number)).collect::<Result<Vec<_>, _>>()
    {
        return examination::examine_store(&QuorumStore::new(members, options)?).await;
    }
    let (mut diagnostics, mut places) = (Vec::new(), Vec::new());
    for url in urls {
        let of_member = match url.split(':').next().unwrap_or_default() {
            "memory" => examination::examine_store(&tenure_core::MemoryStore::new()).await?,
            "file" => examine_embedded(&url.trim_start_matches("file:").replace("%2C", ","))?,
            scheme if names_several(scheme) => examine_redis(&url.replace("%2C", ",")).await?,
            _ => examine_redis(url).await?,
        };
        let place = of_member.location;
        diagnostics
            .extend(of_member.diagnostics.into_iter().map(|diagnostic| diagnostic.of(&place)));
        places.push(place);
    }
    Ok(Examination {
        kind: "quorum",
        location: format!("quorum:{}", places.join(",")),
        diagnostics,
    })
}

/// Opens the quorum whose members and settings are in `list`, separated by commas.
pub(crate) async fn open(list: &str) -> Result<Arc<dyn Store>, Fault> {
    let mut options = QuorumOptions::new();
    let mut members = Vec::new();
    for part in parts(list) {
        match setting(part, options.clone())? {
            Some(with) => options = with,
            None => members.push(member(part, members.len() + 1)?),
        }
    }
    Ok(Arc::new(QuorumStore::open(members, options).await?))
}

/// The URLs of the members in `list`.
pub(crate) fn members(list: &str) -> impl Iterator<Item = String> {
    let is_member = |part: &&str| matches!(setting(part, QuorumOptions::new()), Ok(None));
    parts(list).filter(is_member).map(|part| part.replace("%2C", ","))
}

/// Opens one member. It is no error if the member cannot be reached now: a minority may be missing.
fn member(url: &str, number: usize) -> Result<Arc<dyn Store>, Fault> {
    match url.split(':').next().unwrap_or_default() {
        "memory" => Ok(Arc::new(tenure_core::MemoryStore::new())),
        "file" => embedded(&url.trim_start_matches("file:").replace("%2C", ",")),
        // Sentinels are several hosts, so their URL has commas.
        scheme if may_be_member(scheme) && names_several(scheme) => {
            redis_member(&url.replace("%2C", ","))
        }
        scheme if may_be_member(scheme) => redis_member(url),
        _ => Err(unknown(url, number)),
    }
}

/// Checks that a quorum may have such a member.
fn check_member_scheme(url: &str, number: usize) -> Result<(), Fault> {
    match url.split(':').next().unwrap_or_default() {
        "memory" | "file" => Ok(()),
        scheme if may_be_member(scheme) => Ok(()),
        _ => Err(unknown(url, number)),
    }
}

/// Whether the store reports that it may have lost data: a cluster does not.
fn may_be_member(scheme: &str) -> bool {
    is_redis(scheme) && !is_cluster(scheme)
}

fn is_cluster(scheme: &str) -> bool {
    names_several(scheme) && scheme.ends_with("-cluster")
}

fn unknown(url: &str, number: usize) -> Fault {
    if url.is_empty() {
        let what = format!("member number {number} is empty");
        let help = "set the variable that it comes from, or remove its comma";
        return Fault::new(FaultKind::Misconfigured, what, help);
    }
    let what = match shown_member(url).as_str() {
        // It may be part of a password.
        HIDDEN => format!("member number {number} cannot be a member of a quorum"),
        shown => format!("{shown:?} cannot be a member of a quorum"),
    };
    let scheme = url.split(':').next().unwrap_or_default();
    let help = if scheme == "zookeeper" {
        "name the ensemble without quorum: in front: a majority of its own servers keeps a lock"
    } else if is_cluster(scheme) {
        "name one server, or a service behind sentinels, for each member: a cluster does not \
         report each failover"
    } else {
        "write quorum:redis://a,redis://b,redis://c, and a comma that is part of a URL as %2C"
    };
    Fault::new(FaultKind::Misconfigured, what, help)
}

/// The value of a setting among the members.
fn value<T>(setting: &str, parsed: Result<T, ValueError>) -> Result<T, Fault> {
    parsed.map_err(|error| {
        Fault::new(FaultKind::Misconfigured, format!("{setting} {error:#}"), error.help())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(list: &str) -> Result<Arc<dyn Store>, Fault> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(open(list))
    }

    #[test]
    fn members_and_settings_are_read() {
        let store = outcome(
            "memory:, memory:,memory:,longest_lease=120s,member_limit=50ms,durable_members=yes",
        );
        assert_eq!(store.unwrap().kind(), "quorum");
    }

    #[test]
    fn an_ensemble_that_cannot_be_a_member_is_named_without_its_password() {
        let fault = outcome("memory:,memory:,zookeeper://me:s3ntinel@a:2181/locks").unwrap_err();
        let said = format!("{fault:#}");
        assert!(said.contains("zookeeper://me:***@a:2181/locks"), "{said}");
        assert!(said.contains("without quorum:") && !said.contains("s3ntinel"), "{said}");
        let said = format!("{:#}", outcome("memory:,memory:,zookeeper://a:2181").unwrap_err());
        assert!(said.contains("\"zookeeper://a:2181\" cannot be a member"), "{said}");
    }

    #[test]
    fn a_member_that_is_not_shown_is_told_by_its_number() {
        let list = "redis://a,longest_lease=120s,postgres://me:s3ntinel,b/d,redis://c";
        let said = format!("{:#}", outcome(list).unwrap_err());
        assert!(said.contains("member number 2") && !said.contains("s3ntinel"), "{said}");
        let said = find_mistake(list, |_| None).unwrap().to_string();
        assert!(said.contains("member number 2"), "{said}");
    }

    #[test]
    fn what_is_no_quorum_is_refused_without_a_password() {
        for list in [
            "",
            "memory:,memory:",
            "memory:,memory:,quorum:memory:",
            "memory:,memory:,memory:,longest_lease=12",
            "memory:,memory:,memory:,durable_members=perhaps",
            "memory:,memory:,http://me:s3ntinel@host",
        ] {
            let fault = outcome(list).unwrap_err();
            assert_eq!(fault.kind(), FaultKind::Misconfigured, "{list}");
            assert!(!format!("{fault:?} {fault:#}").contains("s3ntinel"), "{fault:#}");
        }
    }
}
