//! GML, as the Internet Topology Zoo writes it: nodes with labels, edges with link speeds.
//!
//! GML is a tree of `key value` pairs, where a value is a number, a text in quotes or a list in
//! brackets (Himsolt, "GML: A portable Graph File Format", 1997).

use std::collections::{BTreeMap, BTreeSet};

use super::{MAX_ELEMENTS, Topology, TopologyError, TopologyLink};

/// The most levels of lists within lists; files of the Topology Zoo have three.
const MAX_DEPTH: usize = 16;
/// The speed of light in fibre, in metres per second: about two thirds of that in a vacuum.
const METRES_PER_SEC_IN_FIBRE: f64 = 2.0e8;
/// The mean radius of the earth, in metres.
const EARTH_RADIUS_METRES: f64 = 6_371_000.0;

/// A value with the line in which it begins.
#[derive(Debug)]
struct Placed {
    line: usize,
    value: GmlValue,
}

#[derive(Debug)]
enum GmlValue {
    Number(f64),
    Text(String),
    List(Vec<(String, Placed)>),
}

/// Reads a topology of switches: each node is one. Its name is made of the letters and digits of
/// its label, or else of its id; if the name is taken, the id is appended. A link has the rate in
/// `LinkSpeedRaw`, if that is positive. If both ends have a latitude and a longitude, its delay is
/// the time that light takes in fibre for the distance. Links from a node to itself are left out,
/// and of several links between the same two nodes all but the first.
///
/// Errors: what is wrong, with its line.
pub fn read_gml(text: &str) -> Result<Topology, TopologyError> {
    let mut reader = GmlReader {
        text,
        at: 0,
        line: 1,
    };
    let pairs = reader.list(0)?;
    let graph = pairs.iter().find(|(key, _)| key == "graph");
    let Some((_, graph)) = graph else {
        return Err(refuse(1, "there is no 'graph'"));
    };
    let GmlValue::List(graph_pairs) = &graph.value else {
        return Err(refuse(graph.line, "'graph' is no list"));
    };
    let mut topology = Topology::default();
    let mut names = BTreeSet::new();
    let mut gml_nodes = BTreeMap::new();
    for (key, item) in graph_pairs {
        if key == "node" {
            let gml_node = gml_node(item, topology.nodes.len())?;
            let name = free_name(&mut names, &gml_node);
            topology.add_switch(name);
            let id = gml_node.id;
            if gml_nodes.insert(id, gml_node).is_some() {
                return Err(refuse(item.line, format!("node {id} is there twice")));
            }
        }
        if topology.nodes.len() > MAX_ELEMENTS {
            return Err(refuse(item.line, format!("more than {MAX_ELEMENTS} nodes")));
        }
    }
    let mut taken = BTreeSet::new();
    for (key, item) in graph_pairs {
        if key != "edge" {
            continue;
        }
        let source = end(item, "source", &gml_nodes)?;
        let target = end(item, "target", &gml_nodes)?;
        let ends = (source.place, target.place);
        let pair = (ends.0.min(ends.1), ends.0.max(ends.1));
        if ends.0 != ends.1 && taken.insert(pair) {
            topology.links.push(TopologyLink {
                ends,
                rate_bps: number(item, "LinkSpeedRaw")
                    .map(|rate| rate as u64)
                    .filter(|rate| *rate > 0),
                delay_ns: delay_ns(source, target),
            });
        }
    }
    if topology.nodes.is_empty() {
        return Err(refuse(graph.line, "the graph has no node"));
    }
    Ok(topology)
}

/// A node of the file.
struct GmlNode {
    id: i64,
    /// Its place in the topology.
    place: usize,
    label: Option<String>,
    /// Latitude and longitude, in degrees.
    position: Option<(f64, f64)>,
}

fn gml_node(item: &Placed, place: usize) -> Result<GmlNode, TopologyError> {
    let id = number(item, "id").ok_or_else(|| refuse(item.line, "a node without 'id'"))?;
    let latitude = number(item, "Latitude");
    Ok(GmlNode {
        id: id as i64,
        place,
        label: text_of(item, "label"),
        position: latitude.zip(number(item, "Longitude")),
    })
}

