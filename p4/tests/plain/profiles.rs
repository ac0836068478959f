//! Random action profiles with selectors, and what the plain interpreter chooses of them.

use num_bigint::BigInt;
use serde_json::{Value, json};

use super::interpreter::{Interpreter, Packet, named, text};
use super::programs::{Maker, NewDoes};

const SIZE: usize = 16;
/// Numbers of members and groups. One group has no members.
const MEMBERS: u32 = 4;
const GROUPS: u32 = 3;

/// The members and groups of an action profile.
#[derive(Clone, Debug)]
pub struct NewProfile {
    pub name: String,
    /// Their actions and data, from number 1 on.
    pub members: Vec<(String, Vec<BigInt>)>,
    /// The members of each and their weights, from number 1 on.
    pub groups: Vec<Vec<(u32, u32)>>,
}

impl Maker<'_> {
    /// The profile of a table that has these actions; one with a selector has groups, too.
    pub fn profile(&mut self, name: &str, selects: bool, actions: &[(usize, String)]) -> Value {
        let mut members = Vec::new();
        for _ in 0..MEMBERS {
            let index = self.random.below(actions.len());
            let (id, action) = &actions[index];
            members.push((action.clone(), self.action_data(*id)));
        }
        let mut groups = Vec::new();
        for group in 0..if selects { GROUPS } else { 0 } {
            let mut rows = Vec::new();
            for member in 1..=MEMBERS {
                if group + 1 < GROUPS && self.random.below(3) > 0 {
                    rows.push((member, 1 + self.random.below(3) as u32));
                }
            }
            groups.push(rows);
        }
        self.profiles.push(NewProfile {
            name: name.into(),
            members,
            groups,
        });
        let mut profile = json!({"name": name, "id": 0, "max_size": SIZE});
        if selects {
            profile["selector"] = self.calculation();
        }
        profile
    }

    /// What an entry of a table with a profile does.
    pub fn member_or_group(&mut self, selects: bool) -> NewDoes {
        if selects && !self.random.one_of(4) {
            NewDoes::Group(1 + self.random.below(GROUPS as usize) as u32)
        } else {
            NewDoes::Member(1 + self.random.below(MEMBERS as usize) as u32)
        }
    }
}

impl Interpreter<'_> {
    /// The action and data that an entry of a table stands for; `None` of a group without members.
    pub fn chosen(
        &mut self,
        packet: &Packet,
        table: &Value,
        does: &NewDoes,
    ) -> Option<(String, Vec<BigInt>)> {
        let number = match does {
            NewDoes::Action(action, data) => return Some((action.clone(), data.clone())),
            NewDoes::Member(number) | NewDoes::Group(number) => *number as usize,
        };
        let name = text(&table["action_profile"]);
        let mut profiles = self.profiles.iter();
        let profile = profiles.find(|profile| profile.name == name);
        let profile = profile.expect("the table has it");
        let member = match does {
            NewDoes::Group(_) => {
                // Each member as often as it weighs.
                let mut all = Vec::new();
                for (member, weight) in &profile.groups[number - 1] {
                    all.extend((0..*weight).map(|_| *member as usize));
                }
                let controls = self.program["pipelines"].as_array().expect("a list").iter();
                let row = controls
                    .flat_map(|control| control["action_profiles"].as_array().expect("a list"))
                    .find(|row| row["name"] == name);
                let selector = &row.expect("the program has it")["selector"];
                let hash = self.calculate(packet, selector);
                if all.is_empty() {
                    return None;
                }
                self.chosen += 1;
                all[(hash % all.len() as u64) as usize]
            }
            NewDoes::Action(..) | NewDoes::Member(_) => number,
        };
        Some(profile.members[member - 1].clone())
    }

    /// The result of one of the program's calculations.
    pub fn named_calculation(&self, packet: &Packet, name: &str) -> u64 {
        self.calculate(packet, named(&self.program["calculations"], name))
    }
}
