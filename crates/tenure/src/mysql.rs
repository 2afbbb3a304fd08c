//! Options for a MySQL or MariaDB database that a program opens by code.
//!
//! ```no_run
//! # async fn open() -> Result<(), tenure::Error> {
//! use tenure::{Tenure, mysql::MysqlOptions};
//!
//! let options = MysqlOptions::new([("db.internal", 3306)], "shop")?
//!     .user("locks")
//!     .password_file("/run/secrets/db")?; // read again at each login
//! let tenure = Tenure::open_with(options).await?;
//! # let _ = tenure;
//! # Ok(())
//! # }
//! ```

pub use tenure_mysql::{MysqlOptions, TlsMode};
