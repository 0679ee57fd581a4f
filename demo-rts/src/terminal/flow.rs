//! Wrapping: lines break between choices and are never cut.

/// Breaks `text` into lines of at most `width` characters. Lines break between choices, which two spaces separate,
/// or within a choice longer than a line.
pub(super) fn wrap(text: &str, width: u16) -> Vec<String> {
    let width = usize::from(width.max(1));
    let mut lines: Vec<String> = Vec::new();
    for choice in text
        .split("  ")
        .map(str::trim)
        .filter(|choice| !choice.is_empty())
    {
        if !append(&mut lines, "  ", choice, width) {
            place(&mut lines, choice, width);
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// Begins a line with a choice. Breaks it between words, and within a word only where that is longer than a line.
fn place(lines: &mut Vec<String>, choice: &str, width: usize) {
    lines.push(String::new());
    for word in choice.split(' ') {
        if append(lines, " ", word, width) {
            continue;
        }
        let letters: Vec<char> = word.chars().collect();
        lines.extend(
            letters
                .chunks(width)
                .map(|part| part.iter().collect::<String>()),
        );
    }
}

/// Appends to the last line, if there is room.
fn append(lines: &mut [String], gap: &str, text: &str, width: usize) -> bool {
    let Some(line) = lines.last_mut() else {
        return false;
    };
    let gap = if line.is_empty() { "" } else { gap };
    let long = line.chars().count() + gap.len() + text.chars().count();
    if long <= width {
        line.push_str(gap);
        line.push_str(text);
    }
    long <= width
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_break_between_choices_without_losing_text() {
        let text = "a one two  b three  c four";
        assert_eq!(wrap(text, 80), [text]);
        assert_eq!(wrap(text, 12), ["a one two", "b three", "c four"]);
        assert_eq!(wrap(text, 18), ["a one two  b three", "c four"]);
        assert_eq!(wrap("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
        assert!(wrap("", 10).is_empty());
    }
}
