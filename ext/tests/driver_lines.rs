//! Lines of drivers: those of the corpus, and these with bytes changed, cut and repeated.
#![allow(clippy::unwrap_used)]

use std::fs;

#[path = "../../fuzz/checks/driver_line.rs"]
mod driver_line;

#[test]
fn any_lines_are_obeyed_or_change_nothing() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/driver_line");
    let files = fs::read_dir(folder).unwrap();
    let inputs: Vec<_> = files
        .map(|file| fs::read(file.unwrap().path()).unwrap())
        .collect();
    let mut state = 1u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize % below
    };
    for input in &inputs {
        assert_eq!(
            driver_line::run(input),
            3,
            "all lines, and no more than an end of the last"
        );
        for _ in 0..500 {
            let mut other = input.clone();
            for _ in 0..=next(4) {
                let at = next(other.len());
                match next(4) {
                    0 => other[at] = next(256) as u8,
                    1 => other[at] = b"{}[]\",:0-9n\n"[next(12)],
                    2 => other.truncate(at + 1),
                    _ => other.extend_from_within(..at),
                }
            }
            driver_line::run(&other);
        }
    }
}
