//! What a guard costs in memory.

use std::path::Path;

use tenure::Tenure;

use crate::{
    contestants::runtime,
    failure::Failure,
    process::{
        child::{Player, say},
        memory::resident,
    },
    report::Figure,
};

const GUARDS: usize = 10_000;

pub(crate) fn measure(dir: &Path) -> Result<Figure, Failure> {
    let mut figure = Figure::new(
        "memory per guard",
        "bytes of resident memory",
        "10,000 guards on as many names, in a process of their own.",
    );
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
