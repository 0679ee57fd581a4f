use super::*;
use crate::tally::Summary;
use lockstep::{
    Checksum, Desync, DesyncSide, EndReason, Ended, Gone, MatchId, Outcome, PeerId, Plan,
    RosterCause, SeatInfo, TurnNumber,
};
use serde_json::{Value, json};
use std::time::Duration;

fn peer(number: u8) -> PeerId {
    PeerId([number; 32])
}

fn started() -> Event {
    let seats = (0..3)
        .map(|seat| SeatInfo {
            seat: Seat(seat),
            peer: peer(seat),
            name: format!("p{seat}"),
        })
        .collect();
    Event::Started {
        match_id: MatchId([0x7f; 16]),
        own: vec![Seat(1)],
        seats,
        plan: Plan::default(),
    }
}

/// The only line for an event after a start, as an object.
fn object(event: &Event) -> Value {
    let all = Line::of(event);
    assert_eq!(all.len(), 1, "{event:?}");
    serde_json::to_value(&all[0]).unwrap()
}

/// Asserts these fields; the object may have others.
fn holds(event: &Event, wanted: Value) {
    let object = object(event);
    for (field, value) in wanted.as_object().unwrap() {
        assert_eq!(object.get(field), Some(value), "{field} of {object}");
    }
}

#[test]
fn documented_lines_have_their_fields() {
    holds(
        &started(),
        json!({"event":"start","seat":1,"seats":3,"match_id":"7f7f-7f7f"}),
    );
    holds(
        &Event::Turn {
            turn: TurnNumber(7),
            tick: 32,
            checksum: Checksum(0xab),
            step: Duration::ZERO,
        },
        json!({"event":"turn","turn":7,"tick":32,"checksum":"000000ab"}),
    );
    holds(
        &Event::Stalled {
            turn: TurnNumber(7),
            on: vec![Seat(0), Seat(2)],
            since: Duration::from_millis(1_250),
        },
        json!({"event":"stall","turn":7,"waiting_on":[0,2],"ms":1250}),
    );
    let seat = Seat(1);
    holds(
        &Event::Backlog { seat, commands: 3 },
        json!({"event":"backlog","seat":1,"commands":3}),
    );
    holds(
        &Event::BacklogEnded { seat },
        json!({"event":"backlog","seat":1,"commands":0}),
    );
    holds(
        &Event::PlanChanged {
            turn: TurnNumber(9),
            plan: Plan {
                tick_ms: 88,
                ..Plan::default()
            },
            slow: vec![Seat(1)],
            way: None,
        },
        json!({"event":"plan","turn":9,"ticks":4,"delay":2,"tick_ms":88,"slow":[1],"way":null}),
    );
    holds(
        &Event::RosterChanged {
            turn: TurnNumber(5),
            epoch: 1,
            seats: vec![Seat(0), Seat(1)],
            gone: vec![
                Gone {
                    cause: RosterCause::Cheated,
                    seats: vec![Seat(3)],
                },
                Gone {
                    cause: RosterCause::Lost,
                    seats: vec![Seat(2)],
                },
            ],
            back: vec![Seat(1)],
            cause: RosterCause::Cheated,
        },
        json!({"event":"roster","turn":5,"epoch":1,"seats":[0,1],"left":[2,3],
            "gone":[{"cause":"cheated","seats":[3]},{"cause":"lost","seats":[2]}],
            "back":[1],"cause":"cheated"}),
    );
    let ticket = Line::Ticket {
        ticket: "abc".into(),
        reopens: false,
    };
    assert_eq!(
        serde_json::to_value(ticket).unwrap(),
        json!({"event":"ticket","ticket":"abc"})
    );
}

#[test]
fn a_desync_line_names_each_differing_world() {
    let side = |seat: u8, checksum| DesyncSide {
        seat: Seat(seat),
        peer: peer(seat),
        own: seat == 1,
        checksum: Checksum(checksum),
        log_hash: None,
    };
    let event = Event::Desync(Desync {
        turn: TurnNumber(40),
        reports: vec![side(0, 1), side(1, 1), side(2, 0xffff_ffff)],
        minority: vec![peer(2)],
        goes_on: true,
        report: Some("desync-40".into()),
    });
    holds(
        &event,
        json!({"event":"desync","turn":40,"seat":2,"ours":"00000001","theirs":"ffffffff","odd":[2],"goes_on":true,"report":"desync-40"}),
    );
}

