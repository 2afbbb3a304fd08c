//! The libraries whose locks tenure shares, and what each has.

/// A library with a lock of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Library {
    RedisPy,
    Redsync,
    BsmRedislock,
    NodeRedlock,
    SpringSpin,
    SpringPubSub,
    Redisson(Version, Kind),
}

/// A version of Redisson.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    /// Of 2025, the last one before its fourth version.
    V3_52,
    V4_7,
}

/// A kind of lock of Redisson.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Lock,
    Spin,
    /// Since 4.4.
    NonReentrant,
    Fenced,
    Fair,
    Read,
    Write,
    /// The lock of a name, and that of the name with `:too` behind it.
    Multi,
}

/// The language that its program is written in, and which one of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Language {
    Python,
    Go,
    Node,
    Java,
    Redisson(Version),
}

impl Library {
    /// What its program knows it by.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::RedisPy => "redis-py",
            Self::Redsync => "redsync",
            Self::BsmRedislock => "redislock",
            Self::NodeRedlock => "node-redlock",
            Self::SpringSpin => "spring-spin",
            Self::SpringPubSub => "spring-pub-sub",
            Self::Redisson(_, kind) => match kind {
                Kind::Lock => "redisson",
                Kind::Spin => "redisson-spin",
                Kind::NonReentrant => "redisson-non-reentrant",
                Kind::Fenced => "redisson-fenced",
                Kind::Fair => "redisson-fair",
                Kind::Read => "redisson-read",
                Kind::Write => "redisson-write",
                Kind::Multi => "redisson-multi",
            },
        }
    }

    /// The settings by which tenure shares its locks.
    pub(super) const fn settings(self) -> &'static str {
        match self {
            Self::SpringPubSub => "layout=plain&unlock_channel=stock-channel:*",
            Self::Redisson(_, Kind::Fenced) => "layout=redisson&tokens=fenced",
            Self::Redisson(..) => "layout=redisson",
            _ => "layout=plain",
        }
    }

    /// What tenure calls its holders, or how that begins.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Redisson(..) => "(Redisson) ",
            _ => "(another library)",
        }
    }

    /// Whether all holds of one of its processes have the same value.
    pub(super) const fn has_one_value(self) -> bool {
        matches!(self, Self::SpringSpin | Self::SpringPubSub | Self::Redisson(..))
    }

    /// Whether its holders have tokens, of one series with those of tenure.
    pub(super) const fn has_tokens(self) -> bool {
        matches!(self, Self::Redisson(_, Kind::Fenced))
    }

    /// Whether it is shared with the right to write of tenure, not with a mutex.
    pub(super) const fn is_write(self) -> bool {
        matches!(self, Self::Redisson(_, Kind::Write))
    }

    pub(super) const fn language(self) -> Language {
        match self {
            Self::RedisPy => Language::Python,
            Self::Redsync | Self::BsmRedislock => Language::Go,
            Self::NodeRedlock => Language::Node,
            Self::SpringSpin | Self::SpringPubSub => Language::Java,
            Self::Redisson(version, _) => Language::Redisson(version),
        }
    }
}

impl Version {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::V3_52 => "3.52.0",
            Self::V4_7 => "4.7.0",
        }
    }
}

impl Language {
    /// Where its program is.
    pub(super) const fn folder(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Go => "go",
            Self::Node => "node",
            Self::Java => "java",
            Self::Redisson(_) => "redisson",
        }
    }

    /// Where it is built.
    pub(super) fn build_folder(self) -> String {
        match self {
            Self::Redisson(version) => format!("redisson-{}", version.text()),
            _ => self.folder().to_owned(),
        }
    }

    pub(super) const fn is_jvm(self) -> bool {
        matches!(self, Self::Java | Self::Redisson(_))
    }
}
