//! The sale as it happens: several instances, a crowd, and trouble; then what was sold is counted.

mod balancer;
mod crowd;
mod instance;
pub(crate) mod report;
mod sale;
mod size;
mod trouble;

use std::{
    error::Error, io::IsTerminal, path::PathBuf, pin::pin, process::ExitCode, time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use self::report::{NotRun, Outcome};
pub(crate) use self::{balancer::Choice, size::Size};
use crate::{signals, strategy::Name};

/// What is shown, and how.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) strategies: Vec<Name>,
    pub(crate) instances: usize,
    pub(crate) size: Size,
    /// Whether nobody is slowed, killed or stopped.
    pub(crate) calm: bool,
    pub(crate) balancer: Choice,
    pub(crate) database: Option<String>,
    pub(crate) store: Option<String>,
    pub(crate) redis: Option<String>,
    pub(crate) ttl: Duration,
    pub(crate) json: bool,
    pub(crate) plot: Option<PathBuf>,
}

/// Runs a sale for each strategy, one after the other.
pub(crate) async fn run(settings: Settings) -> Result<ExitCode, Box<dyn Error>> {
    let balancer = settings.balancer.decided()?;
    let mut ended = pin!(signals::end()?);
    let mut outcome = Outcome::new(&settings, balancer);
    for &name in &settings.strategies {
        if name.needs_redis() && settings.redis.is_none() {
            let why = "it needs a Redis: --redis redis://HOST:PORT".to_owned();
            outcome.not_run.push(NotRun { strategy: name.text(), why });
            continue;
        }
        let bar = progress(&name.text(), settings.size.clicks());
        let row = tokio::select! {
            row = sale::sell(name, &settings, balancer, &bar) => row,
            code = &mut ended => {
                bar.abandon();
                return Ok(ExitCode::from(code));
            }
        };
        bar.finish_and_clear();
        outcome.strategies.push(row.map_err(|error| format!("{}: {error:#}", name.text()))?);
    }
    report::print(&outcome, settings.json)?;
    if let Some(file) = &settings.plot {
        std::fs::write(file, report::plot(&outcome)?)
            .map_err(|error| format!("{}: {error:#}", file.display()))?;
    }
    Ok(if outcome.kept_its_promises() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How far a sale is, for people who look.
fn progress(name: &str, clicks: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(clicks), ProgressDrawTarget::stderr());
    let template = "{prefix:20} {bar:30} {pos}/{len} clicks  {msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_prefix(name.to_owned());
    if std::io::stderr().is_terminal() {
        bar.enable_steady_tick(Duration::from_millis(100));
    }
    bar
}
