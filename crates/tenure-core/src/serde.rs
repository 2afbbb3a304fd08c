//! Implementations of serde's traits for names and for a store's data. The words are those of `tenure --json`.

use serde_core::{
    Deserialize, Deserializer, Serialize, Serializer,
    ser::{SerializeSeq, SerializeStruct},
};
use tenure_proto::{queue::Snapshot, serde::from_text};

use crate::{
    LockName,
    store::{Diagnostic, Listing, Severity},
};

impl Serialize for LockName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for LockName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, "the name of a lock")
    }
}

impl Serialize for Severity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Severity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, "a severity")
    }
}

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Diagnostic", 5)?;
        fields.serialize_field("severity", &self.severity)?;
        fields.serialize_field("what", &self.what)?;
        fields.serialize_field("found", &self.found)?;
        fields.serialize_field("promise", &self.promise)?;
        fields.serialize_field("help", &self.help)?;
        fields.end()
    }
}

impl Serialize for Listing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Listing", 3)?;
        fields.serialize_field("names", &NamedSnapshots(&self.names))?;
        fields.serialize_field("more", &self.more)?;
        fields.serialize_field("missing", &self.missing)?;
        fields.end()
    }
}

struct NamedSnapshots<'a>(&'a [(LockName, Snapshot)]);

impl Serialize for NamedSnapshots<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut names = serializer.serialize_seq(Some(self.0.len()))?;
        self.0
            .iter()
            .try_for_each(|(name, seen)| names.serialize_element(&NamedSnapshot(name, seen)))?;
        names.end()
    }
}

/// A snapshot together with the name that it is of.
struct NamedSnapshot<'a>(&'a LockName, &'a Snapshot);

impl Serialize for NamedSnapshot<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(name, seen) = self;
        let mut fields = serializer.serialize_struct("Named", 3)?;
        fields.serialize_field("name", name)?;
        fields.serialize_field("holders", &seen.holders)?;
        fields.serialize_field("waiters", &seen.waiters)?;
        fields.end()
    }
}
