//! Damage by enumeration, through every command that reads a ledger: each flipped byte, swapped page and truncation of the
//! file or its journal gives a clear error, the same output, or an intact prefix with a notice.
//!
//! The short form tries some of them, the long form all. Each is tested with the library calls that commands begin with
//! (`library.rs`), and with one command in turn. Most commands depend only on the result of `Ledger::read`, so all
//! commands run if that result is new; also for every swap, and for cuts at the ends of pages. Of other cuts only every
//! 16th is tested with a command, because SQLite ignores an incomplete page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use querist_ledger::Ledger;

use crate::commands::{AccessKind, COMMANDS, DamageVerdict, ExpectedResults, LedgerCommand, read_ledger};
use crate::library::{CALLS, Intact};
use crate::specimen::{self, FRAME, JOURNAL_HEADER, LEDGER, PAGE, Specimen};

const IS_LONG: bool = cfg!(feature = "long");

/// A change to one of the files: 0 is the ledger, 1 its journal.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// Flips a bit of this byte.
    Flip { file: usize, at: usize },
    /// Swaps two pages, or two frames of the journal.
    Swap { file: usize, first: usize, second: usize },
    /// Cuts the file to this length.
    Cut { file: usize, length: usize },
}

impl Damage {
    fn apply(self, specimen: &Specimen) -> Specimen {
        let bytes = |file: usize| specimen.files[file].clone().unwrap_or_default();
        match self {
            Self::Flip { file, at } => {
                let mut bytes = bytes(file);
                bytes[at] ^= 1 << (at % 8);
                specimen.with(file, bytes)
            }
            Self::Swap { file, first, second } => {
                let mut bytes = bytes(file);
                let (start, size) = layout(file);
                let (low, high) = bytes.split_at_mut(start + second * size);
                low[start + first * size..][..size].swap_with_slice(&mut high[..size]);
                specimen.with(file, bytes)
            }
            Self::Cut { file, length } => {
                let mut bytes = bytes(file);
                bytes.truncate(length);
                specimen.with(file, bytes)
            }
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Flip { .. } => "flip",
            Self::Swap { .. } => "swap",
            Self::Cut { .. } => "cut",
        }
    }

    /// Returns whether every command is run. SQLite ignores an incomplete page or frame, so cuts within one are alike.
    fn is_boundary(self) -> bool {
        match self {
            Self::Cut { file, length } => {
                let (start, size) = layout(file);
                length <= start || matches!((length - start) % size, 0 | 1) || (length + 1 - start).is_multiple_of(size)
            }
            Self::Flip { .. } => false,
            Self::Swap { .. } => true,
        }
    }
}

/// Returns the offset of the first page of a file, and the page size.
fn layout(file: usize) -> (usize, usize) {
    if file == 0 { (0, PAGE) } else { (JOURNAL_HEADER, FRAME) }
}

/// Lists all damage to a ledger; the short form samples it.
fn enumerate(specimen: &Specimen) -> Vec<Damage> {
    let mut all = vec![];
    for (file, bytes) in [(0, specimen.file()), (1, specimen.journal())] {
        let (start, size) = layout(file);
        all.extend((0..bytes.len()).step_by(if IS_LONG { 1 } else { 397 }).map(|at| Damage::Flip { file, at }));
        let pages = bytes.len().saturating_sub(start) / size;
        let pairs = (0..pages).flat_map(|first| (first + 1..pages).map(move |second| (first, second)));
        let swaps = pairs.map(|(first, second)| Damage::Swap { file, first, second });
        all.extend(swaps.step_by(if IS_LONG { 1 } else { 89 }));
        all.extend((0..bytes.len()).step_by(if IS_LONG { 1 } else { 1999 }).map(|length| Damage::Cut { file, length }));
    }
    assert!(!all.len().is_multiple_of(7919), "see `work`");
    all
}

