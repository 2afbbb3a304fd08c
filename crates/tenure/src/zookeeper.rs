//! Options for a ZooKeeper ensemble that a program opens by code.
//!
//! ```no_run
//! # async fn open() -> Result<(), tenure::Error> {
//! use tenure::{Tenure, zookeeper::ZookeeperOptions};
//!
//! let options = ZookeeperOptions::new([("a", 2181), ("b", 2181), ("c", 2181)])?.base("/locks")?;
//! let tenure = Tenure::open_with(options).await?;
//! # let _ = tenure;
//! # Ok(())
//! # }
//! ```

pub use tenure_zookeeper::ZookeeperOptions;
