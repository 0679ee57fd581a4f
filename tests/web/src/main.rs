//! Opens the replay viewer's page in a browser, and checks what it shows: `web PAGE PICTURES`. It leaves its
//! pictures in the folder PICTURES.
//!
//! The browser's picture is compared with a software rendering of the same frame.

mod browser;
mod files;
mod picture;

use browser::{Browser, until};
use demo_rts::window::canvas::Canvas;
use demo_rts::window::input::{Input, KeyCode, Modifiers, Press};
use demo_rts::window::settings::Shared;
use demo_rts::window::viewer::raster::Still;
use demo_rts::window::viewer::{Opened, Viewer};
use demo_rts::window::{Screen as _, theme};
use picture::Picture;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let words: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [page, pictures] = words.as_slice() else {
        eprintln!("usage: web PAGE PICTURES");
        return ExitCode::from(2);
    };
    match look(page, pictures) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("web: {why}");
            ExitCode::FAILURE
        }
    }
}

fn look(page: &Path, pictures: &Path) -> Result<(), String> {
    let text = |why: std::io::Error| why.to_string();
    std::fs::create_dir_all(pictures).map_err(text)?;
    let folder = tempfile::tempdir().map_err(text)?;
    let page = page.canonicalize().map_err(text)?;
    let browser = Browser::open(folder.path())?;
    browser.go_to(&format!("file://{}", page.display()))?;
    until("the page waits for a file", || {
        Ok(page_state(&browser)?.filter(|(state, _)| state == "waits"))
    })?;
    refuses(&browser, folder.path())?;
    let size = shows(&browser, &files::golden(), pictures)?;
    keeps(&browser, folder.path(), size)?;
    // Esc returns to the first page, which takes another file.
    browser.press(ESCAPE)?;
    until("Esc returns", || {
        Ok(page_state(&browser)?.filter(|(state, text)| state == "waits" && text.is_empty()))
    })?;
    println!("the page shows and saves valid replays and refuses others");
    Ok(())
}

/// Invalid files are refused with a message.
fn refuses(browser: &Browser, folder: &Path) -> Result<(), String> {
    for (name, bytes, words) in files::wrong(folder)? {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|why| why.to_string())?;
        browser.choose("#file", &path)?;
        shows_error(browser, name, words)?;
    }
    browser.run(DROP)?;
    shows_error(browser, "dropped.replay", "this is not a replay file")
}

fn shows_error(browser: &Browser, name: &str, words: &str) -> Result<(), String> {
    let (state, text) = until(name, || {
        Ok(page_state(browser)?.filter(|(_, text)| text.contains(name)))
    })?;
    println!("{text}");
    let seen = browser.run("return document.getElementById('why').innerText")?;
    match state == "waits" && text.contains(words) && seen.as_str() == Some(&text) {
        true => Ok(()),
        false => Err(format!(
            "{name}: {state}, {text:?}, seen is {seen}, wanted is {words:?}"
        )),
    }
}

/// A replay re-runs to its checksums, and its end looks the same as on this machine.
fn shows(browser: &Browser, replay: &Path, pictures: &Path) -> Result<(u32, u32), String> {
    let text = |why: replay::Error| why.to_string();
    let mut reader = replay::Reader::open(replay).map_err(text)?;
    let checksums = reader.checksums().map_err(text)?.len();
    let before = page_state(browser)?;
    browser.choose("#file", replay)?;
    let agreed = format!("{checksums} checksums agreed");
    until("the match is read", || {
        // The page may still show the state of the previous file.
        let state = page_state(browser)?.filter(|state| Some(state) != before.as_ref());
        match state {
            Some((state, text)) if state != "shows" && !text.is_empty() => Err(text),
            Some((_, text)) if text.contains("checksum differs") => Err(text),
            state => Ok(state.filter(|(_, text)| text.contains(&agreed))),
        }
    })?;
    browser.press(END)?;
    let place = format!("turn {0} of {0} ", reader.turns());
    let state = until("the end", || {
        Ok(page_state(browser)?
            .filter(|(_, text)| text.starts_with(&place) && text.contains("End of the replay")))
    })?;
    println!("{}", state.1);
    let seen = Picture::decode(&browser.screenshot()?)?;
    let own = drawn_here(replay, seen.size())?;
    seen.write(&pictures.join("page.png"))?;
    own.write(&pictures.join("here.png"))?;
    seen.is_like(&own)?;
    Ok(seen.size())
}

