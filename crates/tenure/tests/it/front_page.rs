//! What stands at the root of `tenure`: who adds to it does so on purpose, for it stays for years.

use std::{collections::BTreeSet, fs, path::Path};

use syn::{Item, UseTree, Visibility};

/// What programs use, and the modules where the rest is.
const ROOT: &[&str] = &[
    // What is opened, and how.
    "Tenure TenureBuilder Defaults OpenError Examination",
    // The kinds of lock, and what they give.
    "Mutex RwLock Semaphore All Election Latch Leaders Watcher",
    "Guard WriteGuard AllGuard Leadership Handle LockName Token Busy",
    // What goes wrong.
    "AcquireError AllReleaseError Error BadHandle DetachError DowngradeError HandleError",
    "LatchError OnceError InspectError NameError ReleaseError ShutdownError StoreError Fault FaultKind Lost LostReason",
    // #[locked]. The attribute and the module of what is asked under it have one name.
    "locked LockedError",
    // What is looked up, made by hand, or for tests.
    "asking blocking clock config detached entropy error history inspect kinds observe once options reentrant schema store",
    // What is about one store.
    "mysql postgres redis zookeeper",
];

fn names(tree: &UseTree, into: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) => names(&path.tree, into),
        UseTree::Group(group) => group.items.iter().for_each(|tree| names(tree, into)),
        UseTree::Name(name) => drop(into.insert(name.ident.to_string())),
        UseTree::Rename(rename) => drop(into.insert(rename.rename.to_string())),
        UseTree::Glob(_) => drop(into.insert("*".to_owned())),
    }
}

#[test]
fn the_root_has_what_programs_use_and_no_more() {
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    let lib = syn::parse_file(&fs::read_to_string(lib).unwrap()).unwrap();
    let mut found = BTreeSet::new();
    for item in &lib.items {
        match item {
            Item::Use(item) if matches!(item.vis, Visibility::Public(_)) => {
                names(&item.tree, &mut found);
            }
            Item::Mod(item) if matches!(item.vis, Visibility::Public(_)) => {
                found.insert(item.ident.to_string());
            }
            Item::Use(_) | Item::Mod(_) => {}
            _ => panic!("the root re-exports, and defines nothing of its own"),
        }
    }
    let meant: BTreeSet<_> =
        ROOT.iter().flat_map(|line| line.split(' ')).map(str::to_owned).collect();
    let new: Vec<_> = found.difference(&meant).collect();
    let gone: Vec<_> = meant.difference(&found).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "new at the root: {new:?}, gone: {gone:?}; is it what programs use, or has it a module?"
    );
}
