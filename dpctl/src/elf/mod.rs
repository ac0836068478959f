//! Replaces `object=FILE` in the words of `program_mod` by the maps and the code of that file.
//!
//! The file is an object of clang's for eBPF. `aya-obj`, which loads such objects into the kernel,
//! takes a file's numbers as they are, and panics where they are wrong; so this reads the ELF file
//! by `object`, which does not.

mod btf;
mod maps;
mod program;

use std::path::Path;

use bofuss_channel::{read_file, shortened};
use bofuss_ext::ebpf;
use bofuss_oflib::ext::ExtRow;
use bofuss_oflib::text::items;
use bofuss_oflib::wire::{Bytes, Text};

use crate::Failure;

/// The words of a verb as its message takes them: those of the verb that adds programs with what
/// `object=FILE` stands for, and `section=NAME` chooses if the file has several programs; all
/// others as they are.
///
/// Errors: the file, and what is wrong in it.
pub(crate) fn with_code(row: &ExtRow, text: &str) -> Result<String, Failure> {
    let value = |name: &str| {
        let mut named = items(text).filter_map(|item| item.split_once('='));
        named.find(|(other, _)| *other == name).map(|row| row.1)
    };
    let is_add = row.experimenter == ebpf::EXPERIMENTER && items(text).any(|item| item == "add");
    let Some(file) = value("object").filter(|_| is_add) else {
        return Ok(text.into());
    };
    if value("code").or(value("map0")).is_some() {
        let error = "an object has its own code and maps: leave out code and map0".into();
        return Err(Failure::Usage(error));
    }
    let bytes = read_file(Path::new(file)).map_err(|error| error.to_string());
    let section = value("section");
    let program = bytes.and_then(|bytes| program::read(&bytes, section));
    let program = program.map_err(|error| Failure::Usage(shortened(format!("{file}: {error}"))))?;
    let is_ours = |item: &&str| item.starts_with("object=") || item.starts_with("section=");
    let mut words: Vec<String> = items(text)
        .filter(|item| !is_ours(item))
        .map(String::from)
        .collect();
    let maps = program.maps.iter().enumerate();
    words.extend(maps.map(|(number, map)| format!("map{number}=({})", Text(map))));
    words.push(format!("code={}", Text(&Bytes(program.code))));
    Ok(words.join(","))
}

#[cfg(test)]
mod tests;
