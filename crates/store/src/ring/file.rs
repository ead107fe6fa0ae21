//! The file of signing keys: one key per line, its name and 64 hexadecimal digits, oldest first.
//!
//! ```text
//! # Signing keys of FlowFabric. Whoever reads this file can sign tokens.
//! 3f9a1c07 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
//! ```
//!
//! Empty lines and lines that begin with `#` are skipped, and anything else is an error: half a key
//! must not look like fewer keys. A file is made at once and whole, readable by its owner alone; keys
//! are added to its end under a lock.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::key::{Key, KeyError, Keys};

/// The largest file that is read.
const FILE_BYTES: u64 = 16 << 10;

const HEADER: &str = "# Signing keys of FlowFabric. Whoever reads this file can sign tokens.\n";

/// A file of signing keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFile(PathBuf);

impl KeyFile {
    /// The file at `path`.
    pub fn at(path: impl Into<PathBuf>) -> KeyFile {
        KeyFile(path.into())
    }

    /// The file that belongs to the store in the file `store`: `work.ff` has `work.ff.keys`.
    pub fn of_store(store: &Path) -> KeyFile {
        let mut name = OsString::from(store);
        name.push(".keys");
        KeyFile(name.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Whether there is one.
    pub fn exists(&self) -> Result<bool, FileError> {
        self.0.try_exists().map_err(|error| self.failed("read", &error))
    }

    /// Its keys.
    pub fn read(&self) -> Result<Keys, FileError> {
        let mut file = File::open(&self.0).map_err(|error| self.failed("read", &error))?;
        file.lock_shared().map_err(|error| self.failed("lock", &error))?;
        self.keys_of(&mut file)
    }

    /// Its keys. If it is missing it is made, with one random key; of several processes that do so at
    /// once one makes it, and all answer its keys.
    pub fn read_or_make(&self) -> Result<Keys, FileError> {
        if !self.exists()? {
            self.make(&Key::random().map_err(|why| self.wrong(0, why))?)?;
        }
        self.read()
    }

    /// Adds a key at the end; a missing file is made.
    pub fn add(&self, key: &Key) -> Result<(), FileError> {
        if !self.exists()? && self.make(key)? {
            return Ok(());
        }
        let file = OpenOptions::new().read(true).append(true).open(&self.0);
        let mut file = file.map_err(|error| self.failed("change", &error))?;
        file.lock().map_err(|error| self.failed("lock", &error))?;
        let mut keys = self.keys_of(&mut file)?;
        keys.add(key.clone()).map_err(|why| self.wrong(0, why))?;
        // One write: a process that is killed has added the key or has not. An editor may have left the
        // last line without its end; an empty line is skipped.
        let added = file.write_all(format!("\n{}", line(key)).as_bytes());
        added.and_then(|()| file.sync_all()).map_err(|error| self.failed("write", &error))
    }

    /// Makes the file with one key, and answers whether it did: it never replaces one.
    fn make(&self, key: &Key) -> Result<bool, FileError> {
        let failed = |error: io::Error| self.failed("make", &error);
        let mut name = OsString::from(&self.0);
        name.push(format!(".{:016x}.new", fastrand::u64(..)));
        let whole = PathBuf::from(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&whole).map_err(failed)?;
        let written = file.write_all(format!("{HEADER}{}", line(key)).as_bytes());
        let linked = written.and_then(|()| file.sync_all()).and_then(|()| {
            // A link is made only where there is nothing, unlike a rename.
            match fs::hard_link(&whole, &self.0) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                linked => linked.map(|()| true),
            }
        });
        let removed = fs::remove_file(&whole);
        linked.and_then(|linked| removed.map(|()| linked)).map_err(failed)
    }

    fn keys_of(&self, file: &mut File) -> Result<Keys, FileError> {
        let mut text = Vec::new();
        let read = file.take(FILE_BYTES + 1).read_to_end(&mut text);
        read.map_err(|error| self.failed("read", &error))?;
        if text.len() as u64 > FILE_BYTES {
            return Err(FileError::TooLong(self.0.clone()));
        }
        let text = str::from_utf8(&text).map_err(|_| FileError::NotText(self.0.clone()))?;
        parse(text).map_err(|(number, why)| match why {
            Wrong::Line => FileError::Line { path: self.0.clone(), number },
            Wrong::Key(why) => self.wrong(number, why),
            Wrong::Empty => FileError::Empty(self.0.clone()),
        })
    }

    fn wrong(&self, number: usize, why: KeyError) -> FileError {
        FileError::Key { path: self.0.clone(), number, why }
    }

    fn failed(&self, what: &'static str, error: &io::Error) -> FileError {
        let missing = error.kind() == io::ErrorKind::NotFound;
        FileError::Io { path: self.0.clone(), what, why: error.to_string(), missing }
    }
}

fn line(key: &Key) -> String {
    format!("{} {}\n", key.kid(), key.reveal())
}

/// What is wrong with a line.
#[derive(Debug, PartialEq, Eq)]
enum Wrong {
    Line,
    Key(KeyError),
    Empty,
}

/// The keys of a file, or the number of the wrong line and what is wrong with it.
fn parse(text: &str) -> Result<Keys, (usize, Wrong)> {
    let mut keys = Keys::default();
    for (line, number) in text.lines().zip(1..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (kid, secret) = line.split_once(' ').ok_or((number, Wrong::Line))?;
        let key = Key::parse(kid, secret);
        let added = key.and_then(|key| keys.add(key));
        added.map_err(|why| (number, Wrong::Key(why)))?;
    }
    match keys.newest() {
        Some(_) => Ok(keys),
        None => Err((0, Wrong::Empty)),
    }
}

/// Why a file of keys cannot be used. No text of it has a secret in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// It cannot be read or written.
    #[error("cannot {what} the signing keys {}: {why}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What was attempted.
        what: &'static str,
        /// Why not.
        why: String,
        /// There is none.
        missing: bool,
    },
    /// It is longer than a file of keys can be.
    #[error("{} has more than {FILE_BYTES} bytes; it is no file of signing keys", _0.display())]
    TooLong(PathBuf),
    /// It is not text.
    #[error("{} is not text; it is no file of signing keys", _0.display())]
    NotText(PathBuf),
    /// It has no key.
    #[error("{} has no signing key; make one with `ff keys add`", _0.display())]
    Empty(PathBuf),
    /// A line is no key.
    #[error(
        "{} is wrong in line {number}; give the name of a key, one space and 64 hexadecimal digits",
        path.display()
    )]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1 on.
        number: usize,
    },
    /// A key cannot be used.
    #[error("{}{}: {why}", path.display(), place(*number))]
    Key {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1 on; 0 is a key that would be added.
        number: usize,
        /// What is wrong with it.
        why: KeyError,
    },
}

