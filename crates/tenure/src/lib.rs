//! **tenure**: the distributed lock that engineers can trust with money.
//!
//! This is the crate that programs add: all that is documented here is public.
//!
//! # A lock around work
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let url = "memory:";
//! use tenure::Tenure;
//!
//! let tenure = Tenure::open(url).await?;                    // "" is the default directory on this machine
//! let guard = tenure.mutex("order:pay:42").lock().await?;    // waits; the lease is renewed while it lives
//! guard.run(async { println!("paying") }).await?;            // stops where the lock is lost
//! guard.release().await?;                                    // dropping it releases in the background
//! # Ok::<(), tenure::Error>(())
//! # }).unwrap();
//! ```
//!
//! # A function that cannot run without its lock
//!
//! ```
//! # #[cfg(feature = "macros")] tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use tenure::{Error, Tenure, locked};
//!
//! #[locked(key = "order:pay:{order}", wait = "5s")]
//! async fn pay(order: u64) -> Result<(), Error> {
//!     println!("paying {order}");
//!     Ok(())
//! }
//!
//! locked::set_default(Tenure::open("memory:").await?)?;      // once, at the start of `main`
//! pay(42).await?;
//! # Ok::<(), Error>(())
//! # }).unwrap();
//! ```
//!
//! # Work that one of many does, and the others skip
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let tenure = tenure::Tenure::open("memory:").await?;
//! let Some(guard) = tenure.mutex("nightly").try_lock().await? else {
//!     return Ok(());                                         // somebody else does it
//! };
//! println!("cleaning up");
//! guard.release().await?;
//! # Ok::<(), tenure::Error>(())
//! # }).unwrap();
//! ```
//!
//! # A leader
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let tenure = tenure::Tenure::open("memory:").await?;
//! let leading = tenure.election("scheduler").campaign().await?; // waits until it leads
//! leading.run(async { println!("leading term {}", leading.term()) }).await?;
//! leading.resign().await?;
//! # Ok::<(), tenure::Error>(())
//! # }).unwrap();
//! ```
//!
//! # A late write that the resource refuses
//!
//! A lock with a lease cannot stop work that is already under way somewhere else. So every guard has a fencing
//! [`Token`], greater than all before it: let the resource refuse a smaller one than it has seen. What is promised, and
//! under which assumption, stands in
//! [docs/guarantees.md](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md).
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let tenure = tenure::Tenure::open("memory:").await?;
//! use tenure::Token;
//!
//! /// UPDATE account SET balance = …, token = $1 WHERE id = 7 AND token <= $1
//! fn write(seen: &mut Option<Token>, token: Token) -> bool {
//!     let is_late = seen.is_some_and(|seen| token < seen);
//!     if !is_late {
//!         *seen = Some(token);
//!     }
//!     !is_late
//! }
//!
//! let mut seen = None;
//! let first = tenure.mutex("account:7").lock().await?;
//! let late = first.token();
//! first.release().await?;
//! let second = tenure.mutex("account:7").lock().await?;
//! assert!(write(&mut seen, second.token()));
//! assert!(!write(&mut seen, late));
//! # Ok::<(), tenure::Error>(())
//! # }).unwrap();
//! ```
//!
//! Programs without `async` use [`blocking`].
//!
//! # Runtime
//!
//! Locks work on any executor. On tokio they use the runtime that they are asked in, which has to have
//! timers and I/O (`enable_all`, as `#[tokio::main]` has). Elsewhere a thread of tenure's own keeps the time
//! and the connections. That thread renews what is held in either case. A program needs the crate tokio
//! only if it is written for it.
//!
//! # Where things are
//!
//! The root has what programs use. What inspecting a lock shows is in [`inspect`](mod@inspect), what a store can do and
//! how it is in [`store`], the futures of the kinds in [`kinds`], the parts of errors in [`error`]. [`Tenure::list`],
//! [`Tenure::watch`] and [`Tenure::evict`] are for operators. Stores that a program opens by code, with passwords from a
//! vault, are in [`options`]; what is about one store alone is in `redis`, `postgres`, `mysql` and `zookeeper`, the
//! tables of databases in `schema`. The clocks of tests are in [`clock`]. To write a store you build on the crate
//! `tenure-core`.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `config` | yes | `Tenure::from_env()`: a store and settings from a file and from variables |
//! | `embedded` | yes | `file:` URLs: several processes on one machine, no server |
//! | `macros` | yes | the attribute [`#[locked]`](macro@locked) |
//! | `redis` | no | `redis:` and `unix:` URLs: one Redis or Valkey server |
//! | `quorum` | no | `quorum:` URLs: a majority of several independent stores |
//! | `mysql` | no | `mysql:` and `mariadb:` URLs: a MySQL or MariaDB database |
//! | `mysql-tls` | no | the same over TLS |
//! | `postgres` | no | `postgres:` URLs: a PostgreSQL database |
//! | `postgres-tls` | no | the same over TLS |
//! | `zookeeper` | no | `zookeeper:` URLs: a ZooKeeper ensemble, shared with Curator |
//! | `zookeeper-tls`, `zookeeper-sasl` | no | the same over TLS, and with a login by SASL |
//! | `serde` | no | names and tokens read and written by serde, and what is shown of locks and stores written |
//! | `redis-tls` | no | `rediss:`, `rediss-sentinel:` and `rediss-cluster:` URLs: the same over TLS |

