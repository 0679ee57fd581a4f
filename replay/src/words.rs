//! Numbers and times as text.

use std::time::Duration;

/// `5,520`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Match time: `4:05`, or `1:04:05`.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// `1 turn`, `2,210 turns`.
pub(crate) fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", thousands(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn match_time() {
        let seconds = |seconds| clock(Duration::from_secs(seconds));
        assert_eq!(seconds(0), "0:00");
        assert_eq!(seconds(1_104), "18:24");
        assert_eq!(seconds(3_845), "1:04:05");
        let most = clock(Duration::from_millis(u64::MAX));
        assert_eq!(most, "5124095576030:25:51");
    }
}