impl FileError {
    /// Whether there is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(self, FileError::Io { missing: true, .. })
    }
}

fn place(number: usize) -> String {
    match number {
        0 => String::new(),
        number => format!(" is wrong in line {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

    fn fresh() -> (tempfile::TempDir, KeyFile) {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::of_store(&folder.path().join("work.ff"));
        (folder, file)
    }

    #[test]
    fn a_file_is_made_once_with_one_key_for_its_owner_alone() {
        let (folder, file) = fresh();
        assert!(file.path().ends_with("work.ff.keys"));
        let keys = file.read_or_make().unwrap();
        assert_eq!(keys.iter().count(), 1);
        assert_eq!(file.read_or_make().unwrap(), keys);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn of_many_that_make_a_file_at_once_one_does() {
        for _ in 0..20 {
            let (folder, file) = fresh();
            let made: Vec<_> = std::thread::scope(|scope| {
                let all = (0..8).map(|_| scope.spawn(|| file.read_or_make().unwrap()));
                let all: Vec<_> = all.collect();
                all.into_iter().map(|one| one.join().unwrap()).collect()
            });
            assert!(made.windows(2).all(|pair| pair[0] == pair[1]));
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn keys_that_are_added_at_once_are_all_there() {
        let (_folder, file) = fresh();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| file.add(&Key::random().unwrap()).unwrap());
            }
        });
        assert_eq!(file.read().unwrap().iter().count(), 8);
    }

    #[test]
    fn a_key_is_added_after_a_last_line_without_an_end() {
        let (_folder, file) = fresh();
        fs::write(file.path(), format!("# mine\n\nk1 {SECRET}")).unwrap();
        let key = Key::random().unwrap();
        file.add(&key).unwrap();
        assert_eq!(file.read().unwrap().newest(), Some(&key));
        let twice = file.add(&key).unwrap_err();
        assert!(matches!(twice, FileError::Key { why: KeyError::Twice { .. }, .. }));
    }

    #[test]
    fn a_file_that_is_not_as_it_is_written_is_refused_without_its_secrets() {
        let (_folder, file) = fresh();
        for text in [
            "",
            "# only a comment\n",
            "k1\n",
            &format!("k1 {}\n", &SECRET[1..]),
            &format!("k1 {}\n", &SECRET[2..]),
            &format!("k1 {SECRET}0\n"),
            &format!("k1 {SECRET} \n"),
            &format!("k1  {SECRET}\n"),
            &format!(" k1 {SECRET}\n"),
            &format!("k1\t{SECRET}\n"),
            &format!("k1={SECRET}\n"),
            &format!("{SECRET}\n"),
            &format!("k1 {}\n", SECRET.replace('e', "z")),
            &format!("k.1 {SECRET}\n"),
            &format!("k1 {SECRET}\nk1 {}\n", SECRET.replace("00", "ff")),
            &format!("k1 {SECRET}\nk2 {SECRET}\n"),
            &format!("k1 {SECRET}\nk2 {}", &SECRET[..40]),
            &format!("#{}\n", "x".repeat(FILE_BYTES as usize)),
        ] {
            fs::write(file.path(), text).unwrap();
            let error = file.read().unwrap_err();
            let printed = format!("{error} {error:?}");
            assert!(!printed.contains("08090a"), "{printed}");
            assert!(printed.contains("work.ff.keys"), "{printed}");
        }
        fs::write(file.path(), b"k1 \xff\n").unwrap();
        assert!(matches!(file.read(), Err(FileError::NotText(_))));
        fs::write(file.path(), format!("k1 {SECRET}\r\n")).unwrap();
        assert!(file.read().is_ok(), "an editor may end lines in another way");
    }

    #[test]
    fn a_missing_file_is_said_to_be_missing() {
        let (_folder, file) = fresh();
        assert!(matches!(file.read(), Err(FileError::Io { missing: true, .. })));
        assert_eq!(file.exists(), Ok(false));
    }
}
