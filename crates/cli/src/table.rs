//! Plain text in columns, without colour or frames: the same on a terminal and in a file.

/// Rows of cells, each column as wide as its widest cell, two spaces between columns.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows.push(cells.iter().map(|&cell| cell.to_owned()).collect());
    }

    /// The table as text. Every line ends with a line feed and has no trailing spaces.
    pub(crate) fn text(&self) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                // Pads to the column's width, plus two spaces between columns.
                line.extend(std::iter::repeat_n(' ', width - cell.chars().count() + 2));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|c| c.chars().count()).max()
        };
        (0..columns).map(|column| width(column).unwrap_or(0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_by_characters_and_not_by_bytes() {
        let mut table = Table::default();
        table.row(["ε", "x"]);
        table.row(["long", "y"]);
        table.row(["z", ""]);
        assert_eq!(table.text(), "ε     x\nlong  y\nz\n");
    }
}