/// Makes an unused name for a node: the letters and digits of its label, with `-` for all else.
fn free_name(names: &mut BTreeSet<String>, gml_node: &GmlNode) -> String {
    let label = gml_node.label.as_deref().unwrap_or_default();
    let mut name = String::new();
    for letter in label.chars() {
        if letter.is_ascii_alphanumeric() {
            name.push(letter);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    name.truncate(name.trim_end_matches('-').len());
    if name.is_empty() {
        name = format!("n{}", gml_node.id);
    }
    while names.contains(&name) {
        name.push_str(&format!("-n{}", gml_node.id));
    }
    names.insert(name.clone());
    name
}

fn end<'s>(
    item: &Placed,
    key: &str,
    gml_nodes: &'s BTreeMap<i64, GmlNode>,
) -> Result<&'s GmlNode, TopologyError> {
    let id =
        number(item, key).ok_or_else(|| refuse(item.line, format!("an edge without '{key}'")))?;
    let gml_node = gml_nodes.get(&(id as i64));
    gml_node.ok_or_else(|| refuse(item.line, format!("an edge's {key} {id} is no node")))
}

/// The time that light takes in fibre along the great circle between two nodes (haversine formula);
/// `None` if a position is missing.
fn delay_ns(from: &GmlNode, to: &GmlNode) -> Option<u64> {
    let (lat1, lon1) = from.position?;
    let (lat2, lon2) = to.position?;
    let half_lat = (lat2 - lat1).to_radians() / 2.0;
    let half_lon = (lon2 - lon1).to_radians() / 2.0;
    let cosines = lat1.to_radians().cos() * lat2.to_radians().cos();
    let chord = half_lat.sin().powi(2) + cosines * half_lon.sin().powi(2);
    let metres = 2.0 * EARTH_RADIUS_METRES * chord.clamp(0.0, 1.0).sqrt().asin();
    let nanos = metres / METRES_PER_SEC_IN_FIBRE * 1e9;
    Some((nanos as u64).max(1))
}

fn value<'p>(item: &'p Placed, wanted: &str) -> Option<&'p GmlValue> {
    let GmlValue::List(pairs) = &item.value else {
        return None;
    };
    let found = pairs.iter().find(|(key, _)| key == wanted);
    found.map(|(_, placed)| &placed.value)
}

fn number(item: &Placed, key: &str) -> Option<f64> {
    match value(item, key)? {
        GmlValue::Number(number) => Some(*number),
        GmlValue::Text(_) | GmlValue::List(_) => None,
    }
}

fn text_of(item: &Placed, key: &str) -> Option<String> {
    match value(item, key)? {
        GmlValue::Text(text) => Some(text.clone()),
        GmlValue::Number(number) => Some(number.to_string()),
        GmlValue::List(_) => None,
    }
}

fn refuse(line: usize, text: impl Into<String>) -> TopologyError {
    TopologyError {
        line: Some(line),
        text: text.into(),
    }
}

/// Reads pairs from a text.
struct GmlReader<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl<'t> GmlReader<'t> {
    /// Reads pairs up to the end of the list, or at depth 0 of the text.
    fn list(&mut self, depth: usize) -> Result<Vec<(String, Placed)>, TopologyError> {
        if depth > MAX_DEPTH {
            let text = format!("lists are nested more than {MAX_DEPTH} deep");
            return Err(refuse(self.line, text));
        }
        let mut pairs = Vec::new();
        loop {
            let Some(key) = self.word()? else {
                if depth > 0 {
                    return Err(refuse(self.line, "a '[' has no ']'"));
                }
                return Ok(pairs);
            };
            if key == "]" {
                if depth == 0 {
                    return Err(refuse(self.line, "a ']' has no '['"));
                }
                return Ok(pairs);
            }
            if !key.starts_with(|first: char| first.is_ascii_alphabetic()) {
                return Err(refuse(self.line, format!("'{}' is no key", shown(key))));
            }
            let line = self.line;
            let value = self.value(key, depth)?;
            pairs.push((key.into(), Placed { line, value }));
        }
    }

    fn value(&mut self, key: &str, depth: usize) -> Result<GmlValue, TopologyError> {
        let line = self.line;
        let word = self.word()?;
        let Some(word) = word.filter(|word| *word != "]") else {
            return Err(refuse(line, format!("'{}' has no value", shown(key))));
        };
        if word == "[" {
            return Ok(GmlValue::List(self.list(depth + 1)?));
        }
        if let Some(text) = word.strip_prefix('"') {
            return Ok(GmlValue::Text(text.trim_end_matches('"').into()));
        }
        let parsed: Option<f64> = word.parse().ok();
        let number = parsed.filter(|number| number.is_finite());
        number.map(GmlValue::Number).ok_or_else(|| {
            let text = format!(
                "'{}' is no number, no text in quotes and no list",
                shown(word)
            );
            refuse(line, text)
        })
    }

