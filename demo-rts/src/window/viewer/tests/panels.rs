//! What the panels of the viewer tell: trouble, times, and the list of events.

use super::*;

#[test]
fn trouble_is_shown_for_a_while_whenever_it_is_found() {
    let recorded = record(40);
    let mut viewer = viewer(&recorded);
    viewer.going = Going::Still;
    let mut canvas = Canvas::new();
    let mut text_at = |viewer: &mut Viewer, seconds| {
        let input = Input {
            size: SIZES[0],
            now: Duration::from_secs(seconds),
            ..Input::default()
        };
        canvas.begin(SIZES[0], 1.0);
        viewer.frame(&input, &mut canvas);
        check_texts(&canvas);
        let texts = canvas.texts().iter().map(|text| text.text.as_str());
        texts.collect::<Vec<_>>().join(" ")
    };
    let note = "After 12 turns the world's checksum differs";
    let brief = "differs after 12 turns";
    // The window is open for long already.
    assert!(!text_at(&mut viewer, 100).contains(brief));
    viewer.survey.found.differs_after = Some(12);
    for seconds in [101, 120] {
        let text = text_at(&mut viewer, seconds);
        assert!(text.contains(note) && text.contains(brief), "{text}");
    }
    let text = text_at(&mut viewer, 122);
    assert!(!text.contains(note) && text.contains(brief), "{text}");
}
