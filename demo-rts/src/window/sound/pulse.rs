//! The sound servers of Linux and the BSDs, PulseAudio and PipeWire, in PulseAudio's protocol. A socket and a few
//! messages suffice, so the build needs no system library.
//!
//! A message is a head of 20 bytes (length, channel, offset, flags) and its content. Channel -1 carries commands:
//! lists of values, each after a letter for its type. A stream's channel carries samples. All numbers of the
//! protocol are big-endian; samples are not.

use super::synth::RATE;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// A playback stream.
pub struct Stream {
    socket: UnixStream,
    channel: u32,
    /// Bytes that the server has asked for.
    wanted: u32,
    count: u32,
}

/// Closes a stream from another thread, which ends a blocking read.
pub struct Closer(UnixStream);

impl Closer {
    pub fn close(&self) {
        // A second close has no effect.
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}

impl Stream {
    /// Opens a stereo stream of floats to the default output. `closer` gets the stream's closer before the first
    /// message.
    ///
    /// # Errors
    /// No server, or a refusal.
    pub fn open(closer: impl FnOnce(Closer)) -> io::Result<Stream> {
        let socket = connect()?;
        closer(Closer(socket.try_clone()?));
        let mut stream = Stream {
            socket,
            channel: 0,
            wanted: 0,
            count: 0,
        };
        let mut hello = Message::new(AUTH);
        hello.number(VERSION).bytes(&cookie());
        stream.request(hello)?;
        let mut name = Message::new(SET_CLIENT_NAME);
        name.letter(b'P');
        name.property("application.name", NAME).letter(b'N');
        stream.request(name)?;
        let reply = stream.request(new_stream())?;
        let mut values = Values(&reply);
        stream.channel = values.number()?;
        let _index = values.number()?;
        stream.wanted = values.number()?;
        Ok(stream)
    }

    /// Plays until the server ends the stream. `fill` writes samples, left and right interleaved.
    pub fn play(mut self, mut fill: impl FnMut(&mut [f32])) -> io::Error {
        let mut samples = Vec::new();
        let mut bytes = Vec::new();
        loop {
            while self.wanted >= FRAME {
                // A large request is answered in pieces.
                let piece = self.wanted.min(MOST_AT_ONCE) / FRAME * FRAME;
                samples.resize(piece as usize / size_of::<f32>(), 0.0);
                fill(&mut samples);
                bytes.clear();
                let floats = samples.iter().flat_map(|sample| sample.to_le_bytes());
                bytes.extend(floats);
                if let Err(why) = send(&mut self.socket, self.channel, &bytes) {
                    return why;
                }
                self.wanted -= piece;
            }
            match self.receive() {
                Ok((REQUEST, content)) => {
                    let mut values = Values(&content);
                    match (values.number(), values.number()) {
                        (Ok(channel), Ok(bytes)) if channel == self.channel => {
                            self.wanted = self.wanted.saturating_add(bytes).min(MOST_WANTED);
                        }
                        _ => {}
                    }
                }
                Ok((KILLED, _)) => return io::Error::other("the sound server ended the stream"),
                Ok(_) => {}
                Err(why) => return why,
            }
        }
    }

    /// Sends a command and waits for the reply.
    fn request(&mut self, mut message: Message) -> io::Result<Vec<u8>> {
        self.count += 1;
        let number = self.count;
        message.0[6..10].copy_from_slice(&number.to_be_bytes());
        send(&mut self.socket, COMMANDS, &message.0)?;
        loop {
            let (command, content) = self.receive_numbered()?;
            match command {
                (REPLY, of) if of == number => return Ok(content),
                (ERROR, of) if of == number => {
                    let code = Values(&content).number()?;
                    let why = format!("the sound server refuses it (error {code})");
                    return Err(io::Error::other(why));
                }
                _ => {}
            }
        }
    }

    fn receive(&mut self) -> io::Result<(u32, Vec<u8>)> {
        let ((command, _), content) = self.receive_numbered()?;
        Ok((command, content))
    }

    /// The next command, its number, and its values.
    fn receive_numbered(&mut self) -> io::Result<((u32, u32), Vec<u8>)> {
        loop {
            let mut head = [0; 20];
            self.socket.read_exact(&mut head)?;
            let word = |at: usize| {
                u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
            };
            let (length, channel) = (word(0), word(4));
            if length > LONGEST_MESSAGE {
                return Err(unexpected());
            }
            let mut content = vec![0; length as usize];
            self.socket.read_exact(&mut content)?;
            if channel == COMMANDS {
                let mut values = Values(&content);
                let command = (values.number()?, values.number()?);
                return Ok((command, values.0.to_vec()));
            }
        }
    }
}

fn send(socket: &mut UnixStream, channel: u32, content: &[u8]) -> io::Result<()> {
    let mut head = [0; 20];
    head[..4].copy_from_slice(&(content.len() as u32).to_be_bytes());
    head[4..8].copy_from_slice(&channel.to_be_bytes());
    socket.write_all(&head)?;
    socket.write_all(content)
}

struct Message(Vec<u8>);

impl Message {
    fn new(command: u32) -> Message {
        let mut message = Message(Vec::new());
        // The number is written when the message is sent.
        message.number(command).number(0);
        message
    }

