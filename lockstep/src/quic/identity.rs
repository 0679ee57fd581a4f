//! The key of a user, in a file that one process at a time may use.

use crate::sign::{Ed25519, Signer as _};
use crate::{PeerId, Rejoin};
use data_encoding::HEXLOWER_PERMISSIVE;
use directories::ProjectDirs;
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// An Ed25519 secret in a locked file. Two processes with one identity would sign against each other, so the lock is
/// held for as long as this lives.
pub struct Identity {
    secret: [u8; 32],
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

/// Why there is no identity.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The operating system names no folder for this user's data.
    #[error("this system names no folder for a user's data: say which identity file to use")]
    NoHome,
    /// Another process uses the file.
    #[error("another process is using the identity in {}: close it, or use another file", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// Every identity of this user is in use.
    #[error("{count} processes are using the identities in {}: close one, or say which identity file to use", folder.display())]
    AllLocked {
        /// Where the identities are.
        folder: PathBuf,
        /// How many there are.
        count: u32,
    },
    /// No identity of this user has a place in the match.
    #[error(
        "no identity of this user has a seat in that match: say which identity file it was played with"
    )]
    NoPlace,
    /// The path leads to a folder or a device.
    #[error("{} is not a file: name a file that holds an identity, or one to be made", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file holds something else than an identity.
    #[error("{} holds no identity that this version can read: name another file, or move it away to have a new one made", path.display())]
    Content {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be opened, read or locked.
    #[error("cannot use the identity in {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file or its folder cannot be made.
    #[error("cannot make the identity {}: {source}; name a file in a folder that you may write to", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The operating system gave no random numbers for a new key.
    #[error("the operating system gives no random numbers for a new key")]
    NoRandomness,
}

impl Identity {
    /// The identity of this user: `identity` in the folder for the user's data, and for further processes at the same
    /// time `identity-2`, `identity-3` and so on. Makes what does not exist.
    ///
    /// # Errors
    /// See [`IdentityError`]; [`IdentityError::Locked`] is not among them.
    pub fn default_for_user() -> Result<Identity, IdentityError> {
        first_free(user_folder()?.data_dir())
    }

    /// Which of this user's identities is one of these peers, if one is: for coming back into a match that was played
    /// with it. Makes nothing.
    ///
    /// # Errors
    /// [`IdentityError::NoHome`]. Where none is found: the cause why one of them cannot be used, and
    /// [`IdentityError::Locked`] where another process uses a file that cannot be read meanwhile.
    pub fn default_for_user_among(peers: &[PeerId]) -> Result<Option<Identity>, IdentityError> {
        first_among(user_folder()?.data_dir(), peers)
    }

    /// Which of this user's identities an earlier run has played with: that of [`Rejoin::player`]. Where it is not known, it
    /// is the first one with a place in the match. Without a log the other peers check it: then it is
    /// [`default_for_user`](Self::default_for_user).
    ///
    /// # Errors
    /// As [`default_for_user_among`](Self::default_for_user_among), and [`IdentityError::NoPlace`].
    pub fn of_earlier_run(from: &Rejoin) -> Result<Identity, IdentityError> {
        if from.log.is_none() {
            return Identity::default_for_user();
        }
        of_earlier_run(user_folder()?.data_dir(), from)
    }

