//! Keeps the source of a configuration, so that it can be read again, and the effect of each
//! changed key.

use crate::config::{self, Config, Options};
use crate::error::{Error, Result};

/// The effect of a changed key on a running switch.
#[derive(Clone, Copy)]
pub enum ReloadEffect {
    /// The switch takes over the new value, with this effect.
    Follows(&'static str),
    /// The switch refuses the whole file for this reason; a restart is needed.
    Refuses(&'static str),
}

use ReloadEffect::{Follows, Refuses};

const NEW_CONNECTIONS: ReloadEffect =
    Follows("New connections use it; existing ones are not touched.");
const AT_ONCE: ReloadEffect = Follows("Takes effect at once.");
const PORT_VLANS: ReloadEffect =
    Follows("Takes effect at once; NORMAL forgets what it learned on ports that change.");
const EXPORTS: ReloadEffect = Follows(
    "Those that stay go on with their flows and numbers; those that end send what they have.",
);
const PIPELINE: ReloadEffect = Follows(
    "Refused if an existing entry would not fit; otherwise entries stay, and what controllers \
     changed of the tables' features is as configured again. Packets wait while all entries are \
     checked.",
);

const P4: ReloadEffect = Follows(
    "The old program runs until the new one is right, and then ends with its entries, counters and \
     registers. From OpenFlow to P4 or back needs a restart.",
);

const P4RUNTIME: ReloadEffect =
    Refuses("with P4Runtime, controllers set the program and what it has");

/// All keys, and the effect of changing them.
pub const KEYS: &[(&str, ReloadEffect)] = &[
    ("name", Refuses("tools find the switch by its name")),
    (
        "dpid",
        Follows(
            "All connections are closed; those to controllers are opened again with the new id.",
        ),
    ),
    (
        "port",
        Follows(
            "Ports that stay lose no frames, and keep their number unless they are given another \
             one.",
        ),
    ),
    ("port-rate", AT_ONCE),
    (
        "ring",
        Follows("Another ring takes over while frames pass."),
    ),
    (
        "queue",
        Follows("Queues that stay keep their frames; queues of controllers stay."),
    ),
    (
        "controller",
        Follows("Connections to controllers that stay are not touched."),
    ),
    (
        "aux",
        Follows("Auxiliary connections are opened again; main connections stay."),
    ),
    ("listen", Follows("Existing connections stay.")),
    (
        "socket-group",
        Refuses("the socket has its group from the start"),
    ),
    ("private-key", NEW_CONNECTIONS),
    ("certificate", NEW_CONNECTIONS),
    ("ca-cert", NEW_CONNECTIONS),
    ("any-peer-name", NEW_CONNECTIONS),
    (
        "fail-mode",
        Follows(
            "Takes effect at once; as a default for the first controllers, once one has connected.",
        ),
    ),
    ("tables", PIPELINE),
    ("max-entries", PIPELINE),
    ("max-total-entries", PIPELINE),
    ("profile", PIPELINE),
    ("select", AT_ONCE),
    ("group-select", AT_ONCE),
    ("mac-limit", AT_ONCE),
    ("mac", AT_ONCE),
    ("tag", PORT_VLANS),
    ("trunks", PORT_VLANS),
    ("vlan-mode", PORT_VLANS),
    ("discipline", AT_ONCE),
    (
        "field",
        Refuses("entries and controllers rely on the fields of the start"),
    ),
    (
        "extension",
        Refuses("what extensions keep relies on the options of the start"),
    ),
    ("seed", AT_ONCE),
    (
        "datapath",
        Follows("Takes effect at once; packets wait while all entries are inserted again."),
    ),
    ("versions", NEW_CONNECTIONS),
    ("inactivity-probe", AT_ONCE),
    ("max-backoff", Follows("Applies from the next attempt on.")),
    ("message-rate", NEW_CONNECTIONS),
    ("packet-in-rate", NEW_CONNECTIONS),
    ("packet-in-burst", NEW_CONNECTIONS),
    ("metrics", AT_ONCE),
    (
        "capture",
        Follows("Captures that stay go on; new files are created."),
    ),
    ("mirror", AT_ONCE),
    ("sflow", EXPORTS),
    ("ipfix", EXPORTS),
    (
        "take-over",
        Follows("Applies to ports that are opened later."),
    ),
    ("bundle-clock", AT_ONCE),
    (
        "lock-down",
        Refuses("rights are given up once, at the start"),
    ),
    ("capture-folder", AT_ONCE),
    ("no-pad", AT_ONCE),
    ("state-dir", Refuses("the state is read once, at the start")),
    ("state-interval", AT_ONCE),
    (
        "record",
        Refuses("a record has everything from the start of the switch"),
    ),
    (
        "record-frames",
        Refuses("a run is recorded in one way from its start to its end"),
    ),
    (
        "accelerate",
        Refuses("the rights that it needs are given up after the start"),
    ),
    (
        "accelerated-flows",
        Refuses("the rights that it needs are given up after the start"),
    ),
    (
        "workers",
        Refuses("all threads have what the switch was given from its start"),
    ),
    ("dispatch", AT_ONCE),
    ("p4", P4),
    ("p4-entries", P4),
    ("p4runtime", P4RUNTIME),
    ("p4info", P4RUNTIME),
    ("p4-device-id", P4RUNTIME),
    ("p4-cpu-port", P4RUNTIME),
    ("log", AT_ONCE),
];

/// The options of the command line, merged with those of the file.
pub struct ConfigSource {
    given: Options,
    /// The options of each switch.
    merged: Vec<Options>,
    /// The file's text.
    text: String,
}

impl ConfigSource {
    /// Reads and checks the options of the command line and of the file that they name, for one
    /// switch or several.
    ///
    /// Errors: one sentence that says what is wrong, where, and what would be right.
    pub fn read(given: Options) -> Result<(Self, Vec<Config>)> {
        let (mut this, configs) = Self::read_after(None, given)?;
        // Only the start replaces another switch.
        let merged = this.merged.iter_mut();
        let all = merged.chain([&mut this.given]);
        all.for_each(|options| options.replace = false);
        Ok((this, configs))
    }

    /// The same; ports that stay keep the numbers that they had `before`.
    fn read_after(before: Option<&Self>, given: Options) -> Result<(Self, Vec<Config>)> {
        let (switches, text) = match &given.config {
            Some(path) => config::read(path)?,
            None => (vec![Options::default()], String::new()),
        };
        let merged = switches.iter().map(|own| config::over(&given, own));
        let mut this = Self {
            merged: merged.collect(),
            given,
            text,
        };
        for at in 0..this.merged.len() {
            let options = &this.merged[at];
            let old = before.and_then(|source| source.before(&this, options));
            if let Some(kept) = old.map(|old| config::with_kept_numbers(options, old)) {
                this.merged[at].ports = kept.map_err(|error| this.located(at, error))?;
            }
        }
        let mut configs: Vec<Config> = Vec::new();
        for (at, options) in this.merged.iter().enumerate() {
            let config = options.clone().check()?;
            let checked = config.check_conflicts(&configs);
            checked.map_err(|error| this.located(at, error))?;
            configs.push(config);
        }
        Ok((this, configs))
    }

    /// That of a switch whose configuration is in no file.
    pub fn of(config: &Config) -> Self {
        let options = Options::clone(&config.options);
        Self {
            given: options.clone(),
            merged: vec![options],
            text: String::new(),
        }
    }

    /// Returns true if there is a file to read again.
    pub fn has_file(&self) -> bool {
        self.given.config.is_some()
    }

    /// Reads the file again.
    ///
    /// Errors: as [`ConfigSource::read`]; there is no file; a key changed that needs a restart.
    pub fn read_again(&self) -> Result<(Self, Vec<Config>)> {
        if !self.has_file() {
            return Err(
                "the switch was started without --config FILE, so there is no file to read".into(),
            );
        }
        let (new, configs) = Self::read_after(Some(self), self.given.clone())?;
        for (at, options) in new.merged.iter().enumerate() {
            if let Some(old) = self.before(&new, options) {
                check_change(old, options).map_err(|error| {
                    let error = new.located(at, error);
                    error.map(|text| text + "; nothing was changed")
                })?;
            }
        }
        Ok((new, configs))
    }

    /// The same with one switch's options edited, its new configuration, and what a change of these
    /// keys does, a line each.
    ///
    /// Errors: those of the edit and of the options; a key changed that needs a restart.
    pub fn edited(
        &self,
        switch: &str,
        edit: impl FnOnce(&mut Options) -> Result<()>,
    ) -> Result<(Self, Config, String)> {
        let mut merged = self.merged.clone();
        let at = place(&merged, switch).ok_or("it is not configured any more")?;
        edit(&mut merged[at])?;
        let effects = check_change(&self.merged[at], &merged[at])?;
        let config = merged[at].clone().check()?;
        let given = self.given.clone();
        let text = self.text.clone();
        let this = Self {
            given,
            merged,
            text,
        };
        Ok((this, config, effects))
    }

    /// The options as they are now, as a file that would give them again; comments of the file that
    /// they came from stay. `kept` has switches with datapath ids that they have and no key gives.
    ///
    /// Errors: the switches are not those of the file any more.
    pub fn running(&self, kept: Vec<(&str, String)>) -> Result<String> {
        let mut merged = self.merged.clone();
        for (switch, id) in kept {
            if let Some(at) = place(&merged, switch) {
                merged[at].dpid = Some(id);
            }
        }
        config::written(&self.text, &merged)
    }

    /// The previous options of a switch of `new`. If both files have only one switch, it is the
    /// same one, whatever its name is.
    fn before(&self, new: &Self, options: &Options) -> Option<&Options> {
        match (&self.merged[..], &new.merged[..]) {
            ([only], [_]) => Some(only),
            (all, _) => all.iter().find(|old| old.name == options.name),
        }
    }

    /// Adds the file and line to a sentence that begins with a key of the switch number `at`;
    /// leaves others as they are.
    pub fn located(&self, at: usize, error: Error) -> Error {
        let key = error.text.trim_start_matches('-').split([' ', ':']).next();
        match &self.given.config {
            Some(path) if KEYS.iter().any(|row| key == Some(row.0)) => {
                error.map(|text| config::in_file(path, &self.text, at, &text))
            }
            Some(_) | None => error,
        }
    }
}

/// The place of a switch's options: those with its name, or those without a name.
fn place(all: &[Options], switch: &str) -> Option<usize> {
    let mut names = all.iter().map(|options| options.name.as_deref());
    let named = names.position(|name| name == Some(switch));
    named.or_else(|| all.iter().position(|options| options.name.is_none()))
}

/// What a change of the keys that differ does, a line each. Errors: one of them needs a restart.
fn check_change(before: &Options, after: &Options) -> Result<String> {
    let (before, after) = (config::table(before), config::table(after));
    let mut effects = String::new();
    let for_programs = ["p4", "p4runtime"];
    let had_program = for_programs.iter().any(|key| before.contains_key(*key));
    if had_program != for_programs.iter().any(|key| after.contains_key(*key)) {
        let why = "a switch speaks OpenFlow or runs a P4 program from its start to its end";
        return Err(format!("p4: a change needs a restart: {why}").into());
    }
    for (key, effect) in KEYS {
        if before.get(*key) != after.get(*key) {
            match effect {
                Follows(text) => effects += &format!("{key}: {text}\n"),
                Refuses(why) => {
                    return Err(format!("{key}: a change needs a restart: {why}").into());
                }
            }
        }
    }
    Ok(effects)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Returns the keys that `bofuss.toml(5)` lists.
    fn schema() -> Vec<String> {
        let command = crate::Cli::command();
        let keys = crate::generate::keys(&command);
        keys.map(|(key, _)| key.to_string()).collect()
    }

    #[test]
    fn every_key_of_the_schema_has_one_row() {
        let rows = KEYS.iter().map(|row| row.0);
        for key in schema() {
            let count = rows.clone().filter(|row| *row == key).count();
            assert_eq!(count, 1, "{key}");
        }
        assert_eq!(rows.len(), schema().len());
    }

    #[test]
    fn a_switch_that_replaced_another_changes_as_any_other() {
        let given = Options {
            replace: true,
            name: Some("s1".into()),
            ..Options::default()
        };
        let (source, configs) = ConfigSource::read(given).expect("it is right");
        assert!(configs[0].replaces);
        let add = |options: &mut Options| {
            options.ports.push("pcap:in.pcap".into());
            Ok(())
        };
        let (_, config, _) = source.edited("s1", add).expect("it may have such a port");
        assert!(!config.replaces);
    }

    #[test]
    fn a_changed_file_is_taken_unless_it_is_wrong_or_needs_a_restart() {
        let path = std::env::temp_dir().join(format!("bofuss-reload-{}", std::process::id()));
        let write = |text: &str| std::fs::write(&path, text).expect("it can be written");
        write("port = ['a', 'b']\ntables = 5\n");
        let given = Options {
            config: Some(path.clone()),
            ..Options::default()
        };
        let (source, _) = ConfigSource::read(given).expect("it is right");
        let again = |text: &str| {
            write(text);
            source
                .read_again()
                .map(|(_, mut configs)| configs.remove(0))
        };
        let config = again("port = ['a', 'c', 'd']\ntables = 6\n").expect("these may change");
        assert_eq!((config.ports.len(), config.tables.n_tables), (3, 6));
        for (text, wanted) in [
            (
                "port = []\nname = 'x'\n",
                ", line 2: name: a change needs a restart: tools find",
            ),
            (
                "tables = 5\nport = [\n 'a',\n '0=b',\n]\n",
                ", line 4: port 0=b: a port number is",
            ),
            (
                "tables = 5\nfail-mode = 'open'\n",
                ", line 2: fail-mode open: it is",
            ),
            (
                "\nprivate-key = 'x'\n",
                ", line 2: private-key: TLS needs all of",
            ),
            ("listen = ['pssl:']", ", line 1: listen pssl:: it needs"),
            ("log = 'x=loud'\n", ", line 1: log x=loud: "),
            ("aux = ['dtls']", ", line 1: aux \"dtls\": it is tcp,"),
            ("max-entries = 0", ", line 1: max-entries and"),
            ("\nports = []\n", "line 2"),
        ] {
            let said = again(text).expect_err("it is refused");
            assert!(said.text.contains(wanted), "{said}");
        }
        std::fs::remove_file(&path).expect("it is there");
        let none = ConfigSource::read(Options::default())
            .expect("it is right")
            .0;
        assert!(none.read_again().is_err(), "there is no file");
    }
}
