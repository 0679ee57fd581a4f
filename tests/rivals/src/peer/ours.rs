//! This kit, over QUIC on loopback through the proxy.

use super::{Order, Session, Shared, Told, lock, meet, tell};
use crate::contestant::Contestant;
use crate::trace::Command;
use lockstep::log::{Bundle, What};
use lockstep::quic::{Quic, QuicConfig};
use lockstep::source::{Answer, TurnSource as _, Work};
use lockstep::{
    Blocked, Channel, Config, Event, LinkEvent, LinkId, Live, Network, PeerId, Plan, Refused, Seat,
    Ticket, Traffic, Transport,
};
use sim::{Checksum, RulesId};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

struct Ours {
    live: Live,
    begun: Instant,
    own: Option<Seat>,
}

/// Opens a match of this contestant. The first player hosts.
pub fn open(
    contestant: Contestant,
    player: &Shared,
    orders: &Receiver<Order>,
) -> Result<Box<dyn Session>, String> {
    let (me, players) = {
        let player = lock(player);
        (player.me, player.players)
    };
    let mut settings = QuicConfig::new([me as u8 + 1; 32]);
    settings.listen = (Ipv4Addr::LOCALHOST, 0).into();
    let signer = settings.key.signer();
    let quic = Quic::bind(settings).map_err(|error| error.to_string())?;
    let (through, listening, ticket) = meet(Some(quic.local_address()), orders)?;
    let text = |address: Option<SocketAddr>| address.map_or_else(String::new, |at| at.to_string());
    let transport = Through {
        quic,
        listening: listening.into_iter().map(text).collect(),
        through: through.iter().map(SocketAddr::to_string).collect(),
    };
    let mut config = Config {
        network: Some(Network {
            transport: Box::new(transport),
            signer: Box::new(signer),
        }),
        ..Config::default()
    };
    config.host.terms.seats = players as u8;
    config.host.terms.plan = Plan {
        ticks: 1,
        delay_turns: contestant.budget_turns as u8 + 1,
        tick_ms: contestant.cadence_ms as u16,
    };
    let live = match ticket {
        None => Live::host(Vec::new(), RULES, config),
        Some(text) => {
            let ticket: Ticket = text.parse().map_err(|_| "not a ticket")?;
            Live::join(&ticket, Box::new(|_| Some(RULES)), config)
        }
    };
    let live = live.map_err(|error| error.to_string())?;
    if let Some(ticket) = live.ticket() {
        tell(&Told::Ticket(ticket.to_string()));
    }
    Ok(Box::new(Ours {
        live,
        begun: Instant::now(),
        own: None,
    }))
}

impl Ours {
    fn execute(bundle: &Bundle, player: &Shared) -> Answer {
        let stepping = Instant::now();
        let mut player = lock(player);
        let commands = bundle.entries.iter().filter_map(|entry| match &entry.what {
            What::Command(bytes) => Command::try_from(&bytes[..]).ok(),
            _ => None,
        });
        player.step(commands);
        Answer::Executed {
            checksum: Checksum(player.world.checksum()),
            outcome: None,
            step: stepping.elapsed(),
        }
    }

    /// Whether the worlds differ. Fails where the match has ended or changed otherwise.
    fn take_events(&mut self) -> Result<bool, String> {
        let mut differs = false;
        for event in self.live.events() {
            match event {
                Event::Started { own, .. } => self.own = own.first().copied(),
                Event::Desync(_) => differs = true,
                Event::Ended(end) if !differs => return Err(end.reason.to_string()),
                Event::RosterChanged { cause, .. } if !differs => {
                    return Err(format!("the roster changed: {cause:?}"));
                }
                _ => {}
            }
        }
        Ok(differs)
    }

    fn issue(&mut self, seat: Seat, player: &Shared) -> Result<(), String> {
        let mut player = lock(player);
        for command in player.take_commands(usize::MAX) {
            match self.live.issue(seat, command.to_vec()) {
                Ok(_) => {}
                Err(Refused::Ended | Refused::NotLive) if player.flipped.is_some() => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }
}

impl Session for Ours {
    fn poll(&mut self, player: &Shared) -> Result<bool, String> {
        while let Some(work) = self.live.next(self.begun.elapsed()) {
            let answer = match work {
                Work::New { .. } => Answer::Ready {
                    checksum: Checksum(lock(player).world.checksum()),
                },
                Work::Execute(bundle) => Ours::execute(&bundle, player),
                Work::Save { .. } => {
                    let world = serde_json::to_vec(&lock(player).world);
                    Answer::Saved(world.expect("it is plain data"))
                }
                Work::Load { snapshot, .. } => match serde_json::from_slice(&snapshot) {
                    Ok(world) => {
                        let mut player = lock(player);
                        player.load(world);
                        Answer::Ready {
                            checksum: Checksum(player.world.checksum()),
                        }
                    }
                    Err(_) => Answer::Failed,
                },
            };
            let answered = self.live.answer(answer);
            answered.map_err(|error| error.to_string())?;
        }
        let differs = self.take_events()?;
        if let Some(seat) = self.own
            && let Err(refused) = self.issue(seat, player)
        {
            // The match may have ended meanwhile: its reason says more.
            self.take_events()?;
            return Err(refused);
        }
        Ok(differs)
    }

    fn is_running(&self) -> bool {
        self.own.is_some()
    }

    fn wait(&mut self, most: Duration) {
        self.live.wait(most);
    }
}

/// QUIC through the proxy. Peers know each other by the addresses at which they listen.
struct Through {
    quic: Quic,
    listening: Vec<String>,
    through: Vec<String>,
}

/// What stands in one list where the other has the address.
fn counterpart(address: &str, of: &[String], among: &[String]) -> String {
    let at = of.iter().position(|known| known == address);
    at.map_or(address, |at| &among[at]).to_owned()
}

impl Transport for Through {
    fn addresses(&self) -> Vec<String> {
        self.quic.addresses()
    }

    fn dial(&mut self, address: &str, key: PeerId) {
        let way = counterpart(address, &self.listening, &self.through);
        self.quic.dial(&way, key);
    }

    fn send(&mut self, link: LinkId, channel: Channel, bytes: &[u8]) -> Result<(), Blocked> {
        self.quic.send(link, channel, bytes)
    }

    fn close(&mut self, link: LinkId) {
        self.quic.close(link);
    }

    fn keep_places(&mut self, addresses: &[String]) {
        self.quic.keep_places(addresses);
    }

    fn poll(&mut self, timeout: Duration) -> Option<LinkEvent> {
        let mut event = self.quic.poll(timeout)?;
        if let LinkEvent::Up { address, .. } | LinkEvent::DialFailed { address, .. } = &mut event {
            *address = counterpart(address, &self.through, &self.listening);
        }
        Some(event)
    }

    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        self.quic.waker()
    }

    fn traffic(&self) -> Traffic {
        self.quic.traffic()
    }
}

const RULES: RulesId = RulesId(*b"a hash of orders");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_their_counterparts() {
        let of = ["a", "b"].map(str::to_owned);
        let among = ["x", "y"].map(str::to_owned);
        assert_eq!(counterpart("b", &of, &among), "y");
        assert_eq!(counterpart("c", &of, &among), "c");
    }
}
