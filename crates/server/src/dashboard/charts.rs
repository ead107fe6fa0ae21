//! Small charts of the last hour, and bars of limits, as SVG. They contain nothing but numbers.

use std::fmt::Write;

use askama::filters::Safe;

use super::history::{SLOTS, Slot};
use crate::html::Markup;

/// How high a chart is in its own units; it is as wide as it has slots.
const HEIGHT: f64 = 40.0;

/// What ended in each slot: completed, and above it what failed.
pub(super) fn throughput(slots: &[Option<Slot>]) -> Markup {
    let total = |slot: &Slot| (slot.completed + slot.failed) as f64;
    let most = slots.iter().flatten().map(total).fold(1.0, f64::max);
    chart("what ended, in sixty bars", |svg| {
        for (x, slot) in slots.iter().enumerate() {
            let Some(slot) = slot else { continue };
            let good = slot.completed as f64 / most * HEIGHT;
            let bad = slot.failed as f64 / most * HEIGHT;
            bar(svg, "ok", x, HEIGHT - good, good);
            bar(svg, "no", x, HEIGHT - good - bad, bad);
        }
    })
}

fn bar(svg: &mut String, class: &str, x: usize, y: f64, height: f64) {
    if height > 0.0 {
        let x = x as f64 + 0.1;
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.2}\" width=\"0.8\" height=\"{height:.2}\"/>"
        );
    }
}

/// A value over the last hour as a line with the area below it, and another as a line above.
pub(super) fn lines(what: &str, lower: &[Option<f64>], upper: Option<&[Option<f64>]>) -> Markup {
    let all = lower.iter().chain(upper.unwrap_or_default()).flatten();
    let most = all.copied().fold(0.001, f64::max) * 1.08;
    chart(what, |svg| {
        path(svg, "area", lower, most, true);
        path(svg, "line", lower, most, false);
        if let Some(upper) = upper {
            path(svg, "line high", upper, most, false);
        }
    })
}

/// A line through the values. Where one is missing, the last one holds.
fn path(svg: &mut String, class: &str, values: &[Option<f64>], most: f64, closed: bool) {
    let Some(first) = values.iter().position(Option::is_some) else { return };
    let mut last = 0.0;
    let _ = write!(svg, "<path class=\"{class}\" d=\"");
    for (x, value) in values.iter().enumerate().skip(first) {
        last = value.unwrap_or(last);
        let y = HEIGHT - last / most * (HEIGHT - 1.0);
        let command = if x == first { 'M' } else { 'L' };
        // A single value is a short line.
        let _ = write!(svg, "{command}{x} {y:.2}L{} {y:.2}", x + 1);
    }
    if closed {
        let _ = write!(svg, "L{} {HEIGHT}L{first} {HEIGHT}Z", values.len());
    }
    svg.push_str("\"/>");
}

fn chart(what: &str, draw: impl FnOnce(&mut String)) -> Markup {
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {SLOTS} {HEIGHT}\" preserveAspectRatio=\"none\" \
         role=\"img\" aria-label=\"{what}\">"
    );
    draw(&mut svg);
    svg.push_str("</svg>");
    Safe(svg)
}

/// A bar that fills: what is used, what is reserved above it, and a mark at the soft limit. All are
/// shares of the hard limit.
pub(super) fn gauge(class: &str, used: f64, reserved: f64, soft: Option<f64>) -> Markup {
    let used = used.clamp(0.0, 1.0) * 100.0;
    let reserved = (reserved.max(0.0) * 100.0).min(100.0 - used);
    let mut svg = format!(
        "<svg class=\"gauge {class}\" aria-hidden=\"true\">\
         <rect class=\"track\" width=\"100%\" height=\"100%\" rx=\"4\"/>\
         <rect class=\"used\" width=\"{used:.2}%\" height=\"100%\" rx=\"4\"/>\
         <rect class=\"reserved\" x=\"{used:.2}%\" width=\"{reserved:.2}%\" height=\"100%\"/>"
    );
    if let Some(soft) = soft {
        let soft = soft.clamp(0.0, 1.0) * 100.0;
        let _ = write!(svg, "<rect class=\"soft\" x=\"{soft:.2}%\" width=\"2\" height=\"100%\"/>");
    }
    svg.push_str("</svg>");
    Safe(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_of_nothing_is_an_empty_frame() {
        let none = vec![None; SLOTS];
        assert!(!throughput(&none).0.contains("<rect"));
        let empty = vec![None; SLOTS];
        assert!(!lines("x", &empty, Some(&empty)).0.contains("<path"));
    }

    #[test]
    fn a_gauge_never_leaves_its_track() {
        for (used, reserved, shown) in [
            (0.0, 0.0, ["0.00", "0.00", "0.00"]),
            (0.5, 0.9, ["50.00", "50.00", "50.00"]),
            (7.0, 1.0, ["100.00", "100.00", "0.00"]),
            (-1.0, -1.0, ["0.00", "0.00", "0.00"]),
        ] {
            let svg = gauge("", used, reserved, None).0;
            let shares: Vec<_> = svg.split(['"', '%']).filter(|text| text.contains('.')).collect();
            assert_eq!(shares, shown, "{svg}");
        }
    }
}