    /// The identity in this file, which is made if it does not exist.
    ///
    /// # Errors
    /// See [`IdentityError`].
    pub fn at(path: impl Into<PathBuf>) -> Result<Identity, IdentityError> {
        let path = path.into();
        let mut file = open(&path)?;
        let unreadable = |source| IdentityError::Unreadable {
            path: path.clone(),
            source,
        };
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err(IdentityError::NotAFile { path });
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(IdentityError::Locked { path }),
            Err(TryLockError::Error(source)) => return Err(unreadable(source)),
        }
        keep_private(&file).map_err(unreadable)?;
        let mut text = Vec::new();
        (&mut file)
            .take(MAX_FILE_BYTES + 1)
            .read_to_end(&mut text)
            .map_err(unreadable)?;
        // The process that holds the lock on an empty file fills it. So two processes cannot make two keys, and a crash
        // before the write leaves nothing to repair.
        let secret = if text.is_empty() {
            let secret = new_secret()?;
            write(&mut file, &secret).map_err(|source| IdentityError::Unwritable {
                path: path.clone(),
                source,
            })?;
            sync_folder(&path);
            secret
        } else {
            match parse(&text) {
                Some(secret) => secret,
                None => return Err(IdentityError::Content { path }),
            }
        };
        Ok(Identity {
            secret,
            path,
            _file: file,
        })
    }

    /// Whose identity it is.
    pub fn peer(&self) -> PeerId {
        self.signer().id()
    }

    /// The secret half of the key.
    pub fn secret(&self) -> [u8; 32] {
        self.secret
    }

    /// Signs for this identity.
    pub fn signer(&self) -> Ed25519 {
        Ed25519::new(&self.secret)
    }

    /// Where it is kept.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Debug for Identity {
    /// Leaves the secret out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("peer", &self.peer())
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// The secret in the text of an identity file, if it is one.
pub(super) fn parse(text: &[u8]) -> Option<[u8; 32]> {
    if text.len() as u64 > MAX_FILE_BYTES {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    if lines.next()? != FIRST_LINE {
        return None;
    }
    let hex = lines.next()?.strip_prefix("secret ")?;
    if lines.next().is_some() {
        return None;
    }
    HEXLOWER_PERMISSIVE
        .decode(hex.as_bytes())
        .ok()?
        .try_into()
        .ok()
}

fn user_folder() -> Result<ProjectDirs, IdentityError> {
    ProjectDirs::from("", "", "lockstep").ok_or(IdentityError::NoHome)
}

fn first_free(folder: &Path) -> Result<Identity, IdentityError> {
    make_private_folder(folder).map_err(|source| IdentityError::Unwritable {
        path: folder.to_owned(),
        source,
    })?;
    for path in usual_paths(folder) {
        match Identity::at(path) {
            Err(IdentityError::Locked { .. }) => {}
            result => return result,
        }
    }
    Err(IdentityError::AllLocked {
        folder: folder.to_owned(),
        count: MAX_IDENTITIES,
    })
}

fn first_among(folder: &Path, peers: &[PeerId]) -> Result<Option<Identity>, IdentityError> {
    let mut unusable = None;
    // A run that ended before it wrote its key has left an empty file.
    let is_filled = |path: &PathBuf| path.metadata().is_ok_and(|file| file.len() > 0);
    for path in usual_paths(folder).filter(is_filled) {
        // Some systems let no other process read what is locked.
        let peer = peer_in(&path);
        if peer.is_some_and(|peer| !peers.contains(&peer)) {
            continue;
        }
        match Identity::at(path) {
            Ok(identity) if peers.contains(&identity.peer()) => return Ok(Some(identity)),
            Err(error) if peer.is_some() => unusable = Some(error),
            Err(error @ IdentityError::Locked { .. }) => unusable = Some(error),
            // An unreadable file holds no key.
            Ok(_) | Err(_) => {}
        }
    }
    unusable.map_or(Ok(None), Err)
}

fn of_earlier_run(folder: &Path, from: &Rejoin) -> Result<Identity, IdentityError> {
    let of_player = match from.player {
        Some(player) => first_among(folder, &[player])?,
        None => None,
    };
    let found = match of_player {
        Some(identity) => Some(identity),
        None => first_among(folder, &from.roster().collect::<Vec<_>>())?,
    };
    found.ok_or(IdentityError::NoPlace)
}

/// The peer of the identity in a file. The file stays unlocked, so that no other process passes it over meanwhile.
fn peer_in(path: &Path) -> Option<PeerId> {
    let mut text = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut text).ok()?;
    parse(&text).map(|secret| Ed25519::new(&secret).id())
}

/// Where the identities of a user are, in the order in which they are taken.
fn usual_paths(folder: &Path) -> impl Iterator<Item = PathBuf> {
    (1..=MAX_IDENTITIES).map(move |number| match number {
        1 => folder.join("identity"),
        _ => folder.join(format!("identity-{number}")),
    })
}

