//! The picture: how much each strategy sold in a second, and what it did wrong.

use std::error::Error;

use plotters::{
    coord::Shift,
    prelude::{
        Color as _, DrawingArea, IntoDrawingArea, IntoFont, RGBColor, Rectangle, SVGBackend, Text,
        WHITE,
    },
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{Outcome, Row};

const OURS: RGBColor = RGBColor(0xc2, 0x41, 0x0c);
const OTHERS: RGBColor = RGBColor(0x64, 0x74, 0x8b);
const WRONG: RGBColor = RGBColor(0xb9, 0x1c, 0x1c);
const INK: RGBColor = RGBColor(0x1f, 0x29, 0x37);
const WIDTH: i32 = 820;
const LINE: i32 = 26;
const HEAD: i32 = 64;
const NAMES: i32 = 170;
const NUMBERS: i32 = 330;

/// Draws it as SVG on white, so that it can be read on a dark page too.
pub(crate) fn plot(outcome: &Outcome) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    let lines = i32::try_from(outcome.strategies.len())?;
    let size = (u32::try_from(WIDTH)?, u32::try_from(HEAD + LINE * lines + 12)?);
    let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
    let drawn =
        draw(&area, outcome).and_then(|()| area.present().map_err(|error| error.to_string()));
    drop(area);
    drawn?;
    Ok(text)
}

fn draw(area: &DrawingArea<SVGBackend<'_>, Shift>, outcome: &Outcome) -> Result<(), String> {
    area.fill(&WHITE).map_err(|error| error.to_string())?;
    write(area, "Orders a second, and what went wrong", (12, 22), 17, INK)?;
    write(area, &outcome.setting(), (12, 44), 11, OTHERS)?;
    let most = outcome.strategies.iter().map(|row| row.per_second).fold(1.0, f64::max);
    for (number, row) in (0..).zip(&outcome.strategies) {
        line(area, row, HEAD + LINE * number, most)?;
    }
    Ok(())
}

fn line(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    row: &Row,
    top: i32,
    most: f64,
) -> Result<(), String> {
    let middle = top + LINE / 2;
    write(area, &row.strategy, (12, middle), 13, INK)?;
    let room = f64::from(WIDTH - NAMES - NUMBERS);
    #[allow(clippy::cast_possible_truncation, reason = "it is a place in the picture")]
    let end = NAMES + (room * row.per_second / most).round() as i32;
    let color = if row.strategy.starts_with("tenure") { OURS } else { OTHERS };
    let bar =
        Rectangle::new([(NAMES, top + 5), (end.max(NAMES + 1), top + LINE - 5)], color.filled());
    area.draw(&bar).map_err(|error| error.to_string())?;
    let sold = format!("{:.0}", row.per_second);
    write(area, &sold, (end + 8, middle), 12, INK)?;
    let (told, color) = faults(row);
    write(area, &told, (end + 60, middle), 12, color)
}

/// What went wrong, in words.
fn faults(row: &Row) -> (String, RGBColor) {
    let lost = i64::try_from(row.lost).unwrap_or(i64::MAX);
    let told: Vec<_> =
        [(row.oversold, "oversold"), (row.duplicates, "ordered twice"), (lost, "lost")]
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{number} {what}"))
            .collect();
    match (told.is_empty(), row.refused) {
        (true, 0) => ("nothing".to_owned(), OTHERS),
        (true, refused) => (format!("nothing; {refused:#} refused"), OTHERS),
        (false, _) => (told.join(", "), WRONG),
    }
}

fn write(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    text: &str,
    at: (i32, i32),
    size: i32,
    color: RGBColor,
) -> Result<(), String> {
    let anchor = Pos::new(HPos::Left, VPos::Center);
    let style = ("sans-serif", size).into_font().color(&color);
    let style = style.pos(anchor);
    area.draw(&Text::new(text.to_owned(), at, style)).map_err(|error| error.to_string())
}
