//! A model file is read exactly as written or rejected, and it is written atomically.

use std::fs;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use querist_ledger::{ModelFault, ModelFile, ModelVersion, write_atomic};

fn sample() -> ModelFile {
    let weights = (0..200).map(|index| (f64::from(index) - 99.5) / 7.0).collect();
    ModelFile {
        version: ModelVersion::Linear,
        header: r#"{"loss": "logistic", "classes": ["no", "ja – ü"]}"#.to_owned(),
        arrays: vec![
            ("weights".to_owned(), weights),
            ("empty".to_owned(), vec![]),
            ("awkward".to_owned(), vec![-0.0, 5e-324, f64::NEG_INFINITY, f64::MAX]),
        ],
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300, rng_seed: proptest::test_runner::RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn content_round_trips_bit_for_bit(
        header in any::<String>(),
        arrays in prop::collection::vec((any::<String>(), prop::collection::vec(any::<u64>(), 0..30)), 0..6),
    ) {
        let numbers = |bits: Vec<u64>| bits.into_iter().map(f64::from_bits).collect();
        let arrays = arrays.into_iter().map(|(name, bits)| (name, numbers(bits))).collect();
        let model = ModelFile { version: ModelVersion::default(), header, arrays };
        let bytes = model.to_bytes();
        let back = ModelFile::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&back.header, &model.header);
        // Bytes distinguish values that `==` does not: −0.0 and 0.0, one NaN and another.
        prop_assert_eq!(back.to_bytes(), &bytes[..]);
        let sum = model.checksum();
        let sums = sum.as_bytes().chunks(2).map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap());
        prop_assert_eq!(sums.collect::<Vec<_>>(), &bytes[bytes.len() - 32..]);
    }

    #[test]
    fn arbitrary_bytes_are_rejected(bytes in prop::collection::vec(any::<u8>(), 0..200), named in any::<bool>()) {
        let mut file = if named { b"querist model 1\n".to_vec() } else { vec![] };
        file.extend(bytes);
        prop_assert!(ModelFile::from_bytes(&file).is_err());
    }
}

#[test]
fn the_layout_matches_the_documentation() {
    let model = ModelFile {
        version: ModelVersion::Linear,
        header: "{}".to_owned(),
        arrays: vec![("w".to_owned(), vec![1.0, -2.0])],
    };
    let mut bytes = b"querist model 1\n".to_vec();
    for length in [16 + 24 + 2 + 8 + 1 + 8 + 16 + 32, 2, 1_u64] {
        bytes.extend(length.to_le_bytes());
    }
    bytes.extend(b"{}");
    bytes.extend(1_u64.to_le_bytes());
    bytes.extend(b"w");
    bytes.extend(2_u64.to_le_bytes());
    bytes.extend(1.0_f64.to_le_bytes());
    bytes.extend((-2.0_f64).to_le_bytes());
    let written = model.to_bytes();
    assert_eq!(written[..written.len() - 32], bytes);
    let checksum = written[written.len() - 32..].iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    assert_eq!(checksum, "19c6481c943c5d5d2ae27112239cc8f70ef43ad471dea3c37074e0d14d36d053");
    let other = ModelFile { version: ModelVersion::OfKinds, ..model };
    assert!(other.to_bytes().starts_with(b"querist model 2\n"));
    assert_eq!(ModelFile::from_bytes(&other.to_bytes()).unwrap(), other);
}

/// Asserts that both ways of reading reject the bytes with the same message, and returns the fault.
fn rejected(path: &Path, bytes: &[u8]) -> ModelFault {
    // Some systems sync a file to disk when it is truncated and rewritten, but not a new one, so this is faster.
    let _ = fs::remove_file(path);
    fs::write(path, bytes).unwrap();
    let in_file = ModelFile::read(path).unwrap_err();
    let in_memory = ModelFile::from_bytes(bytes).unwrap_err();
    assert_eq!(in_file.to_string(), format!("{}: {in_memory}", path.display()));
    in_memory
}

#[test]
fn every_truncated_file_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let bytes = sample().to_bytes();
    assert!(1800 < bytes.len());
    for length in 0..bytes.len() {
        let text = rejected(&path, &bytes[..length]).to_string();
        match length {
            0 => assert!(text.starts_with("not a Querist model file"), "{text}"),
            1..40 => assert!(text.starts_with(&format!("truncated: has {length} of ")), "{text}"),
            _ => assert!(text.starts_with(&format!("truncated: has {length} of {} bytes", bytes.len())), "{text}"),
        }
    }
}

#[test]
fn every_changed_byte_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let bytes = sample().to_bytes();
    for position in 0..bytes.len() {
        for change in [1, 2, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[position] ^= change;
            let fault =
                if change == 1 { rejected(&path, &changed) } else { ModelFile::from_bytes(&changed).unwrap_err() };
            let expected = match position {
                0..14 => matches!(fault, ModelFault::NotAModel),
                14 => matches!(fault, ModelFault::NotAModel | ModelFault::Version { .. }),
                15 => matches!(fault, ModelFault::Damaged { .. }),
                16..24 => matches!(fault, ModelFault::Damaged { .. } | ModelFault::CutShort { .. }),
                _ => matches!(fault, ModelFault::Damaged { found: "it does not match its checksum" }),
            };
            assert!(expected, "byte {position}: {fault}");
        }
    }
    let longer = [bytes.as_slice(), b"\n"].concat();
    assert_eq!(rejected(&path, &longer).to_string().lines().next(), Some("damaged: it has extra bytes at its end"));
}

