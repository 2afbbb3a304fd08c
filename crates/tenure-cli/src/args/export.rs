//! `tenure export`.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use tenure_core::NamePattern;

use super::values::{address, pattern};

#[derive(Args, Debug)]
pub(crate) struct Export {
    /// Export the locks whose names match; * stands for any characters; may be given up to 16 times
    ///
    /// At most 100 names are exported, the first in order. The others are counted.
    #[arg(long, value_name = "PATTERN", required = true, value_parser = pattern)]
    pub(crate) names: Vec<NamePattern>,
    /// Serve the metrics at http://ADDRESS/metrics until a signal comes
    ///
    /// Shows names and labels to everybody who can reach the address.
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:9464",
        value_parser = address,
        conflicts_with_all = ["once", "file"]
    )]
    pub(crate) listen: SocketAddr,
    /// Print the metrics once, and serve nothing
    #[arg(long, conflicts_with = "file")]
    pub(crate) once: bool,
    /// Write the metrics once into FILE, for node_exporter's textfile collector, and serve nothing
    ///
    /// Replaces FILE in one step. Keeps the metrics of other programs in it.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}
