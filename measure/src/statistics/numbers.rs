//! Numbers, counts and times as reports print them.

/// A count with its unit: `1 flow`, `1,000 flows`.
pub fn counted(count: u32, counts: &str) -> String {
    let one = match counts {
        "switches" => "switch",
        counts => counts.strip_suffix('s').unwrap_or(counts),
    };
    let words = if count == 1 { one } else { counts };
    format!("{} {words}", number(count.into()))
}

/// A number for people: with separators above a thousand, otherwise with significant digits only.
pub fn number(value: f64) -> String {
    if value.abs() < 1000.0 {
        let digits = match value.abs() {
            small if small < 10.0 => 2,
            middle if middle < 100.0 => 1,
            _ => 0,
        };
        let text = format!("{value:.digits$}");
        return match text.split_once('.') {
            Some((whole, part)) if part.bytes().all(|b| b == b'0') => whole.into(),
            _ => text,
        };
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && digit != '-' && (digits.len() - at).is_multiple_of(3) && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time in words: minutes, or hours of a long run.
pub fn lasting(seconds: f64) -> String {
    match (seconds / 60.0).ceil() {
        minutes if minutes <= 90.0 => format!("{minutes:.0} min"),
        minutes => format!("{:.1} hours", minutes / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_what_matters() {
        let written = [0.0, 2.5, 12.34, 999.6, 1234.0, -1234567.0].map(number);
        assert_eq!(
            written,
            ["0", "2.50", "12.3", "1000", "1,234", "-1,234,567"]
        );
    }

    #[test]
    fn one_is_singular() {
        let written = [
            (1, "flows"),
            (10, "flows"),
            (1, "switches"),
            (10, "percent"),
        ];
        let written = written.map(|(count, counts)| counted(count, counts));
        assert_eq!(written, ["1 flow", "10 flows", "1 switch", "10 percent"]);
    }
}
