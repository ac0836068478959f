//! What a run was asked for, and the facts of each of its sessions.

use serde::{Deserialize, Serialize};

use crate::runs::machine::lasts;
use crate::subject::time_stamps::TimeStamps;

/// The request, and the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The version of this program.
    pub program: String,
    /// The set-up or the switch.
    pub subject: String,
    /// The version of OpenFlow, if any.
    pub version: Option<String>,
    /// Repeats of each point.
    pub repeats: u32,
    /// True if all was in its shortest form.
    pub short: bool,
    /// True if a live data centre had fewer flows.
    #[serde(default)]
    pub reduced: bool,
    /// True if frames went there and back.
    pub echo: bool,
    /// The clock that stamped the frames.
    #[serde(default)]
    pub stamps: TimeStamps,
    /// The machine and the switch in the last session, a line for each fact.
    pub machine: Vec<String>,
    /// The number of results that were there before it.
    #[serde(default)]
    pub results_before: usize,
    /// The sessions before it that measured something.
    #[serde(default)]
    pub earlier: Vec<RunSession>,
}

/// A session of a run: one call of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSession {
    /// The number of results that were there before it.
    pub results_before: usize,
    /// The machine and the switch, a line for each fact.
    pub machine: Vec<String>,
}

impl RunInfo {
    /// Returns in words what two runs must have in common for their results to belong together.
    fn conditions(&self) -> [&str; 6] {
        [
            &self.subject,
            self.version.as_deref().unwrap_or("any version"),
            if self.short {
                "--short"
            } else {
                "the long form"
            },
            if self.reduced {
                "--reduced"
            } else {
                "no reduced form"
            },
            if self.echo {
                "echo mode"
            } else {
                "one-way mode"
            },
            self.stamps.words(),
        ]
    }

    /// Says why results of another run do not belong with those of this one, if they do not.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let mut pairs = self.conditions().into_iter().zip(other.conditions());
        let (ours, theirs) = pairs.find(|(ours, theirs)| ours != theirs)?;
        Some(format!("it was {ours}, this one is {theirs}"))
    }

    /// The same as a further session of a run of which there are this many results.
    #[must_use]
    pub fn after(mut self, there: Self, results: usize) -> Self {
        let last = RunSession {
            results_before: there.results_before,
            machine: there.machine,
        };
        self.earlier = there.earlier;
        self.earlier.push(last);
        // Sessions in which nothing was measured say nothing about the results.
        self.earlier
            .retain(|session| session.results_before < results);
        self.results_before = results;
        self
    }

    /// Says which results were measured in other conditions than those of the last session.
    pub fn changes(&self) -> Vec<String> {
        let later = self.earlier.iter().skip(1);
        let ends = later.map(|session| session.results_before);
        let ends = ends.chain([self.results_before]);
        let mut said = Vec::new();
        for (session, end) in self.earlier.iter().zip(ends) {
            let had = lasting_without(&session.machine, &self.machine);
            let has = lasting_without(&self.machine, &session.machine);
            if had != has {
                let first = session.results_before + 1;
                said.push(format!(
                    "Results {first} to {end} were measured in other conditions: {had}, and not \
                     {has}."
                ));
            }
        }
        said
    }

    /// A run of a subject, once and one way.
    #[cfg(test)]
    pub fn of_subject(subject: &str) -> Self {
        Self {
            program: "ofmeter".into(),
            subject: subject.into(),
            version: None,
            repeats: 1,
            short: false,
            reduced: false,
            echo: false,
            stamps: TimeStamps::default(),
            machine: Vec::new(),
            results_before: 0,
            earlier: Vec::new(),
        }
    }
}

/// The facts that others do not have, in words, without those that change from day to day.
fn lasting_without(facts: &[String], others: &[String]) -> String {
    let mut found: Vec<&str> = facts.iter().map(String::as_str).collect();
    found.retain(|fact| lasts(fact) && !others.iter().any(|other| other == fact));
    if found.is_empty() {
        return "none of these".into();
    }
    found.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_in_another_form_says_in_what_it_differs() {
        let there = RunInfo {
            version: Some("1.3".into()),
            repeats: 3,
            ..RunInfo::of_subject("bofuss")
        };
        let mut asked = there.clone();
        (asked.repeats, asked.machine) = (5, vec!["two cores".into()]);
        assert_eq!(there.difference(&asked), None);
        asked.short = true;
        let told = "it was the long form, this one is --short";
        assert_eq!(there.difference(&asked).as_deref(), Some(told));
    }
}
