//! `tenure completions`: a script that completes tenure's own command line.

use clap::CommandFactory;

use crate::{
    args::{Cli, Completions},
    exit::Failure,
    output::answer,
};

pub(super) fn completions(args: Completions) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tenure", &mut script);
    answer(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
