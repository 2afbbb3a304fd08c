//! What a guard costs in memory.

use std::{fs, path::Path};

use tenure::Tenure;

use crate::{
    child::{Player, say},
    contestant::runtime,
    failure::Failure,
    report::Figure,
};

const GUARDS: usize = 10_000;
const PAGE: f64 = 4096.0;

pub(crate) fn measure(dir: &Path) -> Result<Figure, Failure> {
    let mut figure = Figure {
        title: "memory per guard".into(),
        unit: "bytes of resident memory",
        note: "10,000 guards on as many names, in a process of their own.",
        goal: None,
        rows: Vec::new(),
    };
    let files = format!("file:{}", dir.join("many").display());
    for (who, url) in [("tenure, embedded", files.as_str()), ("tenure, in memory", "memory:")] {
        let mut player = Player::start(&["memory", url], dir)?;
        figure.row(who, vec![player.hear()?.parse()?]);
    }
    Ok(figure)
}

/// A child: holds many locks and says how many bytes each of them takes.
pub(crate) fn hold_many(url: &str) -> Result<(), Failure> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let tenure = Tenure::open(url).await?;
        // The first guard pays for what all of them share.
        let _first = tenure.mutex("first").lock().await?;
        let mut guards = Vec::with_capacity(GUARDS);
        let before = resident()?;
        for number in 0..GUARDS {
            guards.push(tenure.mutex(format!("guard-{number}")).lock().await?);
        }
        let after = resident()?;
        say((after - before) / GUARDS as f64)
    })
}

/// The resident memory of this process, in bytes.
pub(crate) fn resident() -> Result<f64, Failure> {
    let pages = fs::read_to_string("/proc/self/statm")?;
    let pages = pages.split_whitespace().nth(1).ok_or("no resident size")?;
    Ok(pages.parse::<f64>()? * PAGE)
}
