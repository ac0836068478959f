//! Scenarios: a network, its traffic and changes, and what has to hold at the end, as a TOML text.

mod assertions;
mod build;
mod file;
mod names;
mod rules;

use std::fmt;
use std::ops::Range;

use serde_json::Value;

pub use assertions::FailedAssertion;
pub use build::{NoOutside, Outside, Scenario};
pub use file::{ControllerRow, ScenarioFile};
pub(crate) use names::matches;
pub use rules::parse_rule;

/// The kinds of controllers that the simulator has, in words.
pub const KINDS: &str = "learning, shortest-path, ecmp, rules";

/// An error of a scenario, and its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The line, from 1, if the error is in one.
    pub line: Option<usize>,
    /// The error, often with the key.
    pub text: String,
}

impl ScenarioError {
    /// An error at a place in the scenario's text.
    fn at(source: &str, span: Range<usize>, text: impl Into<String>) -> Self {
        let before = source.get(..span.start).unwrap_or(source);
        Self {
            line: Some(before.matches('\n').count() + 1),
            text: text.into(),
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl std::error::Error for ScenarioError {}

impl<T: Into<String>> From<T> for ScenarioError {
    fn from(text: T) -> Self {
        let text = text.into();
        Self { line: None, text }
    }
}

/// Finds numbers in a document by a path of keys with dots in between, where `*` stands for any
/// key. Keys may have dots themselves. Returns each number that matches, with its path.
fn numbers(document: &Value, path: &str) -> Vec<(String, f64)> {
    let mut found = Vec::new();
    add_numbers(document, path, String::new(), &mut found);
    found
}

/// Adds the numbers at `path` below `value`, whose own path is `at`.
fn add_numbers(value: &Value, path: &str, at: String, found: &mut Vec<(String, f64)>) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(list) => {
            let numbered = list.iter().zip(1..);
            numbered
                .map(|(value, key)| (key.to_string(), value))
                .collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
    };
    for (key, value) in members {
        for wanted in [key.as_str(), "*"] {
            let Some(rest) = path.strip_prefix(wanted) else {
                continue;
            };
            let at = match at.as_str() {
                "" => key.clone(),
                before => format!("{before}.{key}"),
            };
            match (rest.strip_prefix('.'), value.as_f64()) {
                (Some(rest), _) => add_numbers(value, rest, at, found),
                (None, Some(number)) if rest.is_empty() => found.push((at, number)),
                (None, _) => {}
            }
        }
    }
}
