//! What is kept of words that others send.

/// Whether a character stands for itself where a name or a line is shown. Control and format characters do not: they
/// break lines, turn the direction of what follows, or are not seen at all, so that two names look alike.
///
/// Format characters and separators of lines as of Unicode 16, categories Cc, Cf, Zl and Zp; and letters and marks that
/// are blank.
pub fn is_shown(character: char) -> bool {
    let hidden = matches!(
        character,
        '\u{AD}'
            | '\u{34F}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180D}'
            | '\u{180F}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FFA0}'
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

/// What is kept of a peer's name: at most 32 bytes of what is shown, with single spaces between its words. A name of
/// nothing else becomes `player`.
pub(crate) fn tidy_name(name: &str) -> String {
    let shown: String = name.chars().filter(|at| is_shown(*at)).collect();
    let words: Vec<&str> = shown.split_whitespace().collect();
    let tidy = tidy_text(&words.join(" "), MAX_NAME);
    match tidy.trim_end() {
        "" => "player".to_owned(),
        tidy => tidy.to_owned(),
    }
}

/// A name with a number behind it, from the second on: `Ada (2)`.
pub(crate) fn numbered_name(name: &str, number: u32) -> String {
    if number == 1 {
        return name.to_owned();
    }
    let number = format!(" ({number})");
    let name = tidy_text(name, MAX_NAME - number.len() as u32);
    format!("{}{number}", name.trim_end())
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
            ("A\u{34f}d\u{fe0f}a\u{3164}", "Ada"),
            (" Ada \u{2003} B ", "Ada B"),
            ("\u{2800}\u{a0}", "player"),
            ("", "player"),
        ] {
            assert_eq!(tidy_name(sent), kept, "{sent:?}");
        }
    }

    #[test]
    fn a_numbered_name_is_tidy() {
        assert_eq!(numbered_name("Ada", 1), "Ada");
        let long = numbered_name(&tidy_name(&format!("{} x", "é".repeat(13))), 12);
        assert_eq!(long, format!("{} (12)", "é".repeat(13)));
        let longest = numbered_name(&"y".repeat(32), 2);
        assert_eq!((longest.len(), tidy_name(&longest)), (32, longest.clone()));
    }

    #[test]
    fn a_name_is_cut_between_characters() {
        assert_eq!(tidy_name(&"é".repeat(40)).len(), 32);
        assert_eq!(tidy_name(&format!("x{}", "é".repeat(40))).len(), 31);
        assert_eq!(tidy_text("abc", 0), "");
    }
}
