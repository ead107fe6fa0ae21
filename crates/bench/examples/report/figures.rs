//! Figures of several runs, as the page shows them.

use serde_json::Value;

use crate::Result;
use crate::cases::{Case, Figure, Goal};

/// One line of the page.
pub(crate) struct Row {
    pub(crate) case: &'static Case,
    figure: &'static Figure,
    /// Ascending.
    values: Vec<f64>,
}

impl Row {
    pub(crate) fn new(
        case: &'static Case,
        figure: &'static Figure,
        reports: &[Value],
    ) -> Result<Row> {
        let value = |report: &Value| {
            let missing = || format!("`ff bench {}` has no {}", case.words, figure.key);
            report.get(figure.key).and_then(Value::as_f64).ok_or_else(missing)
        };
        let mut values = reports.iter().map(value).collect::<Result<Vec<_>>>()?;
        values.sort_by(f64::total_cmp);
        Ok(Row { case, figure, values })
    }

    /// The columns after the command: figure, goal, whether it is reached.
    pub(crate) fn cells(&self) -> [String; 3] {
        let [least, .., most] = self.values[..] else {
            return self.cells_of(self.values.first().copied().unwrap_or(f64::NAN), "");
        };
        let spread = format!(" [{} to {}]", shown(least), shown(most));
        self.cells_of(self.values[self.values.len() / 2], &spread)
    }

    fn cells_of(&self, median: f64, spread: &str) -> [String; 3] {
        let (goal, met) = match self.figure.goal {
            Goal::None => (String::new(), String::new()),
            Goal::AtLeast(least) => (format!("{} or more", shown(least)), yes(median >= least)),
            Goal::AtMost(most) => (format!("{} or less", shown(most)), yes(median <= most)),
        };
        [format!("{} {}{spread}", shown(median), self.figure.is), goal, met]
    }
}

fn yes(met: bool) -> String {
    if met { "yes" } else { "**no**" }.to_owned()
}

/// With as many digits as are significant.
fn shown(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.1 {
        return format!("{value:.3}");
    }
    if value.fract() == 0.0 || value.abs() >= 100.0 {
        return grouped(value.round() as i64);
    }
    format!("{value:.*}", if value.abs() < 10.0 { 2 } else { 1 })
}

/// `12345` as `12,345`.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = if number < 0 { "-".to_owned() } else { String::new() };
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
