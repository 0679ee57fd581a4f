//! Several real peers in one process, each with its own thread, session and QUIC endpoint; bots play.

mod agreement;
mod show;

use crate::bot::Level;
use crate::cli::Common;
use crate::exit::{self, Problem};
use crate::options;
use crate::peer::{Bots, KeyChoice, Part, Peer, now};
use crate::plain;
use crate::signals::QuitRequest;
use crate::tally::Summary;
use crate::terminal;
use crate::words::count;
use crate::world::{Effect, World};
use agreement::Agreement;
use lockstep::log::Terms;
use lockstep::{Ended, Event, Status};
use show::Show;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Plays a match of that many peers, then checks that all computed the same.
pub fn run(peers: u8, common: &Common) -> Result<ExitCode, Problem> {
    options::networked(common.plan)?;
    if let Some(name) = &common.name {
        options::short_name(name, options::NAME_BYTES - NUMBERED)?;
    }
    let asked = QuitRequest::listen().map_err(Problem::Terminal)?;
    let record = common.record.clone();
    let record = record.unwrap_or_else(|| free_name(Path::new(""), peers.into(), common.json));
    let started = start_all(peers, common, &record)?;
    let mut show = if common.json {
        Show::json()
    } else if common.headless || !terminal::is_there() {
        Show::plain(peers)?
    } else {
        Show::screen(peers, common.turns.unwrap_or(TURNS), &asked)?
    };
    let (sender, news) = sync_channel(NEWS);
    let threads: Vec<JoinHandle<()>> = started
        .into_iter()
        .enumerate()
        .map(|(index, peer)| spawn(index, peer, asked.clone(), sender.clone()))
        .collect();
    drop(sender);
    let mut outcome = Outcome::of(threads.len());
    let watched = outcome.gather(&news, &mut show, &asked);
    if watched.is_err() {
        // The other peers still leave gracefully.
        asked.set();
        for _ in news.iter() {}
    }
    for thread in threads {
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
    let closed = show.close();
    watched.and(closed).map_err(Problem::Terminal)?;
    outcome.report(&record, common)
}

/// What peer threads report.
enum News {
    Events(Vec<Event>),
    /// The first peer's world, a few times a second.
    World(Box<World>, Status, Summary),
    /// Defeats in the first peer's world.
    Defeated(Vec<Effect>),
    /// The peer has ended.
    Over(Ended, Summary),
}

/// The results of all peers.
struct Outcome {
    agreement: Agreement,
    ends: Vec<Option<(Ended, Summary)>>,
}

impl Outcome {
    fn of(peers: usize) -> Outcome {
        Outcome {
            agreement: Agreement::of(peers),
            ends: vec![None; peers],
        }
    }

    /// Collects reports until the last peer has ended.
    fn gather(
        &mut self,
        news: &Receiver<(usize, News)>,
        show: &mut Show,
        asked: &QuitRequest,
    ) -> std::io::Result<()> {
        loop {
            match news.recv_timeout(FRAME) {
                Ok((peer, News::Events(events))) => {
                    for event in &events {
                        self.agreement.take(event);
                        show.event(peer, event)?;
                    }
                }
                Ok((_, News::World(world, status, summary))) => {
                    show.world(*world, status, &summary, self.agreement.agreed());
                }
                Ok((_, News::Defeated(effects))) => show.effects(&effects),
                Ok((peer, News::Over(ended, summary))) => {
                    show.over(peer, &ended, &summary)?;
                    self.ends[peer] = Some((ended, summary));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            if show.refresh()? {
                asked.set();
            }
        }
    }

    /// Prints and verifies the results, suggests commands, and returns the exit code.
    fn report(&self, record: &Path, common: &Common) -> Result<ExitCode, Problem> {
        let worst = self
            .ends
            .iter()
            .map(|end| {
                end.as_ref()
                    .map_or(exit::NETWORK, |(ended, _)| exit::of_end(&ended.reason))
            })
            .max()
            .unwrap_or(exit::GOOD);
        let differed = self.agreement.differed();
        let replays = recordings(self.ends.len(), record, common.json);
        if common.json {
            show::write_verify(&self.agreement, &replays).map_err(Problem::Terminal)?;
            let code = if differed > 0 { exit::DESYNC } else { worst };
            return Ok(ExitCode::from(code));
        }
        for (peer, end) in self.ends.iter().enumerate() {
            if let Some((ended, summary)) = end {
                print(&show::peer_line(peer, ended, summary))?;
            }
        }
        let turns = self.agreement.agreed();
        if differed > 0 {
            print(&format!(
                "\nDESYNC: checksums differ after {}",
                count(u64::from(differed), "turn")
            ))?;
            return Ok(ExitCode::from(exit::DESYNC));
        }
        print(&format!(
            "\nall {} peers computed equal checksums on {}",
            self.ends.len(),
            count(u64::from(turns), "turn")
        ))?;
        print(&format!(
            "\n$ demo-rts replay verify {}",
            plain::quoted(record)
        ))?;
        let verified = replay::cli::run::<World>(["verify".into(), record.as_os_str().to_owned()]);
        print(&next_steps(record))?;
        Ok(match worst {
            exit::GOOD => verified,
            _ => ExitCode::from(worst),
        })
    }
}

fn print(text: &str) -> Result<(), Problem> {
    plain::print(text).map_err(Problem::Terminal)
}

fn start_all(peers: u8, common: &Common, record: &Path) -> Result<Vec<Peer>, Problem> {
    let bots = Bots::All(common.bot.unwrap_or(Level::Normal));
    let options = |peer: u8| Common {
        name: Some(name(common, peer)),
        record: recordings(usize::from(peer) + 1, record, common.json)
            .get(usize::from(peer))
            .cloned(),
        seed: common.seed.map(|seed| seed.wrapping_add(u64::from(peer))),
        turns: (peer == 0).then(|| common.turns.unwrap_or(TURNS)),
        impair: common.impair.clone().map(|mut impair| {
            let seed = &mut impair.ways.all.seed;
            *seed = seed.wrapping_add(u64::from(peer));
            impair
        }),
        ..common.clone()
    };
    let host = Part::Host {
        terms: Terms {
            seats: peers,
            ..Terms::default()
        },
        bots: 0,
        listen: LOOPBACK,
    };
    let mut host = Peer::start(&host, bots, &options(0), KeyChoice::Ephemeral)?;
    let ticket = host.ticket().expect("a host has a ticket");
    let mut all = vec![host];
    for peer in 1..peers {
        let part = Part::Join {
            ticket: &ticket,
            listen: LOOPBACK,
        };
        all.push(Peer::start(
            &part,
            bots,
            &options(peer),
            KeyChoice::Ephemeral,
        )?);
    }
    Ok(all)
}

fn spawn(
    index: usize,
    mut peer: Peer,
    asked: QuitRequest,
    sender: SyncSender<(usize, News)>,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut shown_at: Option<Instant> = None;
        loop {
            if asked.is_set() {
                peer.leave();
            }
            let mut defeated = Vec::new();
            let events = peer.poll(|_, effects| {
                let defeat = |effect: &&Effect| matches!(effect, Effect::Defeated { .. });
                defeated.extend(effects.iter().filter(defeat).copied());
            });
            let ended = events.iter().find_map(|event| match event {
                Event::Ended(ended) => Some(ended.clone()),
                _ => None,
            });
            // A receiver that is gone has reported its own problem; this peer leaves all the same.
            if !events.is_empty() {
                let _ = sender.send((index, News::Events(events)));
            }
            if index == 0 && !defeated.is_empty() {
                let _ = sender.send((index, News::Defeated(defeated)));
            }
            if index == 0 && shown_at.is_none_or(|at| at.elapsed() >= FRAME) {
                shown_at = Some(now());
                if let Some(world) = peer.world().cloned() {
                    let status = lockstep::source::TurnSource::status(peer.game().source());
                    let world = News::World(Box::new(world), status, peer.summary());
                    let _ = sender.send((index, world));
                }
            }
            if let Some(ended) = ended {
                let _ = sender.send((index, News::Over(ended, peer.summary())));
                return;
            }
            peer.wait(FRAME);
        }
    })
}

/// The files of the recordings: the first peer's, and with `all` the others' beside it.
fn recordings(peers: usize, record: &Path, all: bool) -> Vec<PathBuf> {
    let mut paths = vec![record.to_owned()];
    if all {
        paths.extend((1..peers).map(|peer| {
            let stem = record.file_stem().unwrap_or_default().to_string_lossy();
            let extension = record
                .extension()
                .map_or_else(|| "replay".into(), |extension| extension.to_string_lossy());
            record.with_file_name(format!("{stem}-peer{peer}.{extension}"))
        }));
    }
    paths
}

/// The first of the names `local.replay`, `local-2.replay` and so on that no recording of these peers has. The program
/// overwrites no recording.
fn free_name(folder: &Path, peers: usize, all: bool) -> PathBuf {
    let is_free = |path: &PathBuf| {
        let all = recordings(peers, path, all);
        all.iter().all(|path| !path.exists())
    };
    let names = (2..).map(|number| folder.join(format!("local-{number}.replay")));
    std::iter::once(folder.join("local.replay"))
        .chain(names)
        .find(is_free)
        .expect("some number is free")
}

fn name(common: &Common, peer: u8) -> String {
    match &common.name {
        Some(name) => format!("{name}-{peer}"),
        None => NAMES[usize::from(peer) % NAMES.len()].to_owned(),
    }
}

fn next_steps(record: &Path) -> String {
    let record = plain::quoted(record);
    format!(
        "\nTry next:\n  \
         demo-rts watch {record}                      watch the replay: pause, seek, speed\n  \
         demo-rts local --peers 8 --impair delay=50ms,loss=5%\n  \
         demo-rts skirmish --bots 1 --level easy      play against a bot\n  \
         demo-rts host --seats 2                      then, on another machine: demo-rts join TICKET\n  \
         (from a clone: `cargo run --release -- watch {record}`)"
    )
}

/// Five minutes of the shortest turns, which links within a machine allow.
const TURNS: u32 = 6_000;
/// Bytes that a peer's number adds to its name.
const NUMBERED: usize = 2;
const NEWS: usize = 1_024;
const FRAME: Duration = Duration::from_millis(100);
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const NAMES: [&str; 8] = [
    "Ada", "Blaise", "Carla", "Dennis", "Edith", "Frances", "Grace", "Haskell",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_recording_is_no_desync() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing.replay");
        let code = Outcome::of(0).report(&missing, &Common::default());
        assert_eq!(code.ok(), Some(ExitCode::from(exit::IO)));
    }

    #[test]
    fn a_name_is_free_where_all_recordings_are() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::write(folder.join("local-peer1.replay"), "").unwrap();
        let name = |all: bool| free_name(folder, 2, all);
        assert_eq!(name(false), folder.join("local.replay"));
        assert_eq!(name(true), folder.join("local-2.replay"));
        std::fs::write(folder.join("local-2-peer1.replay"), "").unwrap();
        assert_eq!(name(true), folder.join("local-3.replay"));
    }

    #[test]
    fn other_peers_record_beside_the_first() {
        let all = recordings(3, Path::new("a/b.replay"), true);
        let names = ["a/b.replay", "a/b-peer1.replay", "a/b-peer2.replay"];
        assert_eq!(all, names.map(PathBuf::from));
        assert_eq!(recordings(3, Path::new("x"), false), [PathBuf::from("x")]);
    }
}
