//! Real processes of the demo, driven by the command line and read by JSON lines.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A process of the demo.
pub struct Process {
    child: Child,
    lines: Receiver<String>,
    errors: Option<std::thread::JoinHandle<String>>,
    /// Every line so far: an object if it is JSON, otherwise a string.
    pub events: Vec<Value>,
}

/// The result of a process.
pub struct Finished {
    /// Its exit status.
    pub status: ExitStatus,
    /// Every line that it wrote: an object if it is JSON, otherwise a string.
    pub events: Vec<Value>,
    /// Its output on stderr.
    pub errors: String,
}

/// Runs a command of the demo to its end, with `folder` as its data folder. Only for this package's tests, whose
/// target folder holds the demo's binary.
///
/// # Panics
/// As [`Process::start`].
pub fn demo(arguments: &[&str], folder: &Path) -> Finished {
    start_demo(arguments, folder).finish(Duration::from_secs(60))
}

/// Starts a command as [`demo`] does.
///
/// # Panics
/// As [`Process::start`].
pub fn start_demo(arguments: &[&str], folder: &Path) -> Process {
    let test = std::env::current_exe().expect("a test has a path");
    let target = test.ancestors().nth(2).expect("tests lie in `deps`");
    let name = format!("numbers{}", std::env::consts::EXE_SUFFIX);
    let all: Vec<&str> = ["demo"].iter().chain(arguments).copied().collect();
    Process::start(&target.join(name), &all, folder)
}

impl Process {
    /// Starts `program` with `arguments`, and `home` as its data folder.
    ///
    /// # Panics
    /// If it cannot be started: a broken build, not a result.
    pub fn start(program: &Path, arguments: &[&str], home: &Path) -> Process {
        Process::start_in(program, arguments, home, &[])
    }

    /// Like [`start`](Self::start), with these environment variables; otherwise there is no display, for example.
    ///
    /// # Panics
    /// As `start`.
    pub fn start_in(
        program: &Path,
        arguments: &[&str],
        home: &Path,
        around: &[(&str, &str)],
    ) -> Process {
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(home)
            .env("HOME", home)
            .env("XDG_DATA_HOME", home)
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .envs(around.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program under test starts");
        let (send, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let mut stderr = child.stderr.take().expect("piped");
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            // Text that is not UTF-8 is cut; only people read it.
            let _ = stderr.read_to_string(&mut text);
            text
        });
        Process {
            child,
            lines,
            errors: Some(errors),
            events: Vec::new(),
        }
    }

    /// Waits for the next event of this kind; earlier ones are kept.
    pub fn wait_for(&mut self, kind: &str, timeout: Duration) -> Option<Value> {
        self.wait_until(timeout, |event| event["event"] == kind)
    }

