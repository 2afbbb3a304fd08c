//! Options for a PostgreSQL database that a program opens by code.
//!
//! ```no_run
//! # async fn open() -> Result<(), tenure::Error> {
//! use tenure::{Tenure, postgres::PostgresOptions};
//!
//! let options = PostgresOptions::new([("db.internal", 5432)], "shop")?
//!     .user("locks")
//!     .password_file("/run/secrets/db")?; // read again at each login
//! let tenure = Tenure::open_with(options).await?;
//! # let _ = tenure;
//! # Ok(())
//! # }
//! ```

pub use tenure_postgres::{PostgresOptions, TlsMode};
