//! What the viewer's page in a browser says.

/// A file that the browser could not read.
pub const UNREADABLE: &str = "The browser cannot read this file.";

/// A file that cannot be shown, and why.
pub fn unshown(name: &str, why: &replay::Error) -> String {
    format!("{name} cannot be shown: {why}.")
}

/// The page cannot go on.
pub fn broken(why: &str) -> String {
    format!("The viewer stopped, and the page must be loaded again: {why}")
}
