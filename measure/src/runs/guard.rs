//! Protects a switch that the meter did not start: its rules are shown, nothing is changed without
//! `--wipe`, and at the end of a run the rules are as they were.

use bofuss_oflib::Message;
use bofuss_oflib::message::FlowMod;

use crate::error::Result;
use crate::runs::results::Store;
use crate::subject::controller::ControlSession;

/// Rules that are shown at most.
const MAX_SHOWN: usize = 20;
/// The file of the rules that were there, in case the meter is killed.
const BEFORE: &str = "rules-before.txt";

/// The rules of a switch before the meter changed it.
pub struct Guard(Vec<FlowMod>);

impl Guard {
    /// Reads the rules of the switch, and writes them into the folder.
    ///
    /// Errors: there are rules, and `wipe` is not set; or the connection's.
    pub fn new(controller: &mut ControlSession, wipe: bool, store: &Store) -> Result<Self> {
        let rules = controller.entries()?;
        // As dpctl reads them.
        let lines: Vec<String> = rules.iter().map(FlowMod::to_string).collect();
        let count = rules.len();
        if !rules.is_empty() && !wipe {
            let shown = lines
                .iter()
                .take(MAX_SHOWN)
                .cloned()
                .collect::<Vec<_>>()
                .join("\n  ");
            return Err(format!(
                "the switch has {count} rules:\n  {shown}\n\
                 with --wipe they are removed during the run and put back in the end"
            )
            .into());
        }
        keep_earlier(&lines, store)?;
        if !rules.is_empty() {
            let path = store.write(BEFORE, &(lines.join("\n") + "\n"))?;
            eprintln!(
                "{count} rules are removed until the end; if this program is killed, dpctl puts \
                 them back: dpctl SWITCH replace-flows {}",
                path.display()
            );
        }
        Ok(Self(rules))
    }

    /// Puts the rules back.
    ///
    /// Errors: the connection's.
    pub fn restore(self, controller: &mut ControlSession, store: &Store) -> Result<()> {
        controller.remove_all()?;
        let messages: Vec<Message> = self.0.into_iter().map(Message::FlowMod).collect();
        controller.change(&messages)?;
        if !messages.is_empty() {
            eprintln!("{} rules are back", messages.len());
        }
        store.remove(BEFORE)
    }
}

/// Keeps the rules that an earlier run wrote and did not put back.
///
/// Errors: there are some, and the switch has others now.
fn keep_earlier(now: &[String], store: &Store) -> Result<()> {
    let Some(text) = store.read(BEFORE)? else {
        return Ok(());
    };
    let mut earlier: Vec<&str> = text.lines().collect();
    let mut now: Vec<&str> = now.iter().map(String::as_str).collect();
    earlier.sort_unstable();
    now.sort_unstable();
    if earlier == now {
        return Ok(());
    }
    let kept = store.path(BEFORE);
    let path = kept.display();
    Err(format!(
        "{path} has {} rules that an earlier run removed and did not put back, and those of the \
         switch differ. Put them back (dpctl SWITCH replace-flows {path}), or delete the file",
        earlier.len()
    )
    .into())
}
