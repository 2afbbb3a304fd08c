//! The table on a terminal.

use std::io::IsTerminal;

use comfy_table::{Cell, CellAlignment, Color, ContentArrangement, Table, presets};

use super::{Outcome, Row};

/// A row for each strategy; what is wrong is red.
pub(super) fn table(outcome: &Outcome) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    let mut header =
        vec!["strategy", "orders", "stock", "oversold", "twice", "lost", "refused", "orders/s"];
    header.push(if outcome.calm { "beside none" } else { "after kill" });
    if !outcome.calm {
        header.push("after freeze");
    }
    header.extend(["p50, ms", "p99, ms"]);
    table.set_header(&header);
    for row in &outcome.strategies {
        table.add_row(cells(outcome, row));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn cells(outcome: &Outcome, row: &Row) -> Vec<Cell> {
    let mut cells = vec![Cell::new(&row.strategy), Cell::new(row.orders), Cell::new(row.stock)];
    let lost = i64::try_from(row.lost).unwrap_or(i64::MAX);
    cells.extend([row.oversold, row.duplicates, lost].map(wrong));
    cells.push(Cell::new(row.refused));
    cells.push(Cell::new(format!("{:.0}", row.per_second)));
    if outcome.calm {
        cells.push(match outcome.without() {
            Some(without) => Cell::new(format!("{:.2}", row.per_second / without)),
            None => Cell::new("–"),
        });
    } else {
        cells.extend([row.after_kill_ms, row.after_freeze_ms].map(|millis| {
            Cell::new(millis.map_or("–".to_owned(), |millis| format!("{millis} ms")))
        }));
    }
    cells.extend(
        [row.p50_ms, row.p99_ms].map(|millis| {
            Cell::new(millis.map_or("–".to_owned(), |millis| format!("{millis:.0}")))
        }),
    );
    cells
}

/// A number that should be none.
fn wrong(number: i64) -> Cell {
    let cell = Cell::new(number);
    if number > 0 && std::io::stdout().is_terminal() { cell.fg(Color::Red) } else { cell }
}
