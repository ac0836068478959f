//! What protects a switch that the meter did not start: its rules are shown, nothing is changed
//! without the user's word, and in the end the rules are as they were.

use bofuss_oflib::Message;
use bofuss_oflib::message::FlowMod;

use super::controller::ControlSession;
use super::results::Store;

/// Rules that are shown at most.
const MAX_SHOWN: usize = 20;
/// The file of the rules that were there, in case the meter is killed.
const BEFORE: &str = "rules-before.txt";

/// The rules of a switch before the meter changed it.
pub struct Guard(Vec<FlowMod>);

impl Guard {
    /// Reads the rules of the switch, and writes them into the folder.
    ///
    /// Errors: there are rules, and `wipe` is not set; the connection's.
    pub fn new(controller: &mut ControlSession, wipe: bool, store: &Store) -> Result<Self, String> {
        let rules = controller.entries()?;
        let lines: Vec<String> = rules
            .iter()
            .map(|rule| Message::FlowMod(rule.clone()).to_string())
            .collect();
        if !rules.is_empty() {
            let shown = lines
                .iter()
                .take(MAX_SHOWN)
                .cloned()
                .collect::<Vec<_>>()
                .join("\n  ");
            let count = rules.len();
            if !wipe {
                return Err(format!(
                    "the switch has {count} rules:\n  {shown}\n\
                     with --wipe they are removed during the run and put back in the end"
                ));
            }
            let path = store.write(BEFORE, &(lines.join("\n") + "\n"))?;
            eprintln!(
                "{count} rules are removed until the end; see {}",
                path.display()
            );
        }
        Ok(Self(rules))
    }

    /// Puts the rules back.
    ///
    /// Errors: the connection's.
    pub fn restore(self, controller: &mut ControlSession) -> Result<(), String> {
        controller.remove_all()?;
        let messages: Vec<Message> = self.0.into_iter().map(Message::FlowMod).collect();
        controller.change(&messages)?;
        if !messages.is_empty() {
            eprintln!("{} rules are back", messages.len());
        }
        Ok(())
    }
}
