//! tenure beside its peers, on the same work in the same run: `scripts/bench-peers`.

mod child;
mod contest;
mod install;
mod machine;
mod measure;
mod render;
mod roster;
mod run;
mod server;
mod work;

pub(crate) use contest::contest;

use std::{
    ffi::OsString,
    io::{Write, stdout},
    path::{Path, PathBuf},
};

use clap::Args;

use self::{roster::Contestant, run::Run, work::Work};
use crate::failure::Failure;

/// Runs the peers beside tenure on the same work, interleaved, and tells the figures.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Where the JSON goes [default: target/peers/figures.json].
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Only these contestants, by the beginnings of their names: tenure,rslock.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<String>,
    /// Only these works, by the beginnings of their names: pair,handoff.
    #[arg(long, value_delimiter = ',', value_name = "WORKS")]
    works: Vec<String>,
    /// Measures each for a moment, in one round, to see that it works.
    #[arg(long)]
    quick: bool,
    /// How often each is measured [default: 3]; what takes long is measured once.
    #[arg(long)]
    rounds: Option<usize>,
    /// What the order in each round comes from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The server to start [default: $TENURE_REDIS_SERVER, or redis-server].
    #[arg(long, value_name = "PATH")]
    server: Option<OsString>,
    /// Writes docs/figures.json, the pages and the plots, too.
    #[arg(long)]
    publish: bool,
    /// Measures nothing: makes the pages and plots from docs/figures.json.
    #[arg(long, conflicts_with_all = ["json", "publish", "quick"])]
    render: bool,
    /// Tells contestants and works, and ends.
    #[arg(long)]
    list: bool,
}

/// What was asked for, of all there is.
pub(crate) struct Chosen {
    pub(crate) contestants: Vec<&'static Contestant>,
    pub(crate) works: Vec<&'static Work>,
}

impl Arguments {
    fn chosen(&self) -> Result<Chosen, Failure> {
        let among = |wanted: &[String], name: &str| {
            wanted.is_empty() || wanted.iter().any(|wanted| name.starts_with(wanted.as_str()))
        };
        let contestants: Vec<_> =
            roster::ALL.iter().filter(|each| among(&self.only, each.name)).collect();
        // As much as it is, it is no moment.
        let short = |name: &str| !self.quick || !self.works.is_empty() || !name.starts_with("hold");
        let works = work::ALL.iter().filter(|each| among(&self.works, each.name));
        let works: Vec<_> = works.filter(|each| short(each.name)).collect();
        if contestants.is_empty() || works.is_empty() {
            return Err("nothing has such a name; --list tells the names".into());
        }
        Ok(Chosen { contestants, works })
    }
}

/// Does what the arguments say.
pub(crate) fn main(arguments: &Arguments) -> Result<(), Failure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    if arguments.render {
        return render::write(&Run::read(&root.join(render::JSON))?, &root);
    }
    let chosen = arguments.chosen()?;
    if arguments.list {
        return list(&chosen);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    std::fs::create_dir_all(target.join("peers"))?;
    let target = target.canonicalize()?;
    let json = arguments.json.clone().unwrap_or(target.join("peers/figures.json"));
    let run = measure::measure(arguments, &chosen, &root, &target, &json)?;
    if arguments.publish {
        run.write(&root.join(render::JSON))?;
        render::write(&run, &root)?;
    }
    let mut out = stdout().lock();
    writeln!(out, "{}", render::tables(&run))?;
    writeln!(out, "The run is in {}.", json.display())?;
    Ok(())
}

fn list(chosen: &Chosen) -> Result<(), Failure> {
    let mut out = stdout().lock();
    for contestant in &chosen.contestants {
        writeln!(out, "{:<18} {}", contestant.name, contestant.used)?;
    }
    writeln!(out)?;
    for work in &chosen.works {
        writeln!(out, "{:<18} {}", work.name, work.title)?;
    }
    Ok(())
}
