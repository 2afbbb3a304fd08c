//! Pages and plots, made from a run and from nothing else.

mod page;
mod plot;
mod readme;
mod table;

use std::{fs, path::Path};

use super::run::Run;
use crate::failure::Failure;

pub(crate) use page::tables;

/// The run that the pages are made from.
pub(crate) const JSON: &str = "docs/figures.json";

/// Every file that is made from a run, and what is in it.
fn files(run: &Run, root: &Path) -> Result<Vec<(String, String)>, Failure> {
    let mut files = vec![
        ("docs/figures.md".to_owned(), page::page(run)),
        (
            "README.md".to_owned(),
            readme::filled(&fs::read_to_string(root.join("README.md"))?, run)?,
        ),
    ];
    for plot in plot::ALL {
        if let Some(drawn) = plot.draw(run)? {
            files.push((format!("docs/figures/{}.svg", plot.name), drawn));
        }
    }
    Ok(files)
}

/// Writes them.
pub(crate) fn write(run: &Run, root: &Path) -> Result<(), Failure> {
    fs::create_dir_all(root.join("docs/figures"))?;
    for (file, text) in files(run, root)? {
        fs::write(root.join(file), text)?;
    }
    Ok(())
}

/// A number as people read it, to three digits.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        0.0 => return "0".to_owned(),
        ..0.1 => 3,
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    let whole = text.split('.').next().unwrap_or_default().trim_start_matches('-').len();
    if whole < 4 {
        return text;
    }
    let mut grouped = String::new();
    for (at, digit) in text.chars().enumerate() {
        if at > 0 && (text.len() - at) % 3 == 0 && grouped != "-" {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_by_people() {
        let told = [0.0, 0.0432, 1.004, 12.34, 999.6, 51_900.0, 1_234_567.0].map(number);
        assert_eq!(told, ["0", "0.043", "1.00", "12.3", "1,000", "51,900", "1,234,567"]);
    }

    /// Figures on pages are made, never typed.
    #[test]
    fn the_pages_are_what_the_run_says() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let run = Run::read(&root.join(JSON)).unwrap();
        let made = files(&run, &root).unwrap();
        for (file, text) in &made {
            let there = fs::read_to_string(root.join(file)).unwrap_or_default();
            assert!(there == *text, "{file} is not what {JSON} says: scripts/bench-peers --render");
        }
        for plot in fs::read_dir(root.join("docs/figures")).unwrap() {
            let name = format!("docs/figures/{}", plot.unwrap().file_name().display());
            assert!(made.iter().any(|(file, _)| *file == name), "nothing makes {name}");
        }
    }
}
