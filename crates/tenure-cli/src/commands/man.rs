//! `tenure man`: the manual pages.

use tenure_core::plain::plain;

use crate::{
    args::{self, Cli},
    exit::Failure,
    output::{Reporter, json, write_answer},
    pages::{folder, roff},
};

pub(super) fn man(args: &args::Man, voice: &Reporter) -> Result<u8, Failure> {
    let Some(dir) = &args.dir else {
        write_answer(&roff::one_page(Cli::documented()))?;
        return Ok(0);
    };
    let pages = roff::pages(Cli::documented());
    folder::write(dir, &pages)?;
    if voice.is_json() {
        write_answer(&json::pages(dir, pages.iter().map(|page| page.name.as_str())))?;
    } else if !voice.is_quiet() {
        let dir = plain(&dir.display().to_string());
        write_answer(&format!("wrote {} pages into {dir}", pages.len()))?;
    }
    Ok(0)
}
