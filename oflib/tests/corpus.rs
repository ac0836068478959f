//! The inputs that fuzzing kept are checked again, by the fuzz targets' own checks.

use std::fs;

use bofuss_oflib::Version;

use crate::common::{from_root, vectors_of};

#[path = "../../fuzz/checks/message_decode.rs"]
mod message_decode;
#[path = "../../fuzz/checks/text_parse.rs"]
mod text_parse;

fn replay(target: &str, run: fn(&[u8])) {
    let folder = fs::read_dir(from_root("fuzz/corpus").join(target)).expect("the corpus is there");
    let inputs: Vec<Vec<u8>> = folder
        .map(|entry| fs::read(entry.expect("a folder lists").path()).expect("an input is a file"))
        .collect();
    assert!(!inputs.is_empty());
    inputs.iter().for_each(|input| run(input));
}

#[test]
fn the_messages_that_fuzzing_kept_are_read() {
    replay("message_decode", message_decode::run);
}

#[test]
fn the_messages_of_vectors_are_read() {
    for version in Version::ALL {
        for vector in vectors_of(*version) {
            message_decode::run(&vector.bytes);
        }
    }
}

#[test]
fn the_texts_that_fuzzing_kept_are_read() {
    replay("text_parse", text_parse::run);
}
