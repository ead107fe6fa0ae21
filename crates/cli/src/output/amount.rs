//! Amounts as people read them.

use ff_core::limits::Amounts;

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(amount: u64) -> String {
    let digits = amount.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Amounts by dimension: `2,000 tokens, 5 usd`.
pub(crate) fn list(amounts: &Amounts) -> String {
    let each =
        amounts.iter().map(|(dimension, amount)| format!("{} {dimension}", grouped(*amount)));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        for (amount, text) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (123_456, "123,456"), (1 << 20, "1,048,576")]
        {
            assert_eq!(grouped(amount), text);
        }
    }
}