/// A campaign against one ledger.
struct Campaign<'a> {
    specimen: &'a Specimen,
    damage: Vec<Damage>,
    next: AtomicUsize,
    expected: Vec<ExpectedResults>,
    intact: Intact,
    found: Mutex<DamageFindings>,
}

#[derive(Default)]
struct DamageFindings {
    /// The earlier results of `Ledger::read`.
    seen: BTreeSet<String>,
    /// The number of calls, by kind of damage and verdict; the next field has that of commands.
    calls: BTreeMap<(&'static str, DamageVerdict), u64>,
    commands: BTreeMap<(&'static str, DamageVerdict), u64>,
    failures: Vec<String>,
    times: BTreeMap<AccessKind, Duration>,
}

impl DamageFindings {
    fn report(&self, name: &str, done: usize) {
        let Self { seen, calls, commands, failures, .. } = self;
        let (seen, failures) = (seen.len(), failures.len());
        eprintln!(
            "{name}: {done} damaged copies, {seen} different results of the reader, {failures} failures\n  \
             calls {calls:?}\n  commands {commands:?}"
        );
    }

    /// Prints a failure immediately, since a campaign takes minutes.
    fn fail(&mut self, failure: String) {
        if self.failures.len() < 12 {
            eprintln!("{failure}");
        }
        self.failures.push(failure);
    }
}

impl<'a> Campaign<'a> {
    fn new(specimen: &'a Specimen, folder: &Path) -> Self {
        let prefixes = prefixes(specimen);
        let expected = COMMANDS.iter().map(|command| command.expect(specimen, &prefixes, folder)).collect();
        let read = |specimen: &Specimen| {
            specimen.lay(folder);
            read_ledger(&Ledger::read(folder.join(LEDGER)).unwrap())
        };
        Self {
            specimen,
            damage: enumerate(specimen),
            next: AtomicUsize::new(0),
            expected,
            intact: Intact { prefixes: prefixes.iter().map(read).collect(), whole: read(specimen) },
            found: Mutex::default(),
        }
    }

    /// Tests damage that no other thread has claimed until none is left.
    fn work(&self, folder: &Path) {
        loop {
            let done = self.next.fetch_add(1, Ordering::Relaxed);
            if self.damage.len() <= done {
                return;
            }
            // A prime spreads early results over all kinds of damage.
            let number = done * 7919 % self.damage.len();
            let damage = &self.damage[number];
            let damaged = damage.apply(self.specimen);
            let is_new = self.read(&damaged, *damage, folder);
            if (done + 1).is_multiple_of(1000) {
                self.found.lock().unwrap().report(self.specimen.name, done + 1);
            }
            for index in chosen(number, *damage, is_new) {
                let command = &COMMANDS[index];
                let start = Instant::now();
                let outcome = command.run(&damaged, folder);
                *self.found.lock().unwrap().times.entry(command.kind).or_default() += start.elapsed();
                self.note(command, *damage, command.judge(&outcome, &self.expected[index]), &outcome);
            }
        }
    }

    /// Reads the ledger in this process; returns whether the result is a new one.
    fn read(&self, damaged: &Specimen, damage: Damage, folder: &Path) -> bool {
        damaged.lay(folder);
        let (key, judged) = match Ledger::read(folder.join(LEDGER)) {
            Err(error) => (error.fault.to_string(), Ok(DamageVerdict::Error)),
            Ok(ledger) => {
                let key = ledger.loss().map_or("whole".to_owned(), ToString::to_string);
                (key, self.intact.judge_ledger(&ledger, ledger.loss().is_some()))
            }
        };
        let key = format!("{key} {:?}", judged.as_ref().ok());
        // A ledger that cannot be read cannot be copied, and a ledger without a loss has no loss to accept.
        let needs = |name: &str| match name {
            "Ledger::backup" => judged != Ok(DamageVerdict::Error),
            "Ledger::open_accepting_loss" => judged == Ok(DamageVerdict::Prefix),
            _ => true,
        };
        for (name, call) in CALLS.iter().filter(|(name, _)| needs(name)) {
            self.note_call(name, damage, self.intact.judge(*call, damaged, folder));
        }
        self.note_call("Ledger::read", damage, judged);
        self.found.lock().unwrap().seen.insert(key)
    }

    fn note_call(&self, name: &str, damage: Damage, judged: Result<DamageVerdict, String>) {
        let mut found = self.found.lock().unwrap();
        match judged {
            Ok(verdict) => *found.calls.entry((damage.kind(), verdict)).or_default() += 1,
            Err(problem) => found.fail(format!("{} {damage:?}: {name}: {problem}", self.specimen.name)),
        }
    }

    fn note(
        &self,
        command: &LedgerCommand,
        damage: Damage,
        judged: Result<DamageVerdict, String>,
        outcome: &crate::commands::CommandResult,
    ) {
        let mut found = self.found.lock().unwrap();
        match judged {
            Ok(verdict) => *found.commands.entry((damage.kind(), verdict)).or_default() += 1,
            Err(problem) => {
                found.fail(format!("{} {damage:?}: {}: {problem}: {outcome:?}", self.specimen.name, command.name()));
            }
        }
    }
}

/// Returns the commands to run on a damaged ledger.
fn chosen(number: usize, damage: Damage, is_new: bool) -> Vec<usize> {
    if IS_LONG && (is_new || damage.is_boundary()) {
        return (0..COMMANDS.len()).collect();
    }
    match damage {
        Damage::Cut { .. } if !number.is_multiple_of(16) => vec![],
        Damage::Cut { .. } => vec![number / 16 % COMMANDS.len()],
        _ => vec![number % COMMANDS.len()],
    }
}

/// Returns the earlier states of a ledger with a journal: the journal cut at each frame. Without a watermark a kill
/// leaves exactly such a state, so nothing is missing from them.
fn prefixes(specimen: &Specimen) -> Vec<Specimen> {
    let journal = specimen.journal();
    let frames = journal.len().saturating_sub(JOURNAL_HEADER) / FRAME;
    let cut = |frames: usize| {
        let mut cut = specimen.with(1, journal[..JOURNAL_HEADER + frames * FRAME].to_vec());
        cut.files[2] = None;
        cut
    };
    if journal.is_empty() { vec![specimen.clone()] } else { (0..=frames).map(cut).collect() }
}

/// Returns a folder on a file system in memory if there is one; otherwise the campaign waits for the disk.
fn folder(name: &str) -> PathBuf {
    let place = Some(PathBuf::from("/dev/shm")).filter(|place| place.is_dir()).unwrap_or_else(std::env::temp_dir);
    let path = place.join(format!("querist-damage-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    specimen::write_data(&path);
    path
}

fn run(which: usize, name: &str) {
    let folders: Vec<PathBuf> = (0..2).map(|thread| folder(&format!("{name}-{thread}"))).collect();
    let specimens = specimen::make(&folders[0]);
    let campaign = Campaign::new(&specimens[which], &folders[0]);
    thread::scope(|scope| {
        for folder in &folders {
            scope.spawn(|| campaign.work(folder));
        }
    });
    for folder in folders {
        fs::remove_dir_all(folder).unwrap();
    }
    let found = campaign.found.into_inner().unwrap();
    let (file, journal) = (campaign.specimen.file().len(), campaign.specimen.journal().len());
    eprintln!("{name}: {file} bytes, {journal} of its journal, time of commands {:?}", found.times);
    found.report(name, campaign.damage.len());
    assert!(found.failures.is_empty(), "{} failures, the first ones above", found.failures.len());
    assert!(found.commands.keys().any(|(_, verdict)| *verdict == DamageVerdict::Error), "nothing was refused");
}

#[test]
fn every_damage_to_a_closed_ledger_is_an_error_or_harmless() {
    run(0, "closed");
}

#[test]
fn every_damage_to_a_killed_ledger_is_reported_or_harmless() {
    run(1, "killed");
}
