//! Any text is a scenario or a topology in GML that can be built, or an error that names a line of
//! the text.

use bofuss_sim::controller::Controller;
use bofuss_sim::scenario::{ControllerRow, Outside, Scenario, ScenarioError};
use bofuss_sim::topology::{Topology, read_gml};

/// Digits of the longest number: larger networks only take longer to build.
const MAX_DIGITS: usize = 2;

/// Nothing is outside but one topology.
struct OneFile;

impl Outside for OneFile {
    fn read(&mut self, name: &str) -> Result<String, ScenarioError> {
        Err(format!("{name} is not here").into())
    }

    fn controller(&mut self, row: &ControllerRow) -> Result<Box<dyn Controller>, ScenarioError> {
        Err(format!("{} is not here", row.name.get_ref()).into())
    }
}

/// Panics: if a reader breaks its word. The first byte says which of them reads the rest.
pub fn run(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    let wrong = if kind % 2 == 0 {
        read_gml(text)
            .map(|read| check(&read))
            .err()
            .and_then(|error| error.line)
    } else if has_long_number(text) {
        return;
    } else {
        let built = Scenario::build(text, None, &mut OneFile);
        built.err().and_then(|error| error.line)
    };
    if let Some(line) = wrong {
        assert!(
            (1..=text.split('\n').count()).contains(&line),
            "line {line}"
        );
    }
}

/// Links are between nodes that are there, and names differ.
fn check(topology: &Topology) {
    let nodes = topology.nodes.len();
    for link in &topology.links {
        assert!(link.ends.0 < nodes && link.ends.1 < nodes);
    }
    let mut names: Vec<&str> = topology.nodes.iter().map(|node| &*node.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), nodes, "each node has a name of its own");
}

fn has_long_number(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|word| {
        let digits = word.bytes().filter(u8::is_ascii_hexdigit).count();
        digits > MAX_DIGITS && word.starts_with(|c: char| c.is_ascii_digit())
    })
}
