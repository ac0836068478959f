//! The switches of a scenario with a P4 program.

use std::sync::Arc;

use bofuss_embed::p4::{P4Switch, Program};
use toml::Spanned;

use super::{Builder, Outside};
use crate::link::NodeId;
use crate::scenario::ScenarioError;
use crate::scenario::file::SwitchRow;

impl Builder<'_> {
    /// Adds a switch with the program of a file. Errors: what is wrong with the row, the program or
    /// the entries, and where.
    pub(super) fn add_p4_switch(
        &mut self,
        name: &str,
        file: &Spanned<String>,
        row: &SwitchRow,
        outside: &mut dyn Outside,
    ) -> Result<NodeId, ScenarioError> {
        if let Some(key) = key_of_openflow(row) {
            let text = format!("switch {name}: {key} is for OpenFlow, and it has a P4 program");
            return Err(self.source.error(file.span(), text));
        }
        let program = self.program(name, file, outside)?;
        let (_, mut random) = self.next_switch();
        let mut switch = P4Switch::new(program, random.next());
        if let Some(entries) = &row.entries {
            let wrong = |error| self.source.wrong_file(name, "entries", entries, error);
            let text = outside.read(entries.get_ref());
            let text = text.map_err(|error| wrong(error.text))?;
            let loaded = switch.load_entries(text.as_bytes());
            loaded.map_err(|error| wrong(error.to_string()))?;
        }
        let id = self.network.add_p4_switch(name, switch);
        if row.queues.as_ref().is_some_and(|queues| *queues.get_ref()) {
            let added = self.network.add_p4_queues(id);
            added.expect("it is a switch with a program");
        }
        Ok(id)
    }

    /// The program of a file, which is read once.
    fn program(
        &mut self,
        name: &str,
        file: &Spanned<String>,
        outside: &mut dyn Outside,
    ) -> Result<Arc<Program>, ScenarioError> {
        if let Some(known) = self.programs.get(file.get_ref()) {
            return Ok(Arc::clone(known));
        }
        let wrong = |error| self.source.wrong_file(name, "p4", file, error);
        let text = outside.read(file.get_ref());
        let text = text.map_err(|error| wrong(error.text))?;
        let program = Program::load(text.as_bytes());
        let program = Arc::new(program.map_err(|error| wrong(error.to_string()))?);
        let known = Arc::clone(&program);
        self.programs.insert(file.get_ref().clone(), known);
        Ok(program)
    }
}

/// A key of the row that only switches of OpenFlow have; `flows` is checked where it is used.
fn key_of_openflow(row: &SwitchRow) -> Option<&'static str> {
    let given = [
        ("dpid", row.dpid.is_some()),
        ("fail_mode", row.fail_mode.is_some()),
        ("tables", row.tables.is_some()),
        ("engine", row.engine.is_some()),
        ("select", row.select.is_some()),
        ("discipline", row.discipline.is_some()),
    ];
    let first = given.into_iter().find(|(_, is_given)| *is_given);
    first.map(|(key, _)| key)
}
