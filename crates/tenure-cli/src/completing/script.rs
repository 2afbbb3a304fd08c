//! The scripts: what clap writes, and the call for names.

use clap_complete::Shell;

use crate::args::Cli;

const BASH: &str = include_str!("names.bash");
const ZSH: &str = include_str!("names.zsh");
const FISH: &str = include_str!("names.fish");

/// How a script of zsh begins its work, and what it then notes: which words there were, before it takes
/// them apart.
const ZSH_BEGIN: &str = "_tenure() {\n";
const ZSH_NOTES: &str =
    "    local -a tenure_words=(\"${words[@]}\")\n    local tenure_at=$CURRENT\n";
/// What it does where clap does not know what belongs there.
const ZSH_ANYTHING: &str = ":_default'";

/// What a shell has to read.
pub(crate) fn of(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::documented(), "tenure", &mut script);
    let script = String::from_utf8_lossy(&script);
    match shell {
        Shell::Bash => format!("{script}{BASH}"),
        Shell::Fish => format!("{script}{FISH}"),
        Shell::Zsh => zsh(&script),
        _ => script.into_owned(),
    }
}

fn zsh(script: &str) -> String {
    let begun = script.replacen(ZSH_BEGIN, &format!("{ZSH}{ZSH_BEGIN}{ZSH_NOTES}"), 1);
    let lines = begun.lines().map(|line| {
        let named = ["':name -- ", "'::name -- ", "'::prefix -- ", "--store=[", "--all=["];
        if named.iter().any(|piece| line.contains(piece)) {
            // A name that may be left out is one nevertheless, and not the command behind it.
            line.replace(ZSH_ANYTHING, ":_tenure_names'").replacen("'::name", "':name", 1)
        } else {
            line.to_owned()
        }
    });
    lines.map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zsh_asks_for_names_wherever_they_belong() {
        let script = of(Shell::Zsh);
        let asks = script.lines().filter(|line| line.contains(":_tenure_names'"));
        let of = |piece: &str| asks.clone().filter(|line| line.contains(piece)).count();
        // The two others are of renew and unlock, which take none: there tenure knows of none.
        assert_eq!(
            of("':name"),
            8 + 2,
            "run, hold, lock, elect, show, history, ask-release, break"
        );
        assert_eq!((of("'::prefix"), of("*--all=[")), (1, 2));
        assert!(of("--store=[") > 10);
        assert_eq!(script.matches(ZSH_NOTES).count(), 1);
    }
}
