//! `tenure completions`: a script that completes tenure's own command line.

use crate::{args::Completions, completing::script, exit::Failure, output::write_answer};

pub(super) fn completions(args: &Completions) -> Result<u8, Failure> {
    write_answer(&script::of(args.shell))?;
    Ok(0)
}