fn open(path: &Path) -> Result<File, IdentityError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, FILE_MODE);
    // A read-only file still serves once it holds a key.
    let opened = options.open(path).or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            File::open(path).map_err(|_| error)
        }
        _ => Err(error),
    });
    opened.map_err(|source| {
        let path = path.to_owned();
        if path.is_dir() {
            IdentityError::NotAFile { path }
        } else if path.exists() {
            IdentityError::Unreadable { path, source }
        } else {
            IdentityError::Unwritable { path, source }
        }
    })
}

#[cfg(unix)]
fn keep_private(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let permissions = file.metadata()?.permissions();
    if permissions.mode() & 0o077 == 0 {
        return Ok(());
    }
    let set = file.set_permissions(std::fs::Permissions::from_mode(FILE_MODE));
    set.or_else(|error| match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => Ok(()),
        _ => Err(error),
    })
}

#[cfg(not(unix))]
fn keep_private(_file: &File) -> io::Result<()> {
    Ok(())
}

fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn new_secret() -> Result<[u8; 32], IdentityError> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|_| IdentityError::NoRandomness)?;
    Ok(secret)
}

/// Writes the whole file at once; after a failure it is empty again, as it was.
fn write(file: &mut File, secret: &[u8; 32]) -> io::Result<()> {
    let public = Ed25519::new(secret).id().0;
    let text = format!(
        "{FIRST_LINE}\n# This file lets its holder play as you.\n# public {}\nsecret {}\n",
        HEXLOWER_PERMISSIVE.encode(&public),
        HEXLOWER_PERMISSIVE.encode(secret),
    );
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all());
    if written.is_err() {
        file.set_len(0)?;
        file.rewind()?;
    }
    written
}

/// Has the disk keep the file's name too, where folders can be synced: a match is found again by its key.
fn sync_folder(file: &Path) {
    #[cfg(unix)]
    if let Some(Ok(folder)) = file.parent().map(File::open) {
        folder.sync_all().ok();
    }
    #[cfg(not(unix))]
    let _ = file;
}

