//! The common syntax of the URLs of all stores of tenure.
//!
//! A store describes its URLs with a [`Dialect`] and parses one with [`Dialect::read`]. It takes each setting that it
//! knows, and then calls [`Settings::finish`], which refuses the rest.
//!
//! ```
//! use tenure_url::Dialect;
//!
//! const DIALECT: Dialect = Dialect {
//!     store: "Example",
//!     schemes: &["example"],
//!     example: "example://host1,host2/path?timeout=2s",
//! };
//!
//! let mut url = DIALECT.read("example://me:pa%40ss@a,[::1]:7000/shop?timeout=1m30s")?;
//! assert_eq!(url.servers(80)?, [("a".to_owned(), 80), ("::1".to_owned(), 7000)]);
//! assert_eq!(url.password.as_ref().map(|password| password.expose()), Some("pa@ss"));
//! assert_eq!(url.settings.duration("timeout")?.map(|timeout| timeout.as_secs()), Some(90));
//! url.settings.finish()?;
//!
//! let mut url = DIALECT.read("example://me:secret@a?timeot=2s")?;
//! url.settings.duration("timeout")?;
//! let said = format!("{:#}", url.settings.finish().unwrap_err());
//! assert!(said.contains("unknown setting \"timeot\"; did you mean \"timeout\"?"));
//! # Ok::<(), tenure_core::Fault>(())
//! ```

mod dialect;
mod grammar;
mod nearest;
mod password;
mod pem;
mod percent;
mod redact;
mod secret;
mod secret_file;
mod setters;
mod settings;
#[cfg(feature = "tls")]
mod tls;
mod values;

pub use dialect::Dialect;
pub use grammar::{Host, Url};
pub use nearest::nearest;
pub use password::Password;
pub use pem::{Certificates, Pem};
pub use redact::{SECRETS, has_password, is_scheme, without_password};
pub use secret::Secret;
pub use settings::Settings;
#[doc(hidden)]
pub use tenure_core::Fault;
pub use values::{ValueError, duration, retention, yes_no};
