//! Who takes part.

use std::{fs, path::Path};

/// What a lock is kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    Redis,
    Files,
}

/// What its program is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Language {
    /// This very program.
    Own,
    Rust,
    Go,
    Node,
    Python,
    Java,
}

impl Language {
    /// Its folder, and how it is called.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Own => "tenure",
            Self::Rust => "rust",
            Self::Go => "go",
            Self::Node => "node",
            Self::Python => "python",
            Self::Java => "java",
        }
    }

    /// The file with the exact versions.
    pub(crate) fn manifest(self) -> &'static str {
        match self {
            Self::Own | Self::Rust => "Cargo.toml",
            Self::Go => "go.mod",
            Self::Node => "package.json",
            Self::Python => "requirements.txt",
            Self::Java => "pom.xml",
        }
    }
}

/// One way to lock.
#[derive(Debug)]
pub(crate) struct Contestant {
    /// As in tables, and for `--only`.
    pub(crate) name: &'static str,
    /// What its program calls it.
    pub(crate) who: &'static str,
    pub(crate) language: Language,
    pub(crate) keeps: Keeps,
    /// How its manifest calls it, before the version; nothing if it is the system's own.
    pub(crate) package: &'static str,
    /// Whether each hold has a number that rises.
    pub(crate) token: bool,
    /// Whether it renews what is held by itself.
    pub(crate) renews: bool,
    /// How it is used.
    pub(crate) used: &'static str,
}

const fn redis(
    name: &'static str,
    who: &'static str,
    language: Language,
    package: &'static str,
) -> Contestant {
    let used = "";
    Contestant {
        name,
        who,
        language,
        package,
        keeps: Keeps::Redis,
        token: false,
        renews: false,
        used,
    }
}

const fn files(name: &'static str, language: Language, package: &'static str) -> Contestant {
    Contestant { keeps: Keeps::Files, ..redis(name, name, language, package) }
}

const OWN: Contestant = Contestant {
    token: true,
    renews: true,
    used: "`mutex(name).lock()`: tasks of one process hand it over among themselves",
    ..redis("tenure", "mutex", Language::Own, "version")
};

const REDISSON: Contestant = Contestant {
    renews: true,
    used: "`getLock`, a thread for each task, the default pool",
    ..redis("Redisson", "Redisson", Language::Java, "redisson.version")
};

/// All of them; tenure first.
pub(crate) const ALL: &[Contestant] = &[
    OWN,
    Contestant {
        name: "tenure fair",
        who: "fair",
        used: "`mutex(name).fair()`: every waiter in one queue on the server",
        ..OWN
    },
    Contestant {
        name: "tenure permit",
        who: "permit",
        used: "`semaphore(name, 1).acquire()`",
        ..OWN
    },
    REDISSON,
    Contestant {
        name: "Redisson fenced",
        who: "Redisson-fenced",
        token: true,
        used: "`getFencedLock`, `lockAndGetToken`",
        ..REDISSON
    },
    Contestant { name: "Redisson fair", who: "Redisson-fair", used: "`getFairLock`", ..REDISSON },
    Contestant {
        renews: true,
        used: "`KeyMajority` 1 and `NoLoopTracking`, as its README says for one server; `TryNextAfter` 5 s, because \
               it waits for ever if an answer takes longer, and the default of 20 ms is too short for some works here",
        ..redis("rueidislock", "rueidislock", Language::Go, "github.com/redis/rueidis")
    },
    Contestant {
        used: "over go-redis with its default pool; up to 32 tries, 50 to 250 ms apart",
        ..redis("redsync", "redsync", Language::Go, "github.com/go-redsync/redsync/v4")
    },
    Contestant {
        used: "over go-redis with its default pool; `LinearBackoff` of 100 ms",
        ..redis("redislock", "redislock", Language::Go, "github.com/bsm/redislock")
    },
    Contestant {
        renews: true,
        used: "over one ioredis; up to 10 retries, 200 to 300 ms apart; holds by `using`",
        ..redis("node redlock", "redlock", Language::Node, "@sesamecare-oss/redlock")
    },
    Contestant {
        used: "asyncio, one client with its pool; polls every 100 ms",
        ..redis("redis-py", "redis-py", Language::Python, "redis=")
    },
    Contestant {
        renews: true,
        used: "one manager; tries again after up to 200 ms until it succeeds; holds by `using`",
        ..redis("rslock", "rslock", Language::Rust, "rslock")
    },
    Contestant {
        renews: true,
        used: "one manager; polls every 100 ms",
        ..redis("rlock", "rlock", Language::Rust, "rlock")
    },
    Contestant {
        name: "tenure embedded",
        keeps: Keeps::Files,
        used: "`Tenure::open(\"file:…\")`, `mutex(name).lock()`",
        ..OWN
    },
    Contestant { used: "the file opened each time", ..files("fs4", Language::Rust, "fs4") },
    Contestant { used: "the file kept open", ..files("fd-lock", Language::Rust, "fd-lock") },
    Contestant {
        used: "the call itself, the file opened each time",
        ..files("flock(2)", Language::Rust, "")
    },
    Contestant {
        used: "the command, a process for each acquisition",
        ..files("flock(1)", Language::Rust, "")
    },
    Contestant {
        used: "a `FileLock` for each thread; polls every 50 ms",
        ..files("filelock", Language::Python, "filelock")
    },
];

impl Contestant {
    /// Whether it is renewed by what renews another one here.
    pub(crate) fn renewed_as_another(&self) -> bool {
        matches!(self.who, "fair" | "permit" | "Redisson-fenced" | "Redisson-fair")
    }

    /// The version that its manifest names.
    pub(crate) fn version(&self, root: &Path) -> Option<String> {
        if self.package.is_empty() {
            return None;
        }
        let manifest = match self.language {
            Language::Own => root.join("Cargo.toml"),
            other => root.join("bench/peers").join(other.name()).join(other.manifest()),
        };
        let manifest = fs::read_to_string(manifest).ok()?;
        let starts =
            |line: &&str| line.trim_start_matches([' ', '\t', '"', '<']).starts_with(self.package);
        let line = manifest.lines().find(starts)?;
        let rest = line.split_once(self.package)?.1;
        let digits = rest.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        let end = digits.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        Some(digits[..end.unwrap_or(digits.len())].to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_every_contestant_stands_in_its_manifest() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for contestant in ALL.iter().filter(|each| !each.package.is_empty()) {
            let version = contestant.version(&root).unwrap_or_default();
            assert!(version.contains('.'), "{}: {version:?}", contestant.name);
        }
    }
}
