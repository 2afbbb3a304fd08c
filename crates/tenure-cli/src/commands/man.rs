//! `tenure man`: the manual page, made of the same words as `--help`.

use clap::CommandFactory;
use clap_mangen::Man;

use crate::{args::Cli, exit::Failure, output::answer};

pub(super) fn man() -> Result<u8, Failure> {
    let cannot = |error| Failure::Failed(format!("cannot make the manual page: {error}"));
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page).map_err(cannot)?;
    // One page for all: what each subcommand takes follows the overview.
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let name = format!("tenure {}", sub.get_name()).to_uppercase();
        page.extend_from_slice(format!(".SH {name}\n").as_bytes());
        let man = Man::new(sub.clone());
        man.render_description_section(&mut page).map_err(cannot)?;
        man.render_synopsis_section(&mut page).map_err(cannot)?;
        man.render_options_section(&mut page).map_err(cannot)?;
    }
    answer(&String::from_utf8_lossy(&page))?;
    Ok(0)
}