/// The browser saves a picture and graphs as files.
fn keeps(browser: &Browser, folder: &Path, size: (u32, u32)) -> Result<(), String> {
    let named = |ending: &str| {
        let files = std::fs::read_dir(folder).map_err(|why| why.to_string())?;
        let mut paths = files.filter_map(|file| Some(file.ok()?.path()));
        Ok(paths.find(|path| path.extension().is_some_and(|found| found == ending)))
    };
    browser.press(F2)?;
    let picture = until("a picture", || named("png"))?;
    let bytes = std::fs::read(&picture).map_err(|why| why.to_string())?;
    let kept = Picture::decode(&bytes)?;
    browser.press(F3)?;
    let graphs = until("graphs", || named("svg"))?;
    let text = std::fs::read_to_string(&graphs).map_err(|why| why.to_string())?;
    match kept.size() == size && text.trim_end().ends_with("</svg>") {
        true => Ok(()),
        false => Err(format!(
            "the picture has {:?}, the graphs are {text}",
            kept.size()
        )),
    }
}

/// The page's state and text.
fn page_state(browser: &Browser) -> Result<Option<(String, String)>, String> {
    let state = browser.run("return [document.body.dataset.state, document.body.dataset.text]")?;
    let word = |place: usize| state[place].as_str().map(str::to_owned);
    match word(0).zip(word(1)) {
        Some((state, text)) if state == "broken" => Err(text),
        state => Ok(state),
    }
}

/// The end of a replay, drawn on this machine.
fn drawn_here(replay: &Path, (wide, high): (u32, u32)) -> Result<Picture, String> {
    let opened = Opened::file(replay).map_err(|why| why.to_string())?;
    let mut viewer = Viewer::new(opened, Shared::default());
    let mut canvas = Canvas::new();
    let size = (wide as f32, high as f32);
    let mut now = Duration::from_secs(1);
    let mut frame = |keys: Vec<Press>| {
        canvas.begin(size, 1.0);
        now += FRAME;
        let input = Input {
            size,
            now,
            seconds: FRAME.as_secs_f32(),
            keys,
            ..Input::default()
        };
        viewer.frame(&input, &mut canvas);
        viewer.state()
    };
    frame(vec![Press {
        key: KeyCode::End,
        with: Modifiers::default(),
        repeat: false,
    }]);
    // A frame has a time limit for stepping, and this build is slow.
    let mut state = String::new();
    let begun = browser::now();
    while !(state.contains("End of the replay") && state.contains("agreed")) {
        if begun.elapsed() > RUN_HERE_WITHIN {
            return Err(format!("the end was not reached here: {state}"));
        }
        state = frame(Vec::new());
    }
    // The next frame draws what has just arrived.
    frame(Vec::new());
    let still = Still::of(&mut canvas, theme::GROUND);
    Ok(Picture::of((wide, high), still.draw()))
}

/// Drops a file on the page.
const DROP: &str = "
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(['Dear Bob,'], 'dropped.replay'));
    document.getElementById('waits').dispatchEvent(
        new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));";
/// Longer than a debug build on a busy machine takes for the replay.
const RUN_HERE_WITHIN: Duration = Duration::from_secs(240);
/// The time between frames.
const FRAME: Duration = Duration::from_millis(16);
const END: char = '\u{e010}';
const ESCAPE: char = '\u{e00c}';
const F2: char = '\u{e032}';
const F3: char = '\u{e033}';
