//! A simulated disk that distinguishes synced from merely written data, driven by a trace of a server's calls.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

/// The effect of a call on a file of the ledger or on its folder.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Call {
    Made(String),
    Wrote {
        file: String,
        offset: usize,
        bytes: Vec<u8>,
    },
    Cut {
        file: String,
        length: usize,
    },
    Renamed {
        from: String,
        to: String,
    },
    Removed(String),
    /// A sync began; `None` for the folder.
    Waits {
        thread: u64,
        file: Option<String>,
    },
    /// The sync of this thread is complete.
    Waited {
        thread: u64,
    },
}

/// A call with its time, in seconds since 1970.
pub(super) struct Traced {
    pub(super) at: f64,
    pub(super) call: Call,
}

/// Reads the output of `strace -f -ttt -y -xx` about the files of a ledger.
pub(super) fn read_trace(path: &str, ledger: &Path) -> Vec<Traced> {
    let text = fs::read_to_string(path).unwrap();
    let mut reader = TraceParser { ledger, unfinished: HashMap::new(), calls: vec![] };
    text.lines().for_each(|line| reader.line(line));
    reader.calls
}

/// The object of a call.
enum Target {
    Folder,
    File(String),
}

impl Target {
    fn file(self) -> Option<String> {
        match self {
            Self::Folder => None,
            Self::File(name) => Some(name),
        }
    }
}

struct TraceParser<'a> {
    ledger: &'a Path,
    /// The unfinished call of each thread.
    unfinished: HashMap<u64, String>,
    calls: Vec<Traced>,
}