const FIRST_LINE: &str = "lockstep identity 1";
const MAX_FILE_BYTES: u64 = 4_096;
/// Processes of one user that get an identity without naming a file.
const MAX_IDENTITIES: u32 = 64;
#[cfg(unix)]
const FILE_MODE: u32 = 0o600;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{EncodedLog, Start};
    use proptest::prelude::*;
    use std::sync::Arc;

    #[test]
    fn a_made_identity_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let made = Identity::at(&path).unwrap();
        let (peer, secret) = (made.peer(), made.secret());
        drop(made);
        let found = Identity::at(&path).unwrap();
        assert_eq!((found.peer(), found.secret()), (peer, secret));
        assert!(!format!("{found:?}").contains(&HEXLOWER_PERMISSIVE.encode(&secret)));
    }

    #[test]
    fn a_second_user_is_told_which_file_is_locked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let first = Identity::at(&path).unwrap();
        let second = Identity::at(&path).unwrap_err();
        assert!(matches!(&second, IdentityError::Locked { path: named } if *named == path));
        assert!(second.to_string().contains("key"), "{second}");
        drop(first);
        Identity::at(&path).unwrap();
    }

    #[test]
    fn further_processes_get_further_identities() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("a/b");
        let all: Vec<_> = (0..MAX_IDENTITIES)
            .map(|_| first_free(&data).unwrap())
            .collect();
        assert_eq!(all[0].path(), data.join("identity"));
        assert_eq!(all[1].path(), data.join("identity-2"));
        assert_ne!(all[0].peer(), all[1].peer());
        assert!(matches!(
            first_free(&data),
            Err(IdentityError::AllLocked { .. })
        ));
    }

    #[test]
    fn an_identity_is_found_by_its_peer_unless_it_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let all: Vec<_> = (0..3).map(|_| first_free(folder.path()).unwrap()).collect();
        let peers: Vec<PeerId> = all.iter().map(Identity::peer).collect();
        let locked = first_among(folder.path(), &peers[1..2]).unwrap_err();
        #[cfg(unix)]
        assert!(
            matches!(&locked, IdentityError::Locked { path } if *path == folder.path().join("identity-2")),
            "{locked}"
        );
        assert!(matches!(locked, IdentityError::Locked { .. }));
        drop(all);
        let found = first_among(folder.path(), &peers[1..]).unwrap().unwrap();
        assert_eq!(found.peer(), peers[1]);
        #[cfg(unix)]
        assert!(
            first_among(folder.path(), &[PeerId([9; 32])])
                .unwrap()
                .is_none(),
            "locked, and another's"
        );
        drop(found);
        assert!(
            first_among(folder.path(), &[PeerId([9; 32])])
                .unwrap()
                .is_none()
        );
        assert!(
            first_among(&folder.path().join("none"), &peers)
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn an_earlier_run_has_the_identity_that_it_played_with() {
        let folder = tempfile::tempdir().unwrap();
        let all: Vec<_> = (0..3).map(|_| first_free(folder.path()).unwrap()).collect();
        let [stranger, host, guest] = [0, 1, 2].map(|at: usize| all[at].peer());
        let mut start = Start::clone(&crate::log::fixture::start(2));
        (start.roster[0].peer, start.roster[1].peer) = (host, guest);
        let from = |player| Rejoin {
            player,
            log: Some(EncodedLog::new(Arc::new(start.clone()))),
            ..Rejoin::from(&crate::Ticket {
                match_id: start.match_id,
                secret: [0; 16],
                host,
                addresses: Vec::new(),
                expires_unix_s: 0,
            })
        };
        let found = |player| of_earlier_run(folder.path(), &from(player)).map(|found| found.peer());
        let in_use = found(Some(guest)).unwrap_err();
        assert!(matches!(in_use, IdentityError::Locked { .. }), "{in_use}");
        drop(all);
        assert_eq!(found(Some(guest)).unwrap(), guest);
        assert_eq!(found(None).unwrap(), host);
        assert_eq!(found(Some(PeerId([9; 32]))).unwrap(), host, "a lost key");
        let file = |name| folder.path().join(name);
        assert_eq!(Identity::at(file("identity")).unwrap().peer(), stranger);
        std::fs::remove_file(file("identity")).unwrap();
        assert_eq!(found(Some(guest)).unwrap(), guest, "behind a gap");
        for name in ["identity-2", "identity-3"] {
            std::fs::write(file(name), "").unwrap();
        }
        let none = found(None).unwrap_err();
        assert!(matches!(none, IdentityError::NoPlace), "{none}");
        assert_eq!(std::fs::read(file("identity-2")).unwrap(), b"");
    }

    #[test]
    fn file_that_is_no_identity_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        for content in [
            &b"my notes"[..],
            b"lockstep identity 2\nsecret 00\n",
            b"lockstep identity 1\nsecret 00\n",
            b"lockstep identity 1\n",
            &[0xff; 100],
            &[b'#'; 5_000],
        ] {
            std::fs::write(&path, content).unwrap();
            assert!(matches!(
                Identity::at(&path),
                Err(IdentityError::Content { .. })
            ));
            assert_eq!(std::fs::read(&path).unwrap(), content);
        }
    }

    #[test]
    fn paths_that_cannot_be_are_refused_by_kind() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(
            Identity::at(folder.path()),
            Err(IdentityError::NotAFile { .. })
        ));
        assert!(matches!(
            Identity::at(folder.path().join("missing/key")),
            Err(IdentityError::Unwritable { .. })
        ));
        #[cfg(unix)]
        assert!(matches!(
            Identity::at("/dev/null"),
            Err(IdentityError::NotAFile { .. })
        ));
    }

    #[test]
    fn a_file_that_is_only_read_serves() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let peer = Identity::at(&path).unwrap().peer();
        let mut permissions = std::fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&path, permissions).unwrap();
        assert_eq!(Identity::at(&path).unwrap().peer(), peer);
    }

    #[cfg(unix)]
    #[test]
    fn key_file_is_private_to_its_user() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        drop(Identity::at(&path).unwrap());
        assert_eq!(mode(&path), 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        drop(Identity::at(&path).unwrap());
        assert_eq!(mode(&path), 0o600);
    }

    proptest! {
        #[test]
        fn any_bytes_get_an_answer(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&text);
        }
    }
}
