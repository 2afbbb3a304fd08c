//! Malformed URLs, found before anything is opened, and how to write them.

#[cfg(feature = "embedded")]
use std::path::Path;

use tenure_core::{Fault, FaultKind};
use tenure_url::{is_scheme, nearest};

/// What is wrong with the spelling of `url`, if anything.
pub(crate) fn find_mistake(url: &str) -> Option<Fault> {
    let scheme = crate::urls::stores::split_scheme(url).0;
    if url.trim().is_empty() {
        return Some(wrong("its URL is empty".to_owned(), EMPTY.to_owned()));
    }
    if !is_path(url) && !scheme.split(':').all(is_scheme) {
        return Some(no_url(url));
    }
    match scheme {
        #[cfg(feature = "embedded")]
        "file" => unstable_dir(behind_scheme(url)),
        #[cfg(feature = "redis")]
        scheme if crate::urls::stores::is_redis(scheme) => {
            tenure_redis::RedisOptions::from_url(url).err()
        }
        #[cfg(feature = "zookeeper")]
        "zookeeper" => tenure_zookeeper::ZookeeperOptions::from_url(url).err(),
        #[cfg(feature = "mysql")]
        scheme if crate::urls::stores::is_mysql(scheme) => {
            tenure_mysql::MysqlOptions::from_url(url).err()
        }
        #[cfg(feature = "postgres")]
        scheme if crate::urls::stores::is_postgres(scheme) => {
            tenure_postgres::PostgresOptions::from_url(url).err()
        }
        #[cfg(feature = "quorum")]
        "quorum" => crate::urls::quorum::find_mistake(behind_scheme(url), find_mistake),
        _ => bare_path(url),
    }
}

/// The fault for a text that may be anything, and so is not shown.
fn no_url(text: &str) -> Fault {
    wrong(NO_URL.to_owned(), write_one(text))
}

/// What to write instead of an empty text.
pub(crate) const EMPTY: &str =
    "set the variable that it comes from, or write file: for the embedded store on this machine";
pub(crate) const NO_URL: &str = "it is neither a URL nor the name of a store";

/// What to write instead of such a text.
pub(crate) fn write_one(text: &str) -> String {
    let known = crate::urls::stores::known_schemes();
    let scheme = text.split_once("//").map(|(scheme, _)| format!("{scheme}:"));
    if let Some(scheme) = scheme.filter(|scheme| known.split(", ").any(|one| one == scheme)) {
        return format!("write a colon after the scheme: {scheme}//");
    }
    "write a URL, such as postgres://USER:PASSWORD@HOST/DATABASE or redis://:PASSWORD@HOST; \
     connection strings of key=value pairs are not supported"
        .to_owned()
}

/// Whether a text can be the name of a store, and is certainly not part of a URL.
#[cfg(feature = "config")]
pub(crate) fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
}

#[cfg(any(feature = "embedded", feature = "quorum"))]
fn behind_scheme(url: &str) -> &str {
    url.split_once(':').map_or("", |(_, behind)| behind)
}

/// A path without a scheme.
fn bare_path(url: &str) -> Option<Fault> {
    is_path(url).then(|| {
        let what = format!("{url:?} is a path, not a URL");
        wrong(what, format!("write file:{}", absolute(url)))
    })
}

/// Whether `text` can only be a path.
pub(crate) fn is_path(text: &str) -> bool {
    text.starts_with(['/', '.', '~'])
}

/// The fault for a directory that differs between callers: those that use different ones do not exclude each other.
#[cfg(feature = "embedded")]
fn unstable_dir(dir: &str) -> Option<Fault> {
    if let Some(below) = dir.strip_prefix("//").filter(|below| !below.starts_with('/')) {
        let what = format!("the directory in file:{dir} begins where a URL has its host");
        return Some(wrong(what, format!("write file:{}", absolute(&format!("/{below}")))));
    }
    if dir.is_empty() || Path::new(dir).is_absolute() {
        return None;
    }
    let what = if dir.starts_with('~') {
        format!("no shell expands the ~ in file:{dir}")
    } else {
        format!("the directory in file:{dir} depends on where the program is started")
    };
    Some(wrong(what, format!("write file:{}", absolute(dir))))
}

/// What the writer of a path may have meant, seen from here.
pub(crate) fn absolute(path: &str) -> String {
    let home = std::env::var("HOME").ok().filter(|home| home.starts_with('/'));
    match (path.strip_prefix('~'), home) {
        (Some(below), Some(home)) if below.is_empty() || below.starts_with('/') => home + below,
        (Some(_), _) => "/… with the whole path of that home".to_owned(),
        (None, _) => std::path::absolute(path).map_or_else(
            |_| "/… with the whole path".to_owned(),
            |path| path.display().to_string(),
        ),
    }
}

/// Short names for stores, each with its scheme.
const SHORT: [(&str, &str); 8] = [
    ("cluster", "redis-cluster:"),
    ("local", "file:"),
    ("maria", "mariadb:"),
    ("pg", "postgres:"),
    ("sentinel", "redis-sentinel:"),
    ("sock", "unix:"),
    ("socket", "unix:"),
    ("zk", "zookeeper:"),
];

/// What to write instead of an unknown scheme.
pub(crate) fn use_one_of(scheme: &str, known: &str) -> String {
    let short = SHORT.iter().find(|(short, _)| *short == scheme).map(|(_, meant)| *meant);
    let short = short.filter(|meant| known.split(", ").any(|one| one == *meant));
    let meant = short.or_else(|| nearest(&format!("{scheme}:"), known.split(", ")));
    let meant = meant.map(|meant| format!("did you mean {meant:?}? ")).unwrap_or_default();
    format!("{meant}known: {known}")
}

fn wrong(what: String, help: String) -> Fault {
    Fault::new(FaultKind::Misconfigured, what, help)
}