    fn letter(&mut self, letter: u8) -> &mut Message {
        self.0.push(letter);
        self
    }

    fn raw(&mut self, number: u32) -> &mut Message {
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    fn number(&mut self, number: u32) -> &mut Message {
        self.letter(b'L').raw(number)
    }

    fn text(&mut self, text: &str) -> &mut Message {
        self.letter(b't').0.extend_from_slice(text.as_bytes());
        self.letter(0)
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Message {
        self.letter(b'x').raw(bytes.len() as u32);
        self.0.extend_from_slice(bytes);
        self
    }

    fn property(&mut self, key: &str, value: &str) -> &mut Message {
        let value = [value.as_bytes(), &[0]].concat();
        self.text(key).number(value.len() as u32).bytes(&value)
    }

    fn flags(&mut self, flags: &[bool]) -> &mut Message {
        let letters = flags.iter().map(|is| if *is { b'1' } else { b'0' });
        self.0.extend(letters);
        self
    }
}

/// The request for a stream, in protocol version 13.
fn new_stream() -> Message {
    let mut message = Message::new(CREATE_PLAYBACK_STREAM);
    // Sample format: floats, two channels, left and right.
    message.letter(b'a').letter(FLOAT_32_LE).letter(2).raw(RATE);
    message.letter(b'm').letter(2).letter(1).letter(2);
    // Any sink: no index and no name.
    message.number(u32::MAX).letter(b'N');
    let usual = u32::MAX;
    let target = RATE * FRAME * LATENCY_MS / 1_000;
    // The longest buffer; not corked; target length, prebuffer, least request.
    message.number(usual).flags(&[false]);
    message.number(target).number(usual).number(target / 3);
    // Synchronised with no other stream; full volume.
    message.number(0);
    message.letter(b'v').letter(2).raw(FULL).raw(FULL);
    // No remapping or remixing; format, rate and channels fixed; movable; fixed rate; not muted; low latency.
    message.flags(&[false; 7]).flags(&[false, true]);
    message.letter(b'P');
    message.property("media.name", NAME);
    message.property("media.role", "game").letter(b'N');
    message
}

struct Values<'a>(&'a [u8]);

impl Values<'_> {
    fn number(&mut self) -> io::Result<u32> {
        let Some((&[b'L', a, b, c, d], rest)) = self.0.split_first_chunk::<5>() else {
            return Err(unexpected());
        };
        self.0 = rest;
        Ok(u32::from_be_bytes([a, b, c, d]))
    }
}

fn unexpected() -> io::Error {
    io::Error::other("unexpected message from the sound server")
}

/// Tries the usual places of the server's socket.
fn connect() -> io::Result<UnixStream> {
    let var = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let named = var("PULSE_SERVER").and_then(|server| {
        let server = server.to_string_lossy().into_owned();
        let path = server.strip_prefix("unix:").unwrap_or(&server);
        path.starts_with('/').then(|| PathBuf::from(path))
    });
    let runtime = var("PULSE_RUNTIME_PATH").map(|folder| PathBuf::from(folder).join("native"));
    let session = var("XDG_RUNTIME_DIR").map(|folder| PathBuf::from(folder).join("pulse/native"));
    let whole_system = Some(PathBuf::from("/run/pulse/native"));
    let mut why = io::Error::from(io::ErrorKind::NotFound);
    for path in [named, runtime, session, whole_system]
        .into_iter()
        .flatten()
    {
        match UnixStream::connect(&path) {
            Ok(socket) => return Ok(socket),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// The cookie that identifies the user. Many servers need none.
fn cookie() -> Vec<u8> {
    let named = std::env::var_os("PULSE_COOKIE").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let kept = [".config/pulse/cookie", ".pulse-cookie"];
    let kept = kept
        .iter()
        .filter_map(|path| Some(home.as_ref()?.join(path)));
    let files = named.into_iter().chain(kept);
    let mut found = files.filter_map(|path| std::fs::File::open(path).ok());
    let mut cookie = Vec::new();
    if let Some(file) = found.next() {
        // A partial cookie fails at the server, which says so.
        let _ = file.take(COOKIE_BYTES).read_to_end(&mut cookie);
    }
    cookie.resize(COOKIE_BYTES as usize, 0);
    cookie
}

/// The server shows this name.
const NAME: &str = "demo-rts";
/// The oldest protocol version with all that is needed, so that every server accepts it.
const VERSION: u32 = 13;
/// The channel of commands.
const COMMANDS: u32 = u32::MAX;
const ERROR: u32 = 0;
const REPLY: u32 = 2;
const CREATE_PLAYBACK_STREAM: u32 = 3;
const AUTH: u32 = 8;
const SET_CLIENT_NAME: u32 = 9;
const REQUEST: u32 = 61;
const KILLED: u32 = 64;
const FLOAT_32_LE: u8 = 5;
/// Full volume, in the server's unit.
const FULL: u32 = 0x1_0000;
const COOKIE_BYTES: u64 = 256;
/// Bytes of one sample of both channels.
const FRAME: u32 = 2 * size_of::<f32>() as u32;
/// From a cue to its sound.
const LATENCY_MS: u32 = 60;
/// Bytes of a piece.
const MOST_AT_ONCE: u32 = 64 << 10;
/// The largest request that is accepted.
const MOST_WANTED: u32 = 4 << 20;
/// Longer than any command that this client expects.
const LONGEST_MESSAGE: u32 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// A server at the other end of a socket pair; reads one message.
    fn read(socket: &mut UnixStream) -> (u32, Vec<u8>) {
        let mut head = [0; 20];
        socket.read_exact(&mut head).unwrap();
        let word = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
        let mut content = vec![0; word(0) as usize];
        socket.read_exact(&mut content).unwrap();
        (word(4), content)
    }

    fn stream() -> (Stream, UnixStream) {
        let (socket, server) = UnixStream::pair().unwrap();
        let stream = Stream {
            socket,
            channel: 7,
            wanted: 24,
            count: 0,
        };
        (stream, server)
    }

    fn command(server: &mut UnixStream, command: u32, values: &[u32]) {
        let mut message = Message::new(command);
        for value in values {
            message.number(*value);
        }
        send(server, COMMANDS, &message.0).unwrap();
    }

    #[test]
    fn a_stream_sends_requested_samples_until_the_server_ends() {
        let (stream, mut server) = stream();
        let playing = std::thread::spawn(move || {
            let mut next = 0.0;
            stream.play(|samples| {
                for sample in samples {
                    *sample = next;
                    next += 1.0;
                }
            })
        });
        let (channel, content) = read(&mut server);
        assert_eq!((channel, content.len()), (7, 24));
        assert_eq!(content[4..8], 1.0_f32.to_le_bytes());
        command(&mut server, 86, &[7]);
        command(&mut server, REQUEST, &[3, 800]);
        // Not whole frames: the rest comes with the next request.
        command(&mut server, REQUEST, &[7, 20]);
        assert_eq!(read(&mut server).1.len(), 16);
        command(&mut server, REQUEST, &[7, 4]);
        let (_, content) = read(&mut server);
        assert_eq!(content.len(), 8);
        assert_eq!(content[..4], 10.0_f32.to_le_bytes());
        command(&mut server, KILLED, &[7]);
        let why = playing.join().unwrap();
        assert!(why.to_string().contains("ended the stream"), "{why}");
    }

    #[test]
    fn nonsense_or_a_lost_server_ends_the_stream() {
        for nonsense in [vec![0xff; 20], vec![], vec![0, 0, 0, 5, 255, 255, 255, 255]] {
            let (stream, mut server) = stream();
            let playing = std::thread::spawn(move || stream.play(|_| {}));
            read(&mut server);
            server.write_all(&nonsense).unwrap();
            drop(server);
            playing.join().unwrap();
        }
        let (stream, mut server) = stream();
        let playing = std::thread::spawn(move || stream.play(|_| {}));
        read(&mut server);
        send(&mut server, COMMANDS, b"what").unwrap();
        let why = playing.join().unwrap();
        assert!(why.to_string().contains("unexpected message"), "{why}");
    }

    #[test]
    fn closing_a_stream_does_not_wait_for_the_server() {
        let (stream, mut server) = stream();
        let closer = Closer(stream.socket.try_clone().unwrap());
        let playing = std::thread::spawn(move || stream.play(|_| {}));
        read(&mut server);
        closer.close();
        playing.join().unwrap();
    }

    #[test]
    fn a_refusal_is_an_error() {
        let (mut stream, mut server) = stream();
        let asking = std::thread::spawn(move || stream.request(Message::new(AUTH)));
        let (_, content) = read(&mut server);
        assert_eq!(content, [b'L', 0, 0, 0, 8, b'L', 0, 0, 0, 1]);
        let mut message = Message::new(ERROR);
        message.0[6..10].copy_from_slice(&1_u32.to_be_bytes());
        message.number(1);
        send(&mut server, COMMANDS, &message.0).unwrap();
        let why = asking.join().unwrap().unwrap_err();
        assert!(why.to_string().contains("refuses"), "{why}");
    }
}