#[test]
fn files_that_are_not_models_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let table: [(&[u8], &str); 5] = [
        (b"", "not a Querist model file\n  check the name"),
        (b"id,label\n1,2\n", "not a Querist model file"),
        (b"querist model x\n", "not a Querist model file"),
        (
            b"querist model 3\nwhatever comes then",
            "a model file of version 3, but this program reads versions up to 2\n  install a newer",
        ),
        (b"querist model 17\n", "a model file of version 17, but"),
    ];
    for (bytes, message) in table {
        let found = rejected(&path, bytes).to_string();
        assert!(found.starts_with(message), "{found}");
    }
    let missing = ModelFile::read(folder.path().join("missing")).unwrap_err().to_string();
    assert!(missing.contains("missing: cannot be read: "), "{missing}");
    let found = ModelFile::read(folder.path()).unwrap_err().to_string();
    assert!(found.contains(": cannot be read: is a directory"), "{found}");
}

#[test]
fn false_lengths_are_rejected_before_allocation() {
    let bytes = sample().to_bytes();
    // With a correct checksum, so that the lengths themselves are checked.
    for position in [24, 32, 40 + sample().header.len()] {
        for length in [u64::MAX, u64::MAX / 8, 1 << 40, 1 << 61, 0] {
            let mut body = bytes[..bytes.len() - 32].to_vec();
            body[position..position + 8].copy_from_slice(&length.to_le_bytes());
            let fault = ModelFile::from_bytes(&with_checksum(body)).unwrap_err();
            assert!(matches!(fault, ModelFault::Damaged { .. }), "{fault}");
        }
    }
}

fn with_checksum(mut body: Vec<u8>) -> Vec<u8> {
    use sha2::Digest;
    let checksum = sha2::Sha256::digest(&body);
    body.extend_from_slice(&checksum);
    body
}

#[test]
fn writing_replaces_the_file_or_leaves_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let names = || {
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    ModelFile::default().write(&path).unwrap();
    sample().write(&path).unwrap();
    assert_eq!(ModelFile::read(&path).unwrap(), sample());
    assert_eq!(names(), ["model"]);

    let found = sample().write(folder.path()).unwrap_err().to_string();
    assert!(found.contains("cannot be written: is a directory\n  use the name of a file"), "{found}");
    let found = sample().write(folder.path().join("no/model")).unwrap_err().to_string();
    assert!(
        found.contains("cannot create a file beside it") && found.contains("check the name of the folder"),
        "{found}"
    );
    assert_eq!(names(), ["model"]);
}

#[cfg(unix)]
#[test]
fn symlinks_and_permissions_are_preserved() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("model"), folder.path().join("link"));
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("model", &link).unwrap();
    write_atomic(&link, b"new").unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

/// The environment variable with the path that the child process of the test below writes to.
const TASK: &str = "QUERIST_MODEL_CHILD";

/// Runs as the child process of the next test; does nothing without a task.
#[test]
fn child_process() {
    let Some(path) = std::env::var_os(TASK) else { return };
    let found = write_atomic(Path::new(&path), &vec![7; 1 << 20]).unwrap_err().to_string();
    assert!(found.contains("cannot be written; the old file is unchanged"), "{found}");
}

#[cfg(unix)]
#[test]
fn a_file_size_limit_leaves_only_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    sample().write(&path).unwrap();
    let script = "trap '' XFSZ; ulimit -f 300; exec \"$0\" --exact child_process";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(std::env::current_exe().unwrap()).env(TASK, &path);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(ModelFile::read(&path).unwrap(), sample());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_documented_python_reader_reads_a_model() {
    let page = include_str!("../../../docs/reference/model-file.md");
    let script = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    sample().write(&path).unwrap();
    let show = "import sys\nheader, arrays = read_model(sys.argv[1])\n\
                print(header['classes'][1], list(arrays), sum(arrays['weights']), arrays['awkward'])";
    let run = |path: &Path| Command::new("python3").arg("-c").arg(format!("{script}\n{show}")).arg(path).output();
    // Skipped if Python is not installed.
    let Ok(output) = run(&path) else { return };
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let numbers = "[-0.0, 5e-324, -inf, 1.7976931348623157e+308]";
    let sum: f64 = sample().arrays[0].1.iter().sum();
    assert!(sum.abs() < 1e-9);
    assert!(text.contains("['weights', 'empty', 'awkward']") && text.contains(numbers), "{text}");
    let mut bytes = sample().to_bytes();
    bytes[300] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert!(!run(&path).unwrap().status.success());
}
