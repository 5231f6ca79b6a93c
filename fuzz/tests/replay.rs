//! The stored corpus and the inputs that fuzzing has found.
//!
//! A file of the corpus is a gzip of concatenated inputs, each after its length in four bytes,
//! big-endian. A file in `found` is one input that once failed; its name starts with its target.

use std::io::Read;
use std::path::Path;

use commitlog_fuzz::TARGETS;

#[test]
fn corpus_inputs_are_handled() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, target) in TARGETS {
        let packed = std::fs::read(folder.join(format!("{name}.gz"))).unwrap();
        let mut inputs = Vec::new();
        flate2::read::GzDecoder::new(&packed[..])
            .read_to_end(&mut inputs)
            .unwrap();
        let mut rest = &inputs[..];
        let mut count = 0;
        while let Some((length, tail)) = rest.split_first_chunk::<4>() {
            let (input, tail) = tail.split_at(u32::from_be_bytes(*length) as usize);
            target(input);
            rest = tail;
            count += 1;
        }
        assert!(count > 0, "{name} has no inputs");
    }
}

#[test]
fn found_inputs_are_handled() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("found");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap();
        let (_, target) = TARGETS
            .into_iter()
            .find(|(name, _)| file.starts_with(&format!("{name}-")))
            .unwrap_or_else(|| panic!("{file} names no target"));
        target(&std::fs::read(&path).unwrap());
    }
}
