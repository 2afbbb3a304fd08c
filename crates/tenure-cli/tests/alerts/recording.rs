//! What was scraped, and its replay.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::target::Target;

const RULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ops/prometheus/tenure.rules.yml");
const PATIENCE: Duration = Duration::from_secs(60);

/// Values of series, a scrape at each tick.
pub(crate) struct Recording {
    tick: Duration,
    /// What a second counts as, in seconds.
    stretch: f64,
    /// When it was scraped first.
    began: SystemTime,
    ticks: usize,
    series: BTreeMap<String, BTreeMap<usize, f64>>,
    /// The newest scrape of each target.
    newest: BTreeMap<String, String>,
}

impl Recording {
    pub(crate) fn new(tick: Duration, stretch: u32) -> Self {
        Self {
            tick,
            stretch: f64::from(stretch),
            began: SystemTime::now(),
            ticks: 0,
            series: BTreeMap::new(),
            newest: BTreeMap::new(),
        }
    }

    /// Scrapes for so many ticks.
    pub(crate) fn watch(&mut self, ticks: usize, targets: &mut [Target]) {
        self.watch_and(ticks, targets, |_| {});
    }

    /// The same, with something done before each scrape.
    pub(crate) fn watch_and(
        &mut self,
        ticks: usize,
        targets: &mut [Target],
        mut done: impl FnMut(&mut [Target]),
    ) {
        if self.ticks == 0 {
            self.began = SystemTime::now();
        }
        let (began, first) = (Instant::now(), self.ticks);
        while self.ticks < first + ticks {
            done(targets);
            for target in targets.iter_mut() {
                if let Some(text) = target.scrape() {
                    self.record(target.labels(), &text);
                }
            }
            // A scrape that took long has the place of several, as on a server of metrics.
            let passed = began.elapsed().div_duration_f64(self.tick);
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is small"
            )]
            let next = (first + passed as usize).max(self.ticks) + 1;
            let due = self.tick * u32::try_from(next - first).unwrap();
            sleep(due.saturating_sub(began.elapsed()));
            self.ticks = next;
        }
    }

    /// Scrapes until this is so.
    pub(crate) fn watch_until(
        &mut self,
        what: &str,
        targets: &mut [Target],
        is_so: impl Fn(&Self) -> bool,
    ) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "in vain: {what}");
            self.watch(1, targets);
        }
    }

    fn record(&mut self, labels: &str, text: &str) {
        self.newest.insert(labels.to_owned(), text.to_owned());
        let mut gauges = BTreeSet::new();
        for line in text.lines() {
            if let Some(gauge) =
                line.strip_prefix("# TYPE ").and_then(|it| it.strip_suffix(" gauge"))
            {
                gauges.insert(gauge);
            }
            let Some((series, value)) = line.rsplit_once(' ').filter(|_| !line.starts_with('#'))
            else {
                continue;
            };
            let (name, own) = series.split_once('{').unwrap_or((series, "}"));
            let value: f64 = value.parse().unwrap();
            let value = if name.ends_with("_timestamp_seconds") {
                let began = self.began.duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
                (value - began) * self.stretch
            } else if name.ends_with("_seconds") && gauges.contains(name) {
                value * self.stretch
            } else {
                value
            };
            let series = format!("{name}{{{labels},{own}").replace(",}", "}");
            self.series.entry(series).or_default().insert(self.ticks, value);
        }
    }

    /// The sum of the newest values of the series that begin so.
    pub(crate) fn sum(&self, series: &str) -> f64 {
        let found = self.series.iter().filter(|(name, _)| name.starts_with(series));
        found.filter_map(|(_, values)| values.last_key_value()).map(|(_, value)| value).sum()
    }

    /// How many series the programs have.
    pub(crate) fn series_of_programs(&self) -> usize {
        self.series.keys().filter(|series| series.contains("job=\"shop\"")).count()
    }

    /// Has Prometheus' own tools check what was scraped, and replays it: these alerts fire at some time, and no others.
    #[track_caller]
    pub(crate) fn fires(&self, alerts: &[&str]) {
        for text in self.newest.values() {
            let checked = promtool(&["check", "metrics"], Path::new("/"), text);
            assert_eq!(checked.as_deref(), Ok(""), "{text}");
        }
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("replay.yml"), self.replay(alerts)).unwrap();
        let tested = promtool(&["test", "rules", "replay.yml"], dir.path(), "");
        assert!(tested.is_ok(), "{}\n{}", tested.unwrap_err(), self.told());
    }

    /// As `promtool test rules` reads it.
    fn replay(&self, alerts: &[&str]) -> String {
        let millis = (self.tick.mul_f64(self.stretch)).as_millis();
        let end = millis * u128::try_from(self.ticks).unwrap();
        let mut text = format!(
            "rule_files: ['{RULES}']\nevaluation_interval: {millis}ms\ntests:\n- interval: {millis}ms\n  input_series:\n"
        );
        for (series, values) in &self.series {
            let value = |tick| values.get(&tick).map_or_else(|| "_".to_owned(), f64::to_string);
            let values: Vec<_> = (0..self.ticks).map(value).collect();
            let series = series.replace('\'', "''");
            text += &format!("  - series: '{series}'\n    values: '{}'\n", values.join(" "));
        }
        let firing = "max_over_time(ALERTS{alertstate=\"firing\"}";
        text += &format!(
            "  promql_expr_test:\n  - expr: 'group by (alertname) ({firing}[{end}ms:{millis}ms]))'\n    eval_time: {end}ms\n    exp_samples:\n"
        );
        for alert in alerts {
            text += &format!("    - {{ labels: '{{alertname=\"{alert}\"}}', value: 1 }}\n");
        }
        if alerts.is_empty() { text.replace("exp_samples:\n", "exp_samples: []\n") } else { text }
    }

    /// The newest values of the series that are not zero, for whoever looks into a failure.
    fn told(&self) -> String {
        let mut text = String::new();
        for (series, values) in &self.series {
            let values: Vec<_> = values.iter().rev().take(20).collect();
            if !series.contains("_bucket") && values.iter().any(|(_, value)| **value != 0.0) {
                text += &format!("{series} {values:?}\n");
            }
        }
        text
    }
}

/// What promtool says, also if it fails.
fn promtool(words: &[&str], dir: &Path, input: &str) -> Result<String, String> {
    let mut command = Command::new("promtool");
    command.args(words).current_dir(dir);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn();
    let mut running =
        running.unwrap_or_else(|error| panic!("promtool, of the package prometheus: {error}"));
    running.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let ended = running.wait_with_output().unwrap();
    let said = [ended.stdout, ended.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    if ended.status.success() { Ok(said) } else { Err(said) }
}
