#![no_main]
use tests::targets::{Scene, session};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    let scene = match first % 4 {
        0 => Scene::Stranger,
        1 => Scene::Lobby,
        2 => Scene::Loading,
        _ => Scene::Match,
    };
    session(scene, rest);
});
