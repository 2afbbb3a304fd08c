//! Serialization for serde, with the names of `tenure --json`. It is written by hand, so that no macros have to be
//! built.

use std::{fmt, marker::PhantomData, str::FromStr, time::Duration};

use serde_core::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Visitor},
    ser::SerializeStruct,
};

use crate::{
    HoldId, Token,
    queue::{Contender, Identity, Kind, Mode, Snapshot, Waiting},
};

/// Reads a value from text, and from nothing else.
///
/// # Errors
/// The errors of the deserializer, and of the value.
pub fn from_text<'de, T, D>(deserializer: D, expected: &'static str) -> Result<T, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    struct Text<T>(&'static str, PhantomData<T>);

    impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Text<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }

    deserializer.deserialize_str(Text(expected, PhantomData))
}

impl Serialize for Token {
    /// Written as text: many readers of JSON keep only 53 bits of a number.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Token {
    /// Read from text only: a number may have lost its last digits on the way, and would still be a valid token.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, "a fencing token as text")
    }
}

impl Serialize for HoldId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HoldId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, "the id of a hold as text")
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, "a kind of lock")
    }
}

impl Serialize for Mode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Exclusive => serializer.serialize_str("exclusive"),
            Self::Shared => serializer.serialize_str("shared"),
            Self::Permits { take, of } => {
                let mut fields = serializer.serialize_struct("Permits", 2)?;
                fields.serialize_field("permits", take)?;
                fields.serialize_field("of", of)?;
                fields.end()
            }
        }
    }
}

fn write_identity<S: SerializeStruct>(identity: &Identity, fields: &mut S) -> Result<(), S::Error> {
    let Identity { host, user, pid, service, operation, reason } = identity;
    fields.serialize_field("host", host)?;
    fields.serialize_field("user", user)?;
    fields.serialize_field("pid", pid)?;
    fields.serialize_field("service", service)?;
    fields.serialize_field("operation", operation)?;
    fields.serialize_field("reason", reason)
}

impl Serialize for Contender {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let millis = |left: Duration| u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        let mut fields = serializer.serialize_struct("Contender", 14)?;
        fields.serialize_field("label", &self.label)?;
        write_identity(&self.identity(), &mut fields)?;
        fields.serialize_field("token", &self.token)?;
        fields.serialize_field("since_us", &self.since)?;
        fields.serialize_field("left_ms", &self.left.map(millis))?;
        fields.serialize_field("kind", &self.kind)?;
        fields.serialize_field("mode", &self.mode)?;
        fields.serialize_field("lingering", &self.lingering)?;
        fields.serialize_field("hold", &self.id)?;
        fields.end()
    }
}

impl Serialize for Waiting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Waiting", 10)?;
        fields.serialize_field("label", &self.label)?;
        write_identity(&self.identity(), &mut fields)?;
        fields.serialize_field("since_us", &self.since)?;
        fields.serialize_field("kind", &self.kind)?;
        fields.serialize_field("mode", &self.mode)?;
        fields.end()
    }
}

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Snapshot", 2)?;
        fields.serialize_field("holders", &self.holders)?;
        fields.serialize_field("waiters", &self.waiters)?;
        fields.end()
    }
}
