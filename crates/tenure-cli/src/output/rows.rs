//! Rows of a table where they fit, and what they say line by line where they do not.

use comfy_table::{ContentArrangement, Table, presets};

/// What is not fitted into any more: a terminal that does not know its width says 0.
const NARROWEST: usize = 20;
/// What stands before that which has no line of its own.
const INDENT: &str = "   ";

/// What a table has, with the columns that say whose a row is in front.
#[derive(Debug)]
pub(super) struct WrappingTable<const N: usize> {
    titles: [&'static str; N],
    rows: Vec<[String; N]>,
    /// How many columns have a line of their own where there is no room.
    heads: usize,
}

impl<const N: usize> WrappingTable<N> {
    pub(super) const fn new(titles: [&'static str; N], heads: usize) -> Self {
        Self { titles, rows: Vec::new(), heads }
    }

    pub(super) fn add(&mut self, row: [String; N]) {
        self.rows.push(row);
    }

    /// For the terminal that standard output is.
    pub(super) fn print(&self) -> String {
        self.print_at(Table::new().width().map(usize::from))
    }

    /// Names, labels and tokens stay in one piece: they are copied.
    pub(super) fn print_at(&self, width: Option<usize>) -> String {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(self.titles).add_rows(&self.rows);
        let text = table.trim_fmt();
        match width.filter(|width| *width >= NARROWEST) {
            Some(width) if text.lines().any(|line| line.trim_end().chars().count() > width) => {
                self.lines(width)
            }
            _ => text,
        }
    }

    fn lines(&self, width: usize) -> String {
        let mut lines: Vec<String> = Vec::new();
        for row in &self.rows {
            let (heads, rest) = row.split_at(self.heads.min(N));
            for (at, cell) in heads.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
                lines.push(format!("{}{cell}", if at == 0 { "" } else { "  " }));
            }
            let titles = self.titles.iter().skip(self.heads);
            let told = titles.zip(rest).filter(|(_, cell)| !cell.is_empty());
            let mut line = INDENT.to_owned();
            for (title, cell) in told {
                let piece = format!(" {} {cell},", title.to_lowercase());
                if line != INDENT && line.chars().count() + piece.chars().count() > width {
                    lines.push(std::mem::replace(&mut line, INDENT.to_owned()));
                }
                line += &piece;
            }
            lines.push(line.trim_end_matches(',').to_owned());
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> WrappingTable<4> {
        let mut rows = WrappingTable::new(["NAME", "HOLDER", "FOR", "TOKEN"], 2);
        let row = |cells: [&str; 4]| cells.map(str::to_owned);
        rows.add(row(["deploy:shop", "alice@web3/4711 backup.sh", "3s", "1740800099328000000"]));
        rows.add(row(["", "bob@web4/1 x", "1m 2s", "1740800099328000001"]));
        rows
    }

    fn at(width: Option<usize>) -> Vec<String> {
        rows().print_at(width).lines().map(|line| line.trim_end().to_owned()).collect()
    }

    #[test]
    fn what_fits_is_a_table_and_so_is_what_nobody_knows_the_width_for() {
        let table = [
            " NAME         HOLDER                     FOR    TOKEN",
            " deploy:shop  alice@web3/4711 backup.sh  3s     1740800099328000000",
            "              bob@web4/1 x               1m 2s  1740800099328000001",
        ];
        assert_eq!(at(None), table);
        assert_eq!(at(Some(80)), table);
        assert_eq!(at(Some(67)), table);
        assert_eq!(at(Some(0)), table);
    }

    #[test]
    fn where_there_is_no_room_labels_and_tokens_stay_in_one_piece() {
        assert_eq!(
            at(Some(66)),
            [
                "deploy:shop",
                "  alice@web3/4711 backup.sh",
                "    for 3s, token 1740800099328000000",
                "  bob@web4/1 x",
                "    for 1m 2s, token 1740800099328000001",
            ]
        );
        assert_eq!(at(Some(30))[2..4], ["    for 3s,", "    token 1740800099328000000"]);
    }
}
