//! Finds what a name or its end stands for, as bmv2's command line does.

use alloc::format;
use alloc::string::String;

/// What is called `name`, or the only one whose name ends so: in a whole part of it, or in any.
/// Errors: a sentence, in which `what` says what is looked for.
pub fn named<'a>(
    all: impl Iterator<Item = (usize, &'a str)> + Clone,
    name: &str,
    what: &str,
) -> Result<usize, String> {
    if let Some((index, _)) = all.clone().find(|(_, other)| *other == name) {
        return Ok(index);
    }
    for end in [&*format!(".{name}"), name] {
        let mut like = all.clone().filter(|(_, other)| other.ends_with(end));
        match (like.next(), like.next()) {
            (Some((index, _)), None) => return Ok(index),
            (Some(_), Some(_)) => return Err(format!("{name} is the end of several names")),
            (None, _) => {}
        }
    }
    Err(format!("there is no {what} {name}"))
}