    /// Waits for the next event that `wanted` accepts.
    pub fn wait_until(
        &mut self,
        timeout: Duration,
        mut wanted: impl FnMut(&Value) -> bool,
    ) -> Option<Value> {
        let until = Instant::now() + timeout;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    // Commands without --json print text for people.
                    let event = serde_json::from_str(&line).unwrap_or(Value::String(line));
                    self.events.push(event.clone());
                    if wanted(&event) {
                        return Some(event);
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Writes a line to its stdin.
    ///
    /// # Panics
    /// If it has ended.
    pub fn write_line(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("piped");
        writeln!(stdin, "{line}").expect("the process reads");
    }

    /// Kills the process, as a crash would. It may take a while to end, where it writes to a busy disk.
    pub fn strike(&mut self) {
        // It may have ended by itself already.
        let _ = self.child.kill();
    }

    /// Kills the process, as a crash would, and waits until it has ended: until then its files are locked.
    pub fn kill(&mut self) {
        self.strike();
        let _ = self.child.wait();
    }

    /// Stops the process, as `kill -STOP` does.
    ///
    /// # Panics
    /// If it has ended.
    pub fn stop(&self) {
        self.signal(rustix::process::Signal::STOP);
    }

    /// Continues the stopped process.
    ///
    /// # Panics
    /// If it has ended.
    pub fn go_on(&self) {
        self.signal(rustix::process::Signal::CONT);
    }

    /// Asks the process to leave its match, as Ctrl-C and SIGTERM do.
    ///
    /// # Panics
    /// If it has ended.
    pub fn leave(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    /// Whether it has ended, or was killed.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, signal).expect("the child is not waited for yet");
    }

    /// Waits for the process to end; kills it after `timeout`.
    pub fn finish(mut self, timeout: Duration) -> Finished {
        let nothing = |_: &Value| false;
        self.wait_until(timeout, nothing);
        if matches!(self.child.try_wait(), Ok(None)) {
            // Its output has ended or time is up; a healthy process ends with its output.
            let until = Instant::now() + Duration::from_secs(2);
            while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = self.child.kill();
        }
        let status = self.child.wait().expect("a child can be waited for");
        let errors = self
            .errors
            .take()
            .map(|thread| thread.join().unwrap_or_default());
        Finished {
            status,
            events: std::mem::take(&mut self.events),
            errors: errors.unwrap_or_default(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Finished {
    /// The last event of a kind.
    pub fn last(&self, kind: &str) -> Option<&Value> {
        self.events
            .iter()
            .rev()
            .find(|event| event["event"] == kind)
    }

    /// Checksums by turn, as the process printed them.
    pub fn checksums(&self) -> Vec<(u64, String)> {
        let turns = self.events.iter().filter(|event| event["event"] == "turn");
        turns
            .map(|event| {
                let checksum = event["checksum"].as_str().unwrap_or_default().to_owned();
                (event["turn"].as_u64().unwrap_or(u64::MAX), checksum)
            })
            .collect()
    }
}

/// Free ports that no other call of this process returns. They are outside of the system's ephemeral range, so they
/// stay free while a process restarts.
///
/// # Panics
/// If there are too few.
pub fn free_ports(count: usize) -> Vec<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(PORTS_OF_A_PROCESS);
    let ports = std::iter::repeat_with(|| {
        let next = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        PORTS.start + (next % u32::from(PORTS.end - PORTS.start)) as u16
    });
    let is_free = |port: &u16| UdpSocket::bind(("127.0.0.1", *port)).is_ok();
    let free = ports.take(PORTS.len()).filter(is_free).take(count);
    let free: Vec<u16> = free.collect();
    assert_eq!(free.len(), count, "free ports");
    free
}

/// Below the ephemeral ports of Linux.
const PORTS: std::ops::Range<u16> = 20_000..32_000;
/// Distance between the first ports of consecutive processes.
const PORTS_OF_A_PROCESS: u32 = 97;

/// A match of several processes over loopback.
pub struct MatchOf {
    /// The processes, the host first.
    pub peers: Vec<Process>,
    /// The folder of their files.
    pub folder: PathBuf,
}

/// What the processes of a match have in common.
pub struct Setting<'a> {
    /// The program; `first` goes before the demo's own arguments.
    pub program: &'a Path,
    /// Arguments before the demo's own, if the program is not the demo itself.
    pub first: &'a [&'a str],
    /// Number of peers.
    pub peers: usize,
    /// Further arguments of the host.
    pub host: &'a [&'a str],
    /// Further arguments of every peer.
    pub all: &'a [&'a str],
}

impl MatchOf {
    /// Starts a host and its joiners: recording bots, each with its own identity.
    ///
    /// # Panics
    /// If the host prints no ticket within 20 s.
    pub fn start(setting: &Setting<'_>, folder: &Path) -> MatchOf {
        let mut peers = Vec::new();
        let mut ticket = String::new();
        for at in 0..setting.peers {
            let identity = format!("peer{at}.key");
            let record = format!("peer{at}.replay");
            let seed = (at + 1).to_string();
            let seats = setting.peers.to_string();
            let mut arguments: Vec<&str> = setting.first.to_vec();
            if at == 0 {
                arguments.extend(["host", "--seats", &seats, "--listen", "127.0.0.1:0"]);
                arguments.extend(setting.host);
            } else {
                arguments.extend(["join", &ticket]);
            }
            arguments.extend(["--headless", "--bot", "normal", "--json"]);
            arguments.extend([
                "--identity",
                &identity,
                "--record",
                &record,
                "--seed",
                &seed,
            ]);
            arguments.extend(setting.all);
            let mut peer = Process::start(setting.program, &arguments, folder);
            if at == 0 {
                let event = peer.wait_for("ticket", Duration::from_secs(20));
                let event = event.and_then(|event| event["ticket"].as_str().map(str::to_owned));
                ticket = event.unwrap_or_else(|| {
                    panic!("no ticket: {}", peer.errors_now());
                });
            }
            peers.push(peer);
        }
        MatchOf {
            peers,
            folder: folder.to_owned(),
        }
    }

    /// Waits for all processes to end.
    pub fn finish(self, timeout: Duration) -> Vec<Finished> {
        let until = Instant::now() + timeout;
        let peers = self.peers.into_iter();
        peers
            .map(|peer| peer.finish(until.saturating_duration_since(Instant::now())))
            .collect()
    }
}

impl Process {
    /// Kills the process, and returns its output on stderr.
    pub fn errors_now(&mut self) -> String {
        self.kill();
        let errors = self
            .errors
            .take()
            .map(|thread| thread.join().unwrap_or_default());
        errors.unwrap_or_default()
    }
}
