use super::*;
use crate::Incarnation;

fn at(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn peer(peer: u8) -> PeerId {
    PeerId([peer; 32])
}

/// A link to a peer, with its number, last heard then.
fn link(to: u8, heard: u64) -> ProvedLink {
    ProvedLink {
        link: LinkId(u32::from(to)),
        peer: peer(to),
        run: Incarnation([to; 16]),
        heard_at: at(heard),
    }
}

/// Peers 1 and 2 are contacts.
fn sources() -> Sources {
    let contact = |at: u8| Contact {
        peer: peer(at),
        addresses: vec![format!("{at}.a"), format!("{at}.b")],
    };
    Sources::new(at(0), vec![contact(1), contact(2)])
}

fn choose(sources: &mut Sources, ms: u64, links: &[ProvedLink], last: Option<u32>) -> Option<u32> {
    let chosen = sources.choose(at(ms), links, last.map(LinkId), |_| false);
    chosen.map(|link| link.0)
}

#[test]
fn contacts_are_dialled_in_turn_at_their_addresses_until_they_are_reached() {
    let mut sources = sources();
    let mut dials = |ms, links: &[ProvedLink]| -> Vec<String> {
        let dials = sources.dials(at(ms), links).into_iter();
        let addresses = dials.filter_map(|output| match output {
            Output::Dial { address, .. } => Some(address),
            _ => None,
        });
        addresses.collect()
    };
    assert_eq!(dials(0, &[]), ["1.a", "2.a"]);
    assert_eq!(dials(999, &[]), [""; 0]);
    assert_eq!(dials(1_000, &[link(1, 0)]), ["2.b"]);
    assert_eq!(dials(2_000, &[]), ["1.b", "2.a"]);
}

#[test]
fn another_peer_is_asked_once_the_source_is_silent_or_gives_no_answer() {
    let links = [link(1, 0), link(2, 0)];
    let mut silent = sources();
    assert_eq!(choose(&mut silent, 100, &links, None), Some(2));
    assert_eq!(silent.check(at(399), &links, false), Checked::Answers);
    assert_eq!(
        silent.check(at(400), &links, false),
        Checked::ToProbe(LinkId(2))
    );
    assert_eq!(silent.check(at(699), &links, false), Checked::Answers);
    assert_eq!(
        silent.check(at(3_100), &links, false),
        Checked::Silent(LinkId(2))
    );
    assert_eq!(silent.unheard_since(peer(2)), Some(at(100)));
    assert_eq!(choose(&mut silent, 3_100, &links, Some(2)), Some(1));
    for (stands_still, patience) in [(false, 10_000), (true, 3_000)] {
        let mut mute = sources();
        choose(&mut mute, 0, &[link(1, 0)], None);
        let check = |mute: &mut Sources, ms: u64| mute.check(at(ms), &[link(1, ms)], stands_still);
        assert_eq!(check(&mut mute, patience - 1), Checked::ToProbe(LinkId(1)));
        assert_eq!(check(&mut mute, patience), Checked::Unanswered(LinkId(1)));
        assert_eq!(mute.unheard_since(peer(1)), None);
    }
}

#[test]
fn strangers_are_asked_only_where_no_contact_helps_for_a_while() {
    let mut sources = sources();
    let links = [link(9, 50)];
    assert_eq!(choose(&mut sources, 2_999, &links, None), None);
    assert_eq!(choose(&mut sources, 3_000, &links, None), Some(9));
    sources.pass_over(at(3_000));
    assert_eq!(choose(&mut sources, 4_999, &links, None), None);
    assert_eq!(choose(&mut sources, 5_000, &links, None), Some(9));
}

#[test]
fn a_peer_is_passed_over_longer_after_each_failure_and_for_good_after_a_lie() {
    let (mut sources, links) = (sources(), [link(1, 0)]);
    let mut now = 0;
    for seconds in [2, 4, 8, 16, 16] {
        assert_eq!(choose(&mut sources, now, &links, None), Some(1));
        sources.back_off(at(now));
        now += seconds * 1_000;
        assert_eq!(choose(&mut sources, now - 1, &links, None), None);
    }
    choose(&mut sources, now, &links, None);
    sources.reset_failures();
    sources.back_off(at(now));
    assert_eq!(choose(&mut sources, now + 2_000, &links, None), Some(1));
    sources.distrust();
    assert_eq!(
        choose(&mut sources, u64::from(u32::MAX), &links, None),
        None
    );
}

#[test]
fn answers_count_where_they_are_awaited() {
    let (mut sources, links) = (sources(), [link(1, 0)]);
    let page = |from, turns| Answered::Page { from, turns };
    choose(&mut sources, 0, &links, None);
    assert!(!sources.answered(at(1), page(0, 9), Some(0)), "not asked");
    assert!(sources.answered(at(1), Answered::Outline, None));
    assert!(!sources.answered(at(1), Answered::Outline, None));
    assert!(sources.may_ask_log());
    sources.log_asked(at(1));
    assert!(!sources.may_ask_log());
    sources.ask_log_again();
    assert!(sources.may_ask_log());
    sources.log_asked(at(1));
    assert!(
        !sources.answered(at(2), page(3, 9), Some(4)),
        "another page"
    );
    assert!(sources.answered(at(2), page(4, 9), Some(4)));
    assert_eq!(sources.source_has(), Some(9));
    assert!(!sources.brings_nothing(at(9_999)) && sources.brings_nothing(at(10_000)));
    sources.moved(at(2_000));
    assert!(!sources.brings_nothing(at(11_999)));
}

#[test]
fn only_probes_of_the_source_that_it_was_sent_tell_how_far_it_is() {
    let (mut sources, links) = (sources(), [link(1, 0), link(2, 0)]);
    let answered = |sources: &mut Sources, ms, link, sent_us| {
        sources.probe_answered(at(ms), LinkId(link), sent_us);
        sources.one_way()
    };
    assert_eq!(choose(&mut sources, 100, &links, None), Some(2));
    assert_eq!(answered(&mut sources, 200, 1, 100_000), at(0), "elsewhere");
    assert_eq!(answered(&mut sources, 200, 2, 200_000), at(0), "unasked");
    let probe = Checked::ToProbe(LinkId(2));
    assert_eq!(sources.check(at(400), &links, false), probe);
    assert_eq!(answered(&mut sources, 600, 2, 100_000), at(250));
    assert_eq!(answered(&mut sources, 640, 2, 400_000), at(120));
    assert_eq!(sources.check(at(700), &links, false), probe);
    assert_eq!(answered(&mut sources, 900, 2, 400_000), at(120), "again");
    sources.pass_over(at(900));
    assert_eq!(choose(&mut sources, 900, &links, None), Some(1));
    assert_eq!(sources.one_way(), at(0), "another source");
    // Answers to the oldest of many probes come too late.
    for ms in (1_200..).step_by(300).take(PROBES) {
        let links = [link(1, ms)];
        assert_eq!(
            sources.check(at(ms), &links, false),
            Checked::ToProbe(LinkId(1))
        );
    }
    assert_eq!(answered(&mut sources, 3_400, 1, 900_000), at(0));
}

#[test]
fn two_joiners_that_ask_each_other_have_found_no_match() {
    let (mut sources, links) = (sources(), [link(1, 0)]);
    choose(&mut sources, 20_000, &links, None);
    sources.note_joiner(at(20_000), peer(1), MatchId([7; 16]));
    sources.answered(at(20_000), Answered::Nothing, None);
    assert!(sources.no_source_left(at(20_000)));
    let met = |ms, of| {
        sources
            .joiners(at(ms), MatchId([of; 16]))
            .collect::<Vec<_>>()
    };
    assert_eq!(met(29_999, 7), [peer(1)]);
    assert_eq!((met(30_000, 7), met(20_000, 8)), (vec![], vec![]));
    assert!(sources.gives_up(at(30_000)));
    // A peer that does not look for the match has found it.
    choose(&mut sources, 40_000, &links, None);
    sources.answered(at(40_000), Answered::Nothing, None);
    assert!(!sources.no_source_left(at(40_000)) && !sources.gives_up(at(69_999)));
}

#[test]
fn peers_that_never_have_anything_hold_no_joiner() {
    let (mut sources, links) = (sources(), [link(1, 0)]);
    let answers = |sources: &mut Sources, seconds: u64, answer| {
        let ms = seconds * 1_000;
        choose(sources, ms, &links, None);
        sources.answered(at(ms), answer, None);
        sources.pass_over(at(ms));
        sources.gives_up(at(ms))
    };
    let given_up = |sources: &mut Sources, from: u64| {
        let mut seconds = (from..from + 1_000).step_by(2);
        seconds.find(|at| answers(sources, *at, Answered::Nothing))
    };
    assert_eq!(given_up(&mut sources, 0), Some(88));
    assert!(!answers(&mut sources, 100, Answered::Outline));
    assert_eq!(given_up(&mut sources, 110), Some(198));
    let mut slept = self::sources();
    assert!(!answers(&mut slept, 0, Answered::Nothing));
    slept.skip(at(500_000), at(500_000));
    assert_eq!(given_up(&mut slept, 500), Some(588));
}

#[test]
fn a_peer_that_is_asked_is_no_joiner_before_it_answers() {
    let (mut sources, match_id) = (sources(), MatchId([7; 16]));
    choose(&mut sources, 0, &[link(1, 0)], None);
    for joiner in [1, 2] {
        sources.note_joiner(at(0), peer(joiner), match_id);
    }
    assert!(
        !sources.asks_joiners_only(at(0), match_id),
        "it may be a host"
    );
    sources.answered(at(50), Answered::Nothing, None);
    sources.pass_over(at(50));
    assert!(sources.asks_joiners_only(at(50), match_id));
}

#[test]
fn the_way_back_ends_once_all_contacts_have_refused() {
    let mut sources = sources();
    let mut refused =
        |expected, address| sources.refused(DialledLink { expected, address }, JoinRefused::NoSeat);
    assert!(!refused(None, "9.a"));
    assert!(!refused(Some(peer(9)), "1.a"));
    assert!(!refused(None, "1.b"));
    assert!(refused(Some(peer(2)), ""));
    assert_eq!(sources.refusal(), Some(&JoinRefused::NoSeat));
}

#[test]
fn a_sleep_is_no_silence() {
    let (mut sources, links) = (sources(), [link(1, 0)]);
    choose(&mut sources, 0, &links, None);
    sources.skip(at(60_000), at(60_000));
    assert_eq!(
        sources.check(at(60_000), &links, false),
        Checked::ToProbe(LinkId(1))
    );
    assert!(!sources.gives_up(at(60_000)) && !sources.brings_nothing(at(60_000)));
}

#[test]
fn a_source_adds_few_addresses() {
    let mut sources = sources();
    let told = |from: usize| (from..from + 10).map(|at| at.to_string()).collect();
    for from in [0, 5, 10, 20] {
        sources.learn(peer(1), told(from));
    }
    assert_eq!(sources.addresses(peer(1)).len(), ADDRESSES);
    assert!(sources.is_contact(peer(1)));
}
