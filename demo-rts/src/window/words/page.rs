//! Texts of the viewer's page in a browser.

pub const UNREADABLE: &str = "The browser cannot read this file.";

pub fn unshown(name: &str, why: &replay::Error) -> String {
    format!("Cannot show {name}: {why}.")
}

pub fn broken(why: &str) -> String {
    format!("The viewer stopped: {why}. Reload the page.")
}