    /// The next word, bracket or text in quotes, with its quotes; `None` at the end.
    fn word(&mut self) -> Result<Option<&'t str>, TopologyError> {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else {
            return Ok(None);
        };
        let length = match first {
            '[' | ']' => 1,
            '"' => {
                let end = rest[1..].find('"');
                end.ok_or_else(|| refuse(self.line, "a text has no closing quote"))? + 2
            }
            _ => rest
                .find(|letter: char| letter.is_whitespace() || "[]\"".contains(letter))
                .unwrap_or(rest.len()),
        };
        let word = &rest[..length];
        self.at += length;
        self.line += word.matches('\n').count();
        Ok(Some(word))
    }

    /// Skips blanks, and comments, which begin with `#`.
    fn skip_blanks(&mut self) {
        let mut in_comment = false;
        for letter in self.text[self.at..].chars() {
            match letter {
                '\n' => {
                    in_comment = false;
                    self.line += 1;
                }
                '#' => in_comment = true,
                _ if in_comment || letter.is_whitespace() => {}
                _ => return,
            }
            self.at += letter.len_utf8();
        }
    }
}

/// The beginning of a word, for an error.
fn shown(word: &str) -> &str {
    const MOST: usize = 40;
    word.char_indices()
        .nth(MOST)
        .map_or(word, |(end, _)| &word[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
        Creator "a \ tool"
        graph [
          directed 0   # as most are
          Network "Small"
          node [ id 0 label "New York" Longitude -74.00597 Latitude 40.71427 ]
          node [ id 7 label "Chicago" Longitude -87.65005 Latitude 41.85003 ]
          node [ id 9 label "Chicago" ]
          edge [ source 0 target 7 LinkSpeedRaw 10000000000.0 LinkLabel "OC-192" ]
          edge [ source 7 target 0 ]
          edge [ source 9 target 9 ]
          edge [ source 9 target 7 LinkSpeedRaw -1 ]
        ]"#;

    #[test]
    fn nodes_edges_speeds_and_distances_are_read() {
        let topology = read_gml(SMALL).unwrap();
        let names: Vec<_> = topology.nodes.iter().map(|node| &node.name[..]).collect();
        assert_eq!(names, ["New-York", "Chicago", "Chicago-n9"]);
        let [first, second] = &topology.links[..] else {
            panic!("{:?}", topology.links);
        };
        assert_eq!(first.ends, (0, 1));
        assert_eq!(first.rate_bps, Some(10_000_000_000));
        // 1,145 km.
        let delay = first.delay_ns.unwrap();
        assert!((5_650_000..5_800_000).contains(&delay), "{delay}");
        assert_eq!((second.ends, second.delay_ns), ((2, 1), None));
        assert_eq!(second.rate_bps, None, "as other links");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let deep = "a [ ".repeat(1000);
        let cases = [
            ("", "line 1: there is no 'graph'"),
            ("graph 5", "line 1: 'graph' is no list"),
            (
                "graph [\nnode [ label \"a\" ]\n]",
                "line 2: a node without 'id'",
            ),
            (
                "graph [ node [ id 1 ]\nedge [ source 1 target 2 ] ]",
                "line 2: an edge's target 2 is no node",
            ),
            ("graph [\n\nnode [ id 1 ]", "line 3: a '[' has no ']'"),
            ("graph [ ] ]", "line 1: a ']' has no '['"),
            ("graph [ id \"one ]", "line 1: a text has no closing quote"),
            (
                "graph [ id nan ]",
                "line 1: 'nan' is no number, no text in quotes and no list",
            ),
            ("graph [ id ]", "line 1: 'id' has no value"),
            ("graph [ 5 5 ]", "line 1: '5' is no key"),
            (
                "graph [ node [ id 1 ] node [ id 1 ] ]",
                "line 1: node 1 is there twice",
            ),
            (&deep, "line 1: lists are nested more than 16 deep"),
        ];
        for (text, wanted) in cases {
            let error = read_gml(text).unwrap_err();
            assert_eq!(error.to_string(), wanted);
        }
    }
}
