//! Where a configuration came from, so that it can be read again, and what may change then.

use toml::Table;

use crate::config::{Config, Options};

/// Keys that a running switch can follow; all others need a restart.
const RELOADABLE: &[&str] = &[
    "port",
    "port-rate",
    "queue",
    "controller",
    "listen",
    "fail-mode",
    "take-over",
];

/// What the switch was started with, and what became of it with the file.
pub struct Source {
    given: Options,
    merged: Options,
}

impl Source {
    /// Reads and checks the command line's options and the file that they name.
    ///
    /// Errors: one sentence that says what is wrong, where, and what would be right.
    pub fn read(given: Options) -> Result<(Self, Config), String> {
        let merged = given.merge()?;
        let config = merged.clone().check()?;
        Ok((Self { given, merged }, config))
    }

    /// Whether there is a file to read again.
    pub fn has_file(&self) -> bool {
        self.given.config.is_some()
    }

    /// Reads the file again.
    ///
    /// Errors: as [`Source::read`]; there is no file; a key changed that needs a restart.
    pub fn read_again(&self) -> Result<(Self, Config), String> {
        let Some(path) = &self.given.config else {
            return Err("the switch was started without --config FILE: nothing to read".into());
        };
        let (new, config) = Self::read(self.given.clone())?;
        let (old_keys, new_keys) = (table(&self.merged), table(&new.merged));
        let names = old_keys.keys().chain(new_keys.keys());
        let mut fixed: Vec<&str> = names
            .filter(|key| old_keys.get(*key) != new_keys.get(*key))
            .map(String::as_str)
            .filter(|key| !RELOADABLE.contains(key))
            .collect();
        fixed.sort_unstable();
        fixed.dedup();
        if fixed.is_empty() {
            return Ok((new, config));
        }
        let (path, fixed) = (path.display(), fixed.join(", "));
        Err(format!(
            "{path}: {fixed}: changes with a restart only; nothing was changed"
        ))
    }
}

/// The options as a file would have them.
fn table(options: &Options) -> Table {
    Table::try_from(options).expect("options are strings, numbers, booleans and lists of these")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_taken_unless_it_is_wrong_or_needs_a_restart() {
        let path = std::env::temp_dir().join(format!("bofuss-reload-{}", std::process::id()));
        let write = |text: &str| std::fs::write(&path, text).expect("it can be written");
        write("port = ['a', 'b']\ntables = 5\n");
        let given = Options {
            config: Some(path.clone()),
            ..Options::default()
        };
        let (source, _) = Source::read(given).expect("it is right");
        let again = |text: &str| {
            write(text);
            source.read_again().map(|(_, config)| config)
        };
        let config = again("port = ['a', 'c', 'd']\ntables = 5\n").expect("ports may change");
        assert_eq!(config.ports.len(), 3);
        let refusal = |text| again(text).expect_err("it is refused");
        let said = refusal("port = []\ntables = 6\nno-pad = true\n");
        assert!(
            said.contains("no-pad, tables: changes with a restart only"),
            "{said}"
        );
        let said = refusal("tables = 5\nport = [\n 'a',\n '0=b',\n]\n");
        assert!(
            said.contains(", line 4: port 0=b: a port number is"),
            "{said}"
        );
        let said = refusal("tables = 5\nfail-mode = 'open'\n");
        assert!(said.contains(", line 2: fail-mode open: it is"), "{said}");
        let said = refusal("tables = 5\nports = []\n");
        assert!(said.contains("line 2") && said.contains("ports"), "{said}");
        std::fs::remove_file(&path).expect("it is there");
        let none = Source::read(Options::default()).expect("it is right").0;
        assert!(none.read_again().is_err(), "there is no file");
    }
}
