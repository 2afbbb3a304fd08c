//! The embedded store of tenure: locks between the processes of one machine, kept in files, without a server.
//!
//! Programs reach it through the crate `tenure`. This crate is public for programs that make the store themselves. Its
//! files are not a public interface.
//!
//! Each name has one small file that holds its [`NameState`](tenure_core::proto::queue::NameState). For each call, a
//! process takes the file's kernel lock for about a microsecond, reads the state, decides, and writes the state back.
//! Kernel locks also show which processes live, so a killed holder is noticed at once. Unix datagrams notify a waiter
//! that it can claim the lock.
//! [docs/stores/embedded-internals.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/embedded-internals.md)
//! describes every byte.
//!
//! ```no_run
//! use tenure_core::Store;
//! use tenure_embedded::EmbeddedStore;
//!
//! let store = EmbeddedStore::open_default()?;
//! println!("locks live in {}", store.location());
//! # Ok::<(), tenure_core::Fault>(())
//! ```

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
compile_error!(
    "tenure's embedded store needs Linux or macOS: it relies on their file locks, their clock \
     that counts suspension and their unix sockets. Turn off the feature `embedded` here and use \
     another store."
);

mod decisions;
mod disk;
mod engine;
mod error;
mod files;
mod from_outside;
mod health;
mod hints;
mod history;
mod housekeeping;
mod inner;
mod machine;
mod members;
mod store;
mod threads;

pub use from_outside::names_in_use;
pub use machine::file_system::FileSystem;
pub use machine::lock_directory::default_dir;
#[doc(hidden)]
pub use machine::{Machine, ThisMachine};
pub use store::EmbeddedStore;