#[test]
fn an_end_line_has_every_documented_field() {
    let ended = Ended {
        reason: EndReason::Decided,
        turns: 500,
        checksum: Some(Checksum(0xdead_beef)),
        outcome: Some(Outcome {
            winner: Some(Seat(2)),
        }),
        agreed: 3,
        of: 3,
        is_final: true,
        branch_of: None,
    };
    let mut summary = Summary::default();
    summary.counts.issued = 10;
    summary.leads = vec![LeadLine {
        seats: vec![1],
        ms: 31,
        usual_ms: 200,
        stands_out: true,
    }];
    summary.counts.executed = 8;
    summary.counts.refused = 2;
    summary.replay = Some("a.replay".into());
    summary.latency.p50 = Some(300.4);
    let line = Line::End(Box::new(EndLine::new(&ended, &summary)));
    let mut bytes = Vec::new();
    write_json(&mut bytes, &line).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.starts_with("{\"event\":\"end\",\"reason\":\"decided\",\"turns\":500,"));
    assert!(text.ends_with("}\n") && text.matches('\n').count() == 1);
    let object: Value = serde_json::from_str(&text).unwrap();
    for field in [
        "reason",
        "turns",
        "checksum",
        "winner",
        "issued",
        "executed",
        "refused",
        "latency_ms",
        "stalled_ms",
        "late_turns",
        "leads",
        "wall_ms",
        "bytes_sent",
        "bytes_received",
        "packets_sent",
        "step_us",
        "replay",
    ] {
        assert!(object.get(field).is_some(), "{field}");
    }
    assert_eq!(object["checksum"], "deadbeef");
    assert_eq!(object["winner"], 2);
    assert_eq!(object["latency_ms"]["p50"], 300.4);
    assert_eq!(object["unagreed"], false);
    let lead = json!({"seats": [1], "ms": 31, "usual_ms": 200, "stands_out": true});
    assert_eq!(object["leads"], json!([lead]));
    let of_a_branch = Ended {
        branch_of: Some(MatchId([7; 16])),
        ..ended
    };
    let line = serde_json::to_value(EndLine::new(&of_a_branch, &summary)).unwrap();
    assert_eq!(
        (&line["unagreed"], &line["branch_of"]),
        (&json!(true), &json!("0707-0707"))
    );
    let text = crate::plain::text(&Line::End(Box::new(EndLine::new(&of_a_branch, &summary))));
    let text = text.expect("an end has a text");
    assert!(text.contains("counts as unagreed"));
    assert!(text.contains("seat 1: batches left 31 ms before"));
    for field in ["p50", "p95", "p99", "max"] {
        assert!(object["latency_ms"].get(field).is_some(), "{field}");
    }
    for field in ["p50", "max"] {
        assert!(object["step_us"].get(field).is_some(), "{field}");
    }
}

#[test]
fn a_line_of_one_of_several_peers_names_its_peer() {
    let line = Line::Ticket {
        ticket: "abc".into(),
        reopens: false,
    };
    let mut bytes = Vec::new();
    write_json(
        &mut bytes,
        &OfPeer {
            line: &line,
            peer: 2,
        },
    )
    .unwrap();
    assert_eq!(
        bytes,
        b"{\"event\":\"ticket\",\"ticket\":\"abc\",\"peer\":2}\n"
    );
}

#[test]
fn what_hides_in_a_terminal_is_escaped_in_json() {
    let mut written = Vec::new();
    write_json(&mut written, &"\u{9b}2J\u{202e}\u{200b}Ada").expect("into memory");
    let text = String::from_utf8(written).expect("JSON is text");
    assert_eq!(text, "\"\\u009b2J\\u202e\\u200bAda\"\n");
}
