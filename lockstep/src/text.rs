//! What is kept of words that others send.

/// Whether a character stands for itself where a name or a line is shown. Control and format characters do not: they
/// break lines, turn the direction of what follows, or are not seen at all, so that two names look alike.
///
/// Format characters and separators of lines as of Unicode 16, categories Cc, Cf, Zl and Zp.
pub fn is_shown(character: char) -> bool {
    let hidden = matches!(
        character,
        '\u{AD}'
            | '\u{600}'..='\u{605}'
            | '\u{61C}'
            | '\u{6DD}'
            | '\u{70F}'
            | '\u{890}'..='\u{891}'
            | '\u{8E2}'
            | '\u{180E}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}'
            | '\u{FFF9}'..='\u{FFFB}'
            | '\u{110BD}'
            | '\u{110CD}'
            | '\u{13430}'..='\u{1343F}'
            | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}'
    );
    !hidden && !character.is_control()
}

/// JSON with escapes in the place of all characters that [`is_shown`] denies: serializers keep most of them as they are, and
/// a terminal would obey some.
pub fn escape_hidden(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match is_shown(character) {
            true => escaped.push(character),
            false => {
                let units = character.encode_utf16(&mut [0; 2]).to_vec();
                escaped.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
            }
        }
    }
    escaped
}

/// What is kept of a peer's name: at most 32 bytes of what is shown.
pub(crate) fn tidy_name(name: &str) -> String {
    tidy_text(name, MAX_NAME)
}

/// At most `most` bytes of `text`, and of that what is shown.
pub(crate) fn tidy_text(text: &str, most: u32) -> String {
    let mut tidy = String::new();
    for character in text.chars().filter(|character| is_shown(*character)) {
        if tidy.len() + character.len_utf8() > most as usize {
            break;
        }
        tidy.push(character);
    }
    tidy
}

/// Bytes of a peer's name.
pub(crate) const MAX_NAME: u32 = 32;
/// Bytes of a build's name.
pub(crate) const MAX_BUILD: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_of_json_are_escaped() {
        let json = r#"{"name":"Zoë\n"}"#;
        assert_eq!(escape_hidden(json), json);
        let hidden = "\"\u{7f}\u{9b}2K\u{202e}\u{e0041}\"";
        let escaped = r#""\u007f\u009b2K\u202e\udb40\udc41""#;
        assert_eq!(escape_hidden(hidden), escaped);
    }

    #[test]
    fn invisible_and_direction_characters_are_left_out() {
        for (sent, kept) in [
            ("Ada", "Ada"),
            ("Ada\u{200b}", "Ada"),
            ("\u{202e}adA", "adA"),
            ("a\u{2066}b\u{2069}c\u{feff}", "abc"),
            ("two\nlines\u{2028}more", "twolinesmore"),
            ("\u{1b}[2Jred", "[2Jred"),
            ("Łukasz 李 Ömer", "Łukasz 李 Ömer"),
            ("tags\u{e0041}", "tags"),
        ] {
            assert_eq!(tidy_name(sent), kept, "{sent:?}");
        }
    }

    #[test]
    fn a_name_is_cut_between_characters() {
        assert_eq!(tidy_name(&"é".repeat(40)).len(), 32);
        assert_eq!(tidy_name(&format!("x{}", "é".repeat(40))).len(), 31);
        assert_eq!(tidy_text("abc", 0), "");
    }
}