impl TraceParser<'_> {
    fn line(&mut self, line: &str) {
        let mut words = line.splitn(3, ' ').map(str::trim_start);
        let thread: u64 = words.next().unwrap().parse().unwrap();
        let rest = words.clone().collect::<Vec<_>>().join(" ");
        let (at, call) = rest.trim_start().split_once(' ').unwrap();
        let at: f64 = at.parse().unwrap();
        if let Some(begun) = call.strip_suffix(" <unfinished ...>") {
            self.begin(thread, at, begun);
            self.unfinished.insert(thread, begun.to_owned());
        } else if call.starts_with("<...") {
            let Some(begun) = self.unfinished.remove(&thread) else { return };
            let end = call.split_once("resumed>").unwrap().1;
            self.end(thread, at, &format!("{begun}{end}"));
        } else if call.contains('(') {
            self.begin(thread, at, call);
            self.end(thread, at, call);
        }
    }

    fn push(&mut self, at: f64, call: Call) {
        self.calls.push(Traced { at, call });
    }

    /// Records the start of a call. A write may reach the disk once it starts; a sync covers the writes before it.
    fn begin(&mut self, thread: u64, at: f64, call: &str) {
        let (name, arguments) = call.split_once('(').unwrap();
        let place = || self.of_descriptor(arguments);
        match name {
            "pwrite64" => {
                let Some(Target::File(file)) = place() else { return };
                let (_, rest) = arguments.split_once(", \"").unwrap();
                let (bytes, rest) = rest.split_once('"').unwrap();
                let offset = rest.split(')').next().unwrap().rsplit(", ").next().unwrap();
                let call = Call::Wrote { file, offset: offset.parse().unwrap(), bytes: unescaped(bytes) };
                self.push(at, call);
            }
            "write" => assert!(!matches!(place(), Some(Target::File(_))), "the ledger is written at places: {call}"),
            "fsync" | "fdatasync" => {
                if let Some(place) = place() {
                    self.push(at, Call::Waits { thread, file: place.file() });
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, thread: u64, at: f64, call: &str) {
        let (name, arguments) = call.split_once('(').unwrap();
        if call.contains(" = -1 ") {
            assert!(!["pwrite64", "fsync", "fdatasync"].contains(&name), "{call}");
            return;
        }
        let quoted: Vec<&str> = arguments.split('"').skip(1).step_by(2).collect();
        let named = |place: usize| self.of_path(&text(quoted[place])).and_then(Target::file);
        match name {
            "fsync" | "fdatasync" if self.of_descriptor(arguments).is_some() => self.push(at, Call::Waited { thread }),
            "openat" if call.contains("O_CREAT") => {
                if let Some(file) = named(0) {
                    self.push(at, Call::Made(file));
                }
            }
            "ftruncate" => {
                if let Some(Target::File(file)) = self.of_descriptor(arguments) {
                    let length = arguments.split(", ").nth(1).unwrap().split(')').next().unwrap();
                    self.push(at, Call::Cut { file, length: length.parse().unwrap() });
                }
            }
            "rename" => {
                if let (Some(from), Some(to)) = (named(0), named(1)) {
                    self.push(at, Call::Renamed { from, to });
                }
            }
            "unlink" => {
                if let Some(file) = named(0) {
                    self.push(at, Call::Removed(file));
                }
            }
            _ => {}
        }
    }

    /// Returns the object of a descriptor such as `5</folder/run.ledger-wal>, …`.
    fn of_descriptor(&self, arguments: &str) -> Option<Target> {
        let (_, rest) = arguments.split_once('<')?;
        self.of_path(&text(rest.split_once('>')?.0))
    }

    /// Returns a file of the ledger that matters after a power cut, or the folder itself.
    fn of_path(&self, path: &str) -> Option<Target> {
        let folder = self.ledger.parent().unwrap();
        if Path::new(path) == folder {
            return Some(Target::Folder);
        }
        let name = Path::new(path).strip_prefix(folder).ok()?.to_str()?;
        let ending = name.strip_prefix(self.ledger.file_name()?.to_str()?)?;
        // The first two belong to the running process; the key is for its cookies.
        let is_transient = ending.starts_with("-shm") || ending == "-lock" || ending == "-key";
        (!is_transient).then(|| Target::File(name.to_owned()))
    }
}

fn unescaped(hex: &str) -> Vec<u8> {
    hex.split("\\x").skip(1).map(|digits| u8::from_str_radix(digits, 16).unwrap()).collect()
}

fn text(shown: &str) -> String {
    if shown.contains("\\x") { String::from_utf8(unescaped(shown)).unwrap() } else { shown.to_owned() }
}

/// A file: its synced content, and the changes since.
#[derive(Clone, Debug, Default)]
struct Stored {
    certain: Vec<u8>,
    since: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Bytes(usize, Vec<u8>),
    Length(usize),
}

#[derive(Clone, Debug)]
enum Naming {
    Made(String, usize),
    Renamed(String, String),
    Removed(String),
}

/// A seeded random number generator.
pub(super) struct TestRng(pub(super) u64);

impl TestRng {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

/// A simulated disk.
#[derive(Default)]
pub(super) struct Disk {
    files: Vec<Stored>,
    names: BTreeMap<String, usize>,
    certain_names: BTreeMap<String, usize>,
    namings: Vec<Naming>,
    /// The running sync of each thread: a file or the folder, and the number of changes that it covers.
    waits: HashMap<u64, (Option<usize>, usize)>,
    /// Syncs of files with this ending have no effect, which tests that they are needed.
    deaf_to: Option<&'static str>,
}

/// The unit of an atomic write, in bytes.
const SECTOR: usize = 512;

impl Disk {
    /// Creates a disk that ignores syncs of files with this ending; `folder` means the folder.
    pub(super) fn deaf_to(ending: &'static str) -> Self {
        Self { deaf_to: Some(ending), ..Self::default() }
    }

    pub(super) fn see(&mut self, call: &Call) {
        match call {
            Call::Made(name) => {
                if !self.names.contains_key(name) {
                    self.files.push(Stored::default());
                    self.names.insert(name.clone(), self.files.len() - 1);
                    self.namings.push(Naming::Made(name.clone(), self.files.len() - 1));
                }
            }
            Call::Wrote { file, offset, bytes } => self.change(file, Change::Bytes(*offset, bytes.clone())),
            Call::Cut { file, length } => self.change(file, Change::Length(*length)),
            Call::Renamed { from, to } => {
                let file = self.names.remove(from).unwrap();
                self.names.insert(to.clone(), file);
                self.namings.push(Naming::Renamed(from.clone(), to.clone()));
            }
            Call::Removed(name) => {
                self.names.remove(name);
                self.namings.push(Naming::Removed(name.clone()));
            }
            Call::Waits { thread, file } => {
                let ending = file.as_ref().map_or("folder", |name| name.strip_prefix("run.ledger").unwrap());
                if self.deaf_to == Some(ending) {
                    return;
                }
                let file = file.as_ref().map(|name| self.names[name]);
                let changes = file.map_or(self.namings.len(), |file| self.files[file].since.len());
                self.waits.insert(*thread, (file, changes));
            }
            Call::Waited { thread } => self.waited(*thread),
        }
    }

    fn change(&mut self, name: &str, change: Change) {
        let file = self.names[name];
        self.files[file].since.push(change);
    }

    fn waited(&mut self, thread: u64) {
        match self.waits.remove(&thread) {
            Some((Some(file), changes)) => {
                let stored = &mut self.files[file];
                for change in stored.since.drain(..changes.min(stored.since.len())).collect::<Vec<_>>() {
                    apply(&mut stored.certain, &change);
                }
            }
            Some((None, changes)) => {
                for naming in self.namings.drain(..changes.min(self.namings.len())).collect::<Vec<_>>() {
                    name(&mut self.certain_names, &naming);
                }
            }
            None => {}
        }
    }

    /// Writes to a folder a possible state after a power cut. All synced data are there. Sectors of later writes are
    /// written, lost or corrupted at random, and a random prefix of the name changes took effect.
    pub(super) fn after_power_cut(&self, folder: &str, dice: &mut TestRng) {
        let mut names = self.certain_names.clone();
        let got = dice.below(self.namings.len() as u64 + 1) as usize;
        self.namings[..got].iter().for_each(|naming| name(&mut names, naming));
        // In mode 0 nothing more is written, in mode 1 everything.
        let mode = dice.below(6);
        for (name, file) in names {
            let Stored { certain, since } = &self.files[file];
            let mut bytes = certain.clone();
            for change in since {
                match change {
                    Change::Bytes(offset, written) => write_sectors(&mut bytes, *offset, written, mode, dice),
                    Change::Length(_) if mode == 0 || (1 < mode && dice.below(2) == 0) => {}
                    Change::Length(_) => apply(&mut bytes, change),
                }
            }
            fs::write(format!("{folder}/{name}"), bytes).unwrap();
        }
    }
}

fn name(names: &mut BTreeMap<String, usize>, naming: &Naming) {
    match naming {
        Naming::Made(name, file) => drop(names.insert(name.clone(), *file)),
        Naming::Renamed(from, to) => {
            if let Some(file) = names.remove(from) {
                names.insert(to.clone(), file);
            }
        }
        Naming::Removed(name) => drop(names.remove(name)),
    }
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Bytes(offset, written) => {
            let end = offset + written.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*offset..end].copy_from_slice(written);
        }
        Change::Length(length) => bytes.resize(*length, 0),
    }
}

fn write_sectors(bytes: &mut Vec<u8>, offset: usize, written: &[u8], mode: u64, dice: &mut TestRng) {
    let mut from = 0;
    while from < written.len() {
        let to = (from + SECTOR - (offset + from) % SECTOR).min(written.len());
        let mut sector = written[from..to].to_vec();
        let fate = match mode {
            0 => 0,
            1 => 1,
            _ => dice.below(5),
        };
        if fate == 4 {
            for byte in &mut sector {
                *byte = dice.below(256) as u8;
            }
        }
        // 0 or 2: the sector never reached the disk.
        if fate != 0 && fate != 2 {
            apply(bytes, &Change::Bytes(offset + from, sector));
        }
        from = to;
    }
}
