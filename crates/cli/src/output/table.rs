//! Aligned columns.

use super::style::Style;
use super::text;

/// Rows under a heading; every column is as wide as its widest cell.
pub(crate) struct Table {
    heading: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// The column that holds a state word, if one does.
    state_column: Option<usize>,
    /// Columns of numbers, which are right-aligned.
    numbers: &'static [usize],
    /// Columns that are cut where lines would not fit, and how long a line may be.
    fit: Option<(&'static [usize], usize)>,
}

/// No column is cut to fewer characters.
const NARROWEST: usize = 8;

impl Table {
    pub(crate) fn new<const N: usize>(heading: [&'static str; N], state_column: usize) -> Table {
        Table { state_column: Some(state_column), ..Table::plain(heading) }
    }

    /// A table without a state word.
    pub(crate) fn plain<const N: usize>(heading: [&'static str; N]) -> Table {
        Table {
            heading: heading.to_vec(),
            rows: Vec::new(),
            state_column: None,
            numbers: &[],
            fit: None,
        }
    }

    /// With these columns right-aligned.
    pub(crate) fn numbers(self, numbers: &'static [usize]) -> Table {
        Table { numbers, ..self }
    }

    /// With these columns cut where lines would be longer than `columns`; nothing is cut without that.
    pub(crate) fn fit(self, cut: &'static [usize], columns: Option<usize>) -> Table {
        Table { fit: columns.map(|columns| (cut, columns)), ..self }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }

    pub(crate) fn show(&self, style: Style) -> String {
        let widths = self.widths();
        let mut text = String::new();
        let heading = self.heading.iter().enumerate();
        let heading =
            heading.map(|(column, cell)| self.pad(cell, column, &widths, text::beginning));
        let heading: Vec<_> = heading.collect();
        text.push_str(&style.dim(heading.join("  ").trim_end()));
        text.push('\n');
        for row in &self.rows {
            let state = self.state_column.and_then(|column| row.get(column));
            // A program prints its error last; everything else begins with what matters.
            let cut = match state.map(String::as_str) {
                Some("failed") => text::one_line,
                _ => text::beginning,
            };
            let cells = row.iter().enumerate().map(|(column, cell)| {
                let padded = self.pad(cell, column, &widths, cut);
                match Some(column) == self.state_column {
                    true => style.state(&padded),
                    false => padded,
                }
            });
            let cells: Vec<_> = cells.collect();
            text.push_str(cells.join("  ").trim_end());
            text.push('\n');
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let of_column = |column: usize| {
            let cells = self.rows.iter().filter_map(move |row| row.get(column));
            let longest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
            longest.max(self.heading[column].len())
        };
        let mut widths: Vec<_> = (0..self.heading.len()).map(of_column).collect();
        let Some((cut, columns)) = self.fit else { return widths };
        let between = 2 * widths.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + between > columns {
            let widest = cut.iter().copied().max_by_key(|column| widths[*column]);
            match widest.filter(|column| widths[*column] > NARROWEST) {
                Some(column) => widths[column] -= 1,
                None => break,
            }
        }
        widths
    }

    fn pad(
        &self,
        cell: &str,
        column: usize,
        widths: &[usize],
        cut: fn(&str, usize) -> String,
    ) -> String {
        let width = widths[column];
        let cell = match cell.chars().count() > width {
            true => cut(cell, width),
            false => cell.to_owned(),
        };
        match self.numbers.contains(&column) {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        }
    }
}

/// A list of names and values, with the values aligned; a value of several lines stays in its
/// column.
pub(crate) struct Sheet {
    rows: Vec<(&'static str, String)>,
}

impl Sheet {
    pub(crate) fn new() -> Sheet {
        Sheet { rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, name: &'static str, value: impl Into<String>) {
        self.rows.push((name, value.into()));
    }

    /// A row that is left out when there is nothing to say.
    pub(crate) fn maybe(&mut self, name: &'static str, value: Option<String>) {
        if let Some(value) = value {
            self.row(name, value);
        }
    }

    pub(crate) fn show(&self, style: Style) -> String {
        let width = self.rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let indent = " ".repeat(width + 2);
        let mut text = String::new();
        for (name, value) in &self.rows {
            let name = style.dim(&format!("{name:<width$}"));
            let value = value.replace('\n', &format!("\n{indent}"));
            text.push_str(format!("{name}  {value}").trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_end_where_their_text_ends() {
        let mut table = Table::new(["A", "STATE", "REASON"], 1);
        table.row(["1".into(), "completed".into(), String::new()]);
        table.row(["200".into(), "failed".into(), "boom".into()]);
        let expected = "A    STATE      REASON\n1    completed\n200  failed     boom\n";
        assert_eq!(table.show(Style::PLAIN), expected);
    }

    #[test]
    fn a_line_that_does_not_fit_is_cut_where_that_hurts_least() {
        let table = |columns| {
            let mut table = Table::new(["ID", "STATE", "REASON"], 1).fit(&[2], columns);
            table.row(["1".into(), "waiting".into(), "the end of this goes first".into()]);
            table.row(["2".into(), "failed".into(), "the middle of this goes".into()]);
            table.show(Style::PLAIN)
        };
        let whole = "ID  STATE    REASON
1   waiting  the end of this goes first
2   failed   the middle of this goes\n";
        assert_eq!((table(None).as_str(), table(Some(80)).as_str()), (whole, whole));
        let cut = "ID  STATE    REASON
1   waiting  the end of this…
2   failed   the m… this goes\n";
        assert_eq!(table(Some(29)), cut);
        assert!(table(Some(10)).lines().all(|line| line.chars().count() <= 13 + NARROWEST));
    }

    #[test]
    fn numbers_end_in_line() {
        let mut table = Table::plain(["A", "USED", "B"]).numbers(&[1]);
        table.row(["x".into(), "7".into(), "y".into()]);
        table.row(["x".into(), "10,000".into(), String::new()]);
        assert_eq!(table.show(Style::PLAIN), "A    USED  B\nx       7  y\nx  10,000\n");
    }

    #[test]
    fn a_value_of_several_lines_stays_in_its_column() {
        let mut sheet = Sheet::new();
        sheet.row("id", "1");
        sheet.row("reason", "a\nb");
        sheet.maybe("none", None);
        assert_eq!(sheet.show(Style::PLAIN), "id      1\nreason  a\n        b\n");
    }
}