// Says of each item which feature it takes, on docs.rs.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod blocking;
#[cfg(feature = "config")]
pub mod config;
mod examine;
#[cfg(feature = "config")]
mod from_config;
pub mod inspect;
#[cfg(feature = "macros")]
pub mod locked;
#[cfg(feature = "mysql")]
pub mod mysql;
mod names;
mod open;
pub mod options;
mod oversight;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
pub mod reentrant;
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub mod schema;
pub mod store;
mod tenure;
mod urls;
#[cfg(feature = "zookeeper")]
pub mod zookeeper;

pub use self::tenure::{Tenure, TenureBuilder};
#[cfg(feature = "macros")]
pub use locked::LockedError;
pub use open::OpenError;
pub use tenure_core::{
    AcquireError, All, AllGuard, AllReleaseError, BadHandle, Busy, Defaults, DetachError,
    DowngradeError, Election, Error, Fault, FaultKind, Guard, Handle, HandleError, InspectError,
    Latch, LatchError, Leaders, Leadership, LockName, Lost, LostReason, Mutex, NameError,
    ReleaseError, RwLock, Semaphore, ShutdownError, StoreError, Token, Watcher, WriteGuard, clock,
    detached, entropy, error, kinds, observe,
};
#[cfg(feature = "macros")]
pub use tenure_macros::locked;
pub use urls::examination::Examination;

/// What the pages show is compiled with the tests. `tests/it/readme.rs` runs the README's programs,
/// `tests/it/testing.rs` what the page on testing shows.
#[cfg(doctest)]
mod pages {
    #[cfg(feature = "macros")]
    #[doc = include_str!("../../../README.md")]
    struct Readme;

    #[cfg(feature = "macros")]
    #[doc = include_str!("../../tenure-macros/src/locked.md")]
    struct Locked;

    #[doc = include_str!("../../../docs/handles.md")]
    struct Handles;

    #[doc = include_str!("../../../docs/kinds.md")]
    struct Kinds;

    #[cfg(feature = "macros")]
    #[doc = include_str!("../../../docs/errors.md")]
    struct Errors;

    #[cfg(feature = "quorum")]
    #[doc = include_str!("../../../docs/stores/quorum.md")]
    struct Quorum;

    #[doc = include_str!("../../../docs/stores/mysql.md")]
    struct Mysql;

    #[doc = include_str!("../../../docs/stores/postgres.md")]
    struct Postgres;

    #[doc = include_str!("../../../docs/stores/redis.md")]
    struct Redis;

    #[cfg(all(feature = "macros", feature = "redis"))]
    #[doc = include_str!("../../../docs/testing.md")]
    struct Testing;
}
