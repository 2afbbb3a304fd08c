//! Stores that a program opens by code instead of by a URL.
//!
//! A URL is not suitable for a password from a vault. The options of each store have the settings of its URL. They also
//! take a [`Password`] that is read again at each login, from a file or from your function. [`Tenure::open_with`] opens
//! a store with its options.
//!
//! | store | options |
//! |---|---|
//! | Redis, Valkey | `tenure::redis::RedisOptions` |
//! | PostgreSQL | `tenure::postgres::PostgresOptions` |
//! | MySQL, MariaDB | `tenure::mysql::MysqlOptions` |
//! | ZooKeeper | `tenure::zookeeper::ZookeeperOptions` |
//!
//! ```no_run
//! # #[cfg(feature = "postgres")]
//! # async fn open() -> Result<(), tenure::Error> {
//! use tenure::{Tenure, postgres::{PostgresOptions, TlsMode}};
//!
//! # async fn ask_vault() -> Result<String, std::io::Error> { Ok(String::new()) }
//! let options = PostgresOptions::new([("db.internal", 5432)], "shop")?
//!     .user("locks")
//!     .password_from(ask_vault)           // at each login
//!     .tls_mode(TlsMode::VerifyFull)
//!     .root_certificates_file("/etc/ssl/db.pem")?;
//! let tenure = Tenure::open_with(options).await?;
//! # let _ = tenure;
//! # Ok(())
//! # }
//! ```
//!
//! [`Tenure::open_with`]: crate::Tenure::open_with

pub use tenure_url::{Password, Secret};

/// The options of a store, for [`Tenure::open_with`](crate::Tenure::open_with): those of each store whose feature is
/// enabled.
///
/// This trait is sealed. To use your own store, call [`Tenure::with_store`](crate::Tenure::with_store).
pub trait StoreOptions: opening::Open {}

pub(crate) mod opening {
    use std::sync::Arc;

    use futures_util::future::BoxFuture;
    use tenure_core::{Fault, Store};

    /// What [`StoreOptions`](super::StoreOptions) does.
    pub trait Open: Send {
        /// Returns the store's location, without user and password.
        fn location(&self) -> String;

        /// Opens the store. Fails if it does not answer now.
        fn open(self) -> BoxFuture<'static, Result<Arc<dyn Store>, Fault>>;
    }
}

/// Implements `Open` for a store's options.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis", feature = "zookeeper"))]
macro_rules! opened {
    ($options:ty, $store:ty, $erased:expr) => {
        impl StoreOptions for $options {}

        impl opening::Open for $options {
            fn location(&self) -> String {
                self.location()
            }

            fn open(
                self,
            ) -> futures_util::future::BoxFuture<
                'static,
                Result<std::sync::Arc<dyn tenure_core::Store>, tenure_core::Fault>,
            > {
                Box::pin(async {
                    let store = <$store>::open_with(self).await?;
                    let store: std::sync::Arc<dyn tenure_core::Store> = $erased(store);
                    Ok(store)
                })
            }
        }
    };
}

#[cfg(feature = "mysql")]
opened!(tenure_mysql::MysqlOptions, tenure_mysql::MysqlStore, tenure_mysql::MysqlStore::erased);
#[cfg(feature = "postgres")]
opened!(
    tenure_postgres::PostgresOptions,
    tenure_postgres::PostgresStore,
    tenure_postgres::PostgresStore::erased
);
#[cfg(feature = "redis")]
opened!(tenure_redis::RedisOptions, tenure_redis::RedisStore, std::sync::Arc::new);
#[cfg(feature = "zookeeper")]
opened!(tenure_zookeeper::ZookeeperOptions, tenure_zookeeper::ZookeeperStore, std::sync::Arc::new);
