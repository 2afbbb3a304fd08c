//! One session with the server, over the driver that the store has.

use mysql_async::{Conn, OptsBuilder};

use crate::failure::Failure;

/// Opens one, over TCP as the store does.
pub(super) async fn open(url: &str) -> Result<Conn, Failure> {
    let opts = OptsBuilder::from_opts(mysql_async::Opts::from_url(url)?);
    Ok(Conn::new(opts.prefer_socket(false)).await?)
}
