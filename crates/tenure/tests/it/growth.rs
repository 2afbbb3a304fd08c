//! What programs only read can have a field or a case more one day.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use crate::files::{here, sources};
use syn::{Attribute, Fields, Item, Visibility};

/// Sources of crates that are built against, seen from this crate.
const SOURCES: [&str; 6] = [
    "src",
    "../tenure-core/src",
    "../tenure-proto/src",
    "../../stores/embedded/src",
    "../../stores/redis/src",
    "../../stores/quorum/src",
];

/// Rules for who writes a store: whoever takes them apart has to see each part of them.
const RULES: [&str; 3] =
    ["tenure-proto/src/quorum/", "tenure-proto/src/local/", "tenure-proto/src/queue/state.rs"];

/// What else may be built and taken apart as it is, and why.
const AS_IT_IS: &[(&str, &str)] = &[
    ("queue/ask.rs Ask", "a store heeds each part of it"),
    ("store/mod.rs Capabilities", "a store says each of them on purpose"),
    ("history/event.rs EventEnd", "a writer tells each part of it that it knows"),
    ("history/event.rs StoredEvent", "a store answers each part of it"),
    ("store/history.rs HistoryWrite", "a store heeds each part of it"),
    ("store/history.rs StoredHistory", "a store answers each part of it"),
    ("queue/release.rs Evicted", "a store tells all of whom it hit"),
    ("queue/together.rs Grant", "a store answers each part of it"),
    ("queue/ask.rs Position", "a number, as a store keeps it"),
    ("store/mod.rs Reason", "a store says it in a constant"),
    ("store/mod.rs Reasons", "a store says them in a constant"),
    ("store/slot_records.rs SlotsWrite", "a store heeds each part of it"),
    ("store/slot_records.rs StoredSlots", "a store answers each part of it"),
    ("store/mod.rs Renewal", "a store heeds each part of it, and a quorum passes each on"),
    ("queue/take_over.rs TakeOver", "a store heeds each part of it"),
    ("hold.rs Terms", "a hold is renewed by each of them"),
];

fn may_grow(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("non_exhaustive"))
}

fn has_public(fields: &Fields) -> bool {
    fields.iter().any(|field| matches!(field.vis, Visibility::Public(_)))
}

/// By its name, or because it derives `Error`.
fn is_error(name: &str, attributes: &[Attribute]) -> bool {
    let derives = |attribute: &Attribute| {
        let mut found = false;
        let _ = attribute.parse_nested_meta(|derived| {
            found |= derived.path.segments.last().is_some_and(|last| last.ident == "Error");
            Ok(())
        });
        found
    };
    let mut derived = attributes.iter().filter(|attribute| attribute.path().is_ident("derive"));
    name.ends_with("Error") || derived.any(derives)
}

/// The name, if it is public and can never grow. A lint sees to it that what is called `pub` is public.
fn is_closed(item: &Item) -> Option<String> {
    let (name, vis, attributes, matters) = match item {
        Item::Struct(item) => (&item.ident, &item.vis, &item.attrs, has_public(&item.fields)),
        Item::Enum(item) => {
            let matters = is_error(&item.ident.to_string(), &item.attrs);
            (&item.ident, &item.vis, &item.attrs, matters)
        }
        _ => return None,
    };
    let public = matches!(vis, Visibility::Public(_));
    (public && matters && !may_grow(attributes)).then(|| name.to_string())
}

#[test]
fn what_programs_only_read_can_grow() {
    let mut files = Vec::new();
    for dir in SOURCES {
        files.extend(sources(&here(dir)));
    }
    files.retain(|file| !RULES.iter().any(|rules| file.display().to_string().contains(rules)));
    let mut closed = BTreeMap::new();
    for file in files {
        let source = syn::parse_file(&fs::read_to_string(&file).unwrap()).unwrap();
        let file = file.display().to_string();
        let inside = file.rsplit_once("src/").map_or(&*file, |(_, inside)| inside);
        let names = source.items.iter().filter_map(is_closed);
        closed.extend(names.map(|name| (format!("{inside} {name}"), file.clone())));
    }
    let excused: BTreeSet<_> = AS_IT_IS.iter().map(|(name, _)| *name).collect();
    for (name, file) in &closed {
        assert!(
            excused.contains(name.as_str()),
            "{name} in {file} can never grow: make it #[non_exhaustive], with a constructor if \
             others make it, or say here why not"
        );
    }
    for name in excused {
        assert!(closed.contains_key(name), "{name} needs no excuse any more");
    }
}
