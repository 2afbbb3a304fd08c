//! The chapter in the docs: its figures are put in from runs, and never typed.

use std::{collections::BTreeMap, error::Error, fmt::Write, fs, path::Path, process::ExitCode};

use serde::{Deserialize, Serialize};

use crate::{
    args::Chapter,
    demo::report::{Outcome, Row, plot},
};

const RUNS: &str = "docs/flash-sale/runs.json";
const PAGE: &str = "docs/flash-sale.md";

/// Runs that are drawn.
const DRAWN: [&str; 2] = ["trouble", "calm"];

/// What the chapter is made from.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    cores: usize,
    runs: BTreeMap<String, Outcome>,
}

/// Writes the chapter, or says whether it would change.
pub(crate) fn make(chapter: &Chapter) -> Result<ExitCode, Box<dyn Error>> {
    let kept = match &chapter.runs {
        Some(folder) => gathered(folder)?,
        None => serde_json::from_str(&read(Path::new(RUNS))?)?,
    };
    let mut files = vec![(RUNS.to_owned(), format!("{}\n", serde_json::to_string_pretty(&kept)?))];
    files.push((PAGE.to_owned(), filled(&read(Path::new(PAGE))?, &kept)?));
    for name in DRAWN {
        if let Some(run) = kept.runs.get(name) {
            files.push((format!("docs/flash-sale/{name}.svg"), plot(run)?));
        }
    }
    for (file, text) in files {
        if !chapter.check {
            fs::write(&file, text).map_err(|error| format!("{file}: {error:#}"))?;
        } else if read(Path::new(&file))? != text {
            return Err(format!("{file} is not what its runs say: run flash-sale chapter").into());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The runs in a folder, each by its name.
fn gathered(folder: &Path) -> Result<Kept, Box<dyn Error>> {
    let mut runs = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error:#}", folder.display()))? {
        let path = entry?.path();
        if let (Some(name), Some(end)) = (path.file_stem(), path.extension())
            && end == "json"
        {
            let run = serde_json::from_str(&read(&path)?)
                .map_err(|error| format!("{}: {error:#}", path.display()))?;
            runs.insert(name.to_string_lossy().into_owned(), run);
        }
    }
    let cores = std::thread::available_parallelism()?.get();
    Ok(Kept { cores, runs })
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error:#}", path.display()))
}

/// The page with what stands between `<!-- run: NAME -->` and `<!-- /run -->` made anew.
fn filled(page: &str, kept: &Kept) -> Result<String, Box<dyn Error>> {
    let mut parts = page.split("<!-- run: ");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->").ok_or("a mark has no end")?;
        let (_, after) = rest.split_once("<!-- /run -->").ok_or("a run has no end")?;
        let run = kept.runs.get(name).ok_or_else(|| format!("there is no run {name}"))?;
        write!(filled, "<!-- run: {name} -->\n{}<!-- /run -->{after}", table(run, kept.cores)?)?;
    }
    Ok(filled)
}

/// A run as Markdown.
fn table(run: &Outcome, cores: usize) -> Result<String, Box<dyn Error>> {
    let mut text = format!("{}; {cores} cores in total.\n\n", capitalised(&run.setting()));
    let last =
        if run.calm { "beside `none`" } else { "next order after the kill | after the freeze" };
    writeln!(
        text,
        "| strategy | holds | stock | orders | oversold | ordered twice | lost | writes refused | \
         orders/s | {last} | p50 / p99 of a click |"
    )?;
    let columns = if run.calm { 11 } else { 12 };
    writeln!(text, "|---|---|{}", "--:|".repeat(columns - 2))?;
    for row in &run.strategies {
        writeln!(text, "{}", line(run, row))?;
    }
    Ok(text)
}

fn line(run: &Outcome, row: &Row) -> String {
    let holds: Vec<_> = row.holds.iter().map(|lock| format!("`{lock}`")).collect();
    let wrong = |number: i64| if number > 0 { format!("**{number}**") } else { "0".to_owned() };
    let millis =
        |millis: Option<u64>| millis.map_or("–".to_owned(), |millis| format!("{millis} ms"));
    let rounded =
        |millis: Option<f64>| millis.map_or("–".to_owned(), |millis| format!("{millis:.0}"));
    let rest = match (run.calm, run.without()) {
        (false, _) => format!("{} | {}", millis(row.after_kill_ms), millis(row.after_freeze_ms)),
        (true, Some(without)) => format!("{:.2}", row.per_second / without),
        (true, None) => "–".to_owned(),
    };
    format!(
        "| `{}` | {} | {} | {} | {} | {} | {} | {} | {:.0} | {rest} | {} / {} ms |",
        row.strategy,
        if holds.is_empty() { "–".to_owned() } else { holds.join(", ") },
        row.stock,
        row.orders,
        wrong(row.oversold),
        wrong(row.duplicates),
        wrong(i64::try_from(row.lost).unwrap_or(i64::MAX)),
        row.refused,
        row.per_second,
        rounded(row.p50_ms),
        rounded(row.p99_ms),
    )
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or(String::new(), |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}
