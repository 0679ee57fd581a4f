//! Compares two traces line by line.

/// The first line in which two traces differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Counted from 1, without comments.
    pub line: u32,
    /// The golden line; `None` beyond the end.
    pub golden: Option<String>,
    /// The line found; `None` beyond the end.
    pub found: Option<String>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".to_owned());
        write!(
            f,
            "line {}: golden `{}`, found `{}`",
            self.line,
            shown(&self.golden),
            shown(&self.found)
        )
    }
}

/// Compares two traces; lines that begin with `#` are comments. Returns the number of equal lines.
///
/// # Errors
/// The first difference.
pub fn compare(golden: &str, found: &str) -> Result<u32, Difference> {
    let mut golden = lines(golden);
    let mut found = lines(found);
    for line in 1.. {
        match (golden.next(), found.next()) {
            (None, None) => return Ok(line - 1),
            (left, right) if left == right => {}
            (left, right) => {
                return Err(Difference {
                    line,
                    golden: left.map(str::to_owned),
                    found: right.map(str::to_owned),
                });
            }
        }
    }
    unreachable!("a text has less than 2^32 lines")
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_differing_line_is_named() {
        let golden = "# made by\na 1\nb 2\nc 3\n";
        assert_eq!(compare(golden, "a 1\n# why\nb 2\nc 3"), Ok(3));
        let other = compare(golden, "a 1\nb 9\nc 9\n").unwrap_err();
        assert_eq!(other.to_string(), "line 2: golden `b 2`, found `b 9`");
        let short = compare(golden, "a 1\nb 2\n").unwrap_err();
        assert_eq!(short.to_string(), "line 3: golden `c 3`, found `nothing`");
        let long = compare("", "a 1").unwrap_err();
        assert_eq!(long.to_string(), "line 1: golden `nothing`, found `a 1`");
    }
}
