//! Messages of panics under a drawn screen. A match catches those of its world and goes on drawing.

use std::io::Write;
use std::panic;
use std::sync::{Mutex, Once, PoisonError};

/// From now on messages are kept, and nothing is printed on the screen.
pub fn keep() {
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |why| {
            let thread = std::thread::current();
            let name = thread.name().unwrap_or("unnamed");
            if !is_kept(format!("thread '{name}' {why}")) {
                print(why);
            }
        }));
    });
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.get_or_insert_default();
}

/// Prints the messages on the ordinary screen, as later ones will be.
pub fn print() {
    for message in take() {
        // A closed stderr leaves no way to report its own failure.
        let _ = writeln!(std::io::stderr(), "{message}");
    }
}

fn take() -> Vec<String> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.take().unwrap_or_default()
}

/// Whether a screen is drawn. The first messages are kept then.
fn is_kept(message: String) -> bool {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(kept) = kept.as_mut() else {
        return false;
    };
    if kept.len() < MOST_KEPT {
        kept.push(message);
    }
    true
}

static HOOK: Once = Once::new();
/// `None` while no screen is drawn.
static KEPT: Mutex<Option<Vec<String>>> = Mutex::new(None);
const MOST_KEPT: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_under_a_drawn_screen_waits_for_the_ordinary_one() {
        keep();
        let world = || panic!("no such coin");
        assert!(panic::catch_unwind(world).is_err());
        let kept = take();
        let is_there = kept.iter().any(|message| message.contains("no such coin"));
        assert!(is_there, "{kept:?}");
        assert!(!is_kept("later".to_owned()));
    }
}
