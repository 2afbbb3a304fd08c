//! **tenure**: a distributed lock for Rust programs.
//!
//! This is the crate that you add to a program. Everything documented here is public.
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
//! guard.run(async { println!("paying") }).await?;            // stops when the lock is lost
//! guard.release().await?;                                    // dropping it releases in the background
//! # Ok::<(), tenure::Error>(())
//! # }).unwrap();
//! ```
//!
//! # A function that runs only under its lock
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
//! # Work that one process does and the others skip
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let tenure = tenure::Tenure::open("memory:").await?;
//! let Some(guard) = tenure.mutex("nightly").try_lock().await? else {
//!     return Ok(());                                         // another process does it
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
//! A lock with a lease cannot stop work that is already under way elsewhere. So every guard has a fencing [`Token`]
//! that is greater than all before it. Let the resource refuse a token smaller than one it has seen.
//! [docs/guarantees.md](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md) lists what tenure promises,
//! and under which assumptions.
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
//! Programs without `async` use the module [`blocking`].
//!
//! # Runtime
//!
//! Locks work on any executor. On tokio they use the runtime in which they are called. It must have timers and I/O
//! (`enable_all`, as `#[tokio::main]` has). On other executors, tenure's own thread runs the timers and the
//! connections. Renewals run on that thread in either case. Your program needs the crate tokio only if it uses tokio
//! itself.
//!
//! # Modules
//!
//! The root has what programs use most. [`Tenure::list`], [`Tenure::watch`] and [`Tenure::evict`] are for operators.
//! The rest is in modules:
//!
//! - [`inspect`](mod@inspect): the state of a lock, as you inspect it
//! - [`store`]: a store's capabilities and health
//! - [`once`]: work that is done once in each slot of a schedule
//! - [`kinds`]: the futures of each kind of lock
//! - [`error`]: the parts of errors
//! - [`options`]: stores that a program opens by code, with passwords from a vault
//! - `redis`, `postgres`, `mysql` and `zookeeper`: items for one store alone
//! - `schema`: the tables of the stores on databases
//! - [`clock`]: clocks for tests
//!
//! To write your own store, use the crate `tenure-core`.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `config` | yes | `Tenure::from_env()`: a store and settings from a configuration file and environment variables |
//! | `cron` | no | `once::Cron`: work once per slot of a cron pattern, in a time zone |
//! | `embedded` | yes | `file:` URLs: several processes on one machine, without a server |
//! | `macros` | yes | the attribute [`#[locked]`](macro@locked) |
//! | `redis` | no | `redis:` and `unix:` URLs: one Redis or Valkey server |
//! | `quorum` | no | `quorum:` URLs: a majority of several independent stores |
//! | `mysql` | no | `mysql:` and `mariadb:` URLs: a MySQL or MariaDB database |
//! | `mysql-tls` | no | the same over TLS |
//! | `postgres` | no | `postgres:` URLs: a PostgreSQL database |
//! | `postgres-tls` | no | the same over TLS |
//! | `zookeeper` | no | `zookeeper:` URLs: a ZooKeeper ensemble, shared with Curator |
//! | `zookeeper-tls`, `zookeeper-sasl` | no | the same over TLS, and with a SASL login |
//! | `serde` | no | serde reads and writes names and tokens, and writes the state of locks and stores |
//! | `redis-tls` | no | `rediss:`, `rediss-sentinel:` and `rediss-cluster:` URLs: the same over TLS |

// Shows on docs.rs which feature each item needs.
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
pub mod once;
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
    OnceError, ReleaseError, RwLock, Semaphore, ShutdownError, StoreError, Token, Watcher,
    WriteGuard, asking, clock, detached, entropy, error, history, kinds, observe,
};
#[cfg(feature = "macros")]
pub use tenure_macros::locked;
pub use urls::examination::Examination;

/// Compiles the examples of the pages as doctests. `tests/it/readme.rs` runs the README's programs, and
/// `tests/it/testing.rs` those of the page on testing.
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

    #[doc = include_str!("../../../docs/once.md")]
    struct Once;

    #[doc = include_str!("../../../docs/history.md")]
    struct History;

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

    #[cfg(feature = "redis")]
    #[doc = include_str!("../../../docs/together.md")]
    struct Together;

    #[cfg(all(feature = "macros", feature = "redis"))]
    #[doc = include_str!("../../../docs/testing.md")]
    struct Testing;
}
