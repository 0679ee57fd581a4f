//! synctick: the first player hosts, and its library sequences the commands of all.

use super::{Order, Session, Shared, lock, meet, on_free_port};
use crate::contestant::Contestant;
use crate::trace::Command;
use std::net::UdpSocket;
use std::sync::mpsc::Receiver;
use std::time::Duration;
use synctick::{
    ClientConfig, DesyncPolicy, Game, ServerConfig, SessionHandle, SessionResult, SessionStatus,
    Simulation, SubmitError, Tick,
};

/// The game, which makes the world on the library's thread.
struct Rules(Shared);

impl Game for Rules {
    type Command = Vec<u8>;
    type Initialization = u64;
    type Simulation = Stepped;
    const ID: [u8; 16] = *b"a hash of orders";
    const VERSION: u32 = 1;

    fn create(&self, _: u64, _: Duration) -> SessionResult<Stepped> {
        Ok(Stepped(self.0.clone()))
    }
}

struct Stepped(Shared);

impl Simulation<Vec<u8>> for Stepped {
    fn current_tick(&self) -> u64 {
        lock(&self.0).steps()
    }

    fn state_hash(&mut self) -> u64 {
        lock(&self.0).world.checksum().into()
    }

    fn advance(&mut self, tick: Tick<Vec<u8>>) -> SessionResult {
        let commands = tick.inputs.iter().map(|input| &input.command);
        let commands = commands.filter_map(|command| Command::try_from(&command[..]).ok());
        lock(&self.0).step(commands);
        Ok(())
    }
}

struct Synctick(SessionHandle<Vec<u8>>);

/// Opens a session of this contestant.
pub fn open(
    contestant: Contestant,
    player: &Shared,
    orders: &Receiver<Order>,
) -> Result<Box<dyn Session>, String> {
    let (me, players) = {
        let player = lock(player);
        (player.me, player.players)
    };
    let rules = Rules(player.clone());
    let session = if me == 0 {
        // The library binds the port itself, a moment later.
        let (_, address) = on_free_port(|port| UdpSocket::bind(("0.0.0.0", port)))?;
        meet(Some(address), orders)?;
        let mut config = ServerConfig::new(0);
        config.port = address.port();
        config.expected_clients = players as u32 - 1;
        config.tick_duration = Duration::from_millis(contestant.cadence_ms);
        config.desync_policy = DesyncPolicy::FailFast;
        synctick::host(rules, config)
    } else {
        // A client takes any port, and does not tell which.
        let (through, ..) = meet(None, orders)?;
        synctick::connect(rules, ClientConfig::new(me as u64, through[0]))
    };
    let session = session.map_err(|error| error.to_string())?;
    Ok(Box::new(Synctick(session)))
}

impl Session for Synctick {
    fn poll(&mut self, player: &Shared) -> Result<bool, String> {
        self.0.poll();
        if let SessionStatus::Failed(why) = &*self.0.status() {
            // The host ends at a report of a difference. Its clients are told of the end alone.
            let differs = why.starts_with("desync");
            return if differs { Ok(true) } else { Err(why.clone()) };
        }
        if self.is_running() {
            let commands = lock(player).take_commands(usize::MAX);
            for (at, command) in commands.iter().enumerate() {
                match self.0.commands().submit(&command.to_vec()) {
                    Ok(()) => {}
                    Err(SubmitError::Full) => {
                        let mut player = lock(player);
                        let rest = commands[at..].iter().rev();
                        rest.for_each(|command| player.take_back(*command));
                        break;
                    }
                    Err(error) => return Err(error.to_string()),
                }
            }
        }
        Ok(false)
    }

    fn is_running(&self) -> bool {
        matches!(&*self.0.status(), SessionStatus::Live)
    }
}
