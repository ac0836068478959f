//! The commands that change options of a running switch, as its file could have them.

use toml::Table;

use crate::config::{self, OF_ALL, Options, PortSpec};
use crate::error::{Error, Result};
use crate::reload::KEYS;

/// Changes options as the argument of a command says. Errors: a sentence for the operator.
pub type Edit = fn(&mut Options, &str) -> Result<()>;

/// Keys that name files: the switch opens none that a peer names.
const OF_FILES: &[&str] = &[
    "capture",
    "capture-folder",
    "private-key",
    "certificate",
    "ca-cert",
    "profile",
    "record",
    "state-dir",
];

/// Finds a key's list.
type ListOf = fn(&mut Options) -> &mut Vec<String>;

/// The commands, and what they do to the options.
const EDITS: &[(&str, Edit)] = &[
    ("add-port", add_port),
    ("del-port", del_port),
    ("set-port", set_port),
    ("set-controller", set_controller),
    ("del-controller", del_controller),
    ("set-fail-mode", set_fail_mode),
    ("add-mac", add_mac),
    ("del-mac", del_mac),
    ("set", set),
    ("unset", unset),
];

/// Keys whose values begin with a port; an entry without one is of all ports.
const OF_PORTS: [ListOf; 9] = [
    |options| &mut options.port_rates,
    |options| &mut options.rings,
    |options| &mut options.disciplines,
    |options| &mut options.mac_limits,
    |options| &mut options.tags,
    |options| &mut options.trunks,
    |options| &mut options.vlan_modes,
    |options| &mut options.queues,
    |options| &mut options.macs,
];

/// Settings of one port: the word of `set-port`, the key, and its list.
const PORT_SETTINGS: &[(&str, ListOf)] = &[
    ("rate", OF_PORTS[0]),
    ("ring", OF_PORTS[1]),
    ("discipline", OF_PORTS[2]),
    ("mac-limit", OF_PORTS[3]),
    ("tag", OF_PORTS[4]),
    ("trunks", OF_PORTS[5]),
    ("vlan-mode", OF_PORTS[6]),
];

/// The edit of a command; `None` if the command is another one.
pub fn of_command(name: &str) -> Option<Edit> {
    let row = EDITS.iter().find(|row| row.0 == name);
    row.map(|row| row.1)
}

fn add_port(options: &mut Options, spec: &str) -> Result<()> {
    let ports = config::ports(options)?;
    let numbered = if spec.contains('=') {
        spec.into()
    } else {
        let taken = |place: &u32| ports.iter().any(|port| port.number.0 == *place);
        let free = (1..).find(|place| !taken(place)).unwrap_or(u32::MAX);
        format!("{free}={spec}")
    };
    options.ports.push(numbered);
    Ok(())
}

/// Removes a port, and what is configured for it. The others keep their numbers.
fn del_port(options: &mut Options, word: &str) -> Result<()> {
    let gone = port(options, word)?;
    let before = options.clone();
    let ports = config::ports(&before)?;
    let mut numbers = ports.iter().map(|port| port.number);
    options
        .ports
        .retain(|_| numbers.next() != Some(gone.number));
    options.ports = config::with_kept_numbers(options, &before)?;
    for list in OF_PORTS {
        list(options).retain(|text| !is_of(text, &gone, &ports));
    }
    let names_it = |word: &str| config::port_of(&ports, word) == Some(&gone);
    let is_copied = |words: &String| words.split(' ').next().is_some_and(names_it);
    options
        .captures
        .retain(|words| config::is_of_messages(words) || !is_copied(words));
    options
        .mirrors
        .retain(|words| !words.split(' ').take(2).any(names_it));
    for exports in [&mut options.sflows, &mut options.ipfixes] {
        let rest = exports.iter().filter_map(|text| without(text, names_it));
        *exports = rest.collect();
    }
    Ok(())
}

/// An export without a port that is gone; none if it had only this one.
fn without(export: &str, is_gone: impl Fn(&str) -> bool) -> Option<String> {
    let mut words = Vec::new();
    for word in export.split_whitespace() {
        let Some(list) = word.strip_prefix("ports=") else {
            words.push(word.to_string());
            continue;
        };
        let rest = list.split(',').filter(|port| !is_gone(port));
        let rest: Vec<&str> = rest.collect();
        if rest.is_empty() {
            return None;
        }
        words.push(format!("ports={}", rest.join(",")));
    }
    Some(words.join(" "))
}

/// Changes settings of one port: `PORT NAME=VALUE...`, where `default` is a value, too.
fn set_port(options: &mut Options, words: &str) -> Result<()> {
    let (word, settings) = words.split_once(' ').unwrap_or((words, ""));
    let port = port(options, word)?;
    let ports = config::ports(options)?;
    if settings.trim().is_empty() {
        return Err(format!("set-port {word} needs NAME=VALUE: {}", setting_names()).into());
    }
    for setting in settings.split_whitespace() {
        let parts = setting.split_once('=');
        let row = parts.and_then(|(name, value)| {
            let mut rows = PORT_SETTINGS.iter();
            rows.find(|row| row.0 == name).map(|row| (row.1, value))
        });
        let Some((list, value)) = row else {
            let names = setting_names();
            return Err(format!("'{setting}' is none of {names}").into());
        };
        list(options).retain(|text| !is_of(text, &port, &ports));
        if value != "default" {
            list(options).push(format!("{}={value}", port.number));
        }
    }
    Ok(())
}

fn setting_names() -> String {
    let names: Vec<_> = PORT_SETTINGS
        .iter()
        .map(|row| format!("{}=", row.0))
        .collect();
    names.join(", ")
}

fn set_controller(options: &mut Options, addresses: &str) -> Result<()> {
    options.controllers = addresses.split_whitespace().map(String::from).collect();
    Ok(())
}

fn del_controller(options: &mut Options, addresses: &str) -> Result<()> {
    if addresses.is_empty() {
        options.controllers.clear();
    }
    for address in addresses.split_whitespace() {
        let mut controllers = options.controllers.iter();
        let at = controllers.position(|one| one == address);
        let at = at.ok_or_else(|| format!("there is no controller {address}"))?;
        options.controllers.remove(at);
    }
    Ok(())
}

/// Sets the fail mode; without a name, it is the default again.
fn set_fail_mode(options: &mut Options, name: &str) -> Result<()> {
    options.fail_mode = (!name.is_empty()).then(|| name.into());
    Ok(())
}

fn add_mac(options: &mut Options, station: &str) -> Result<()> {
    forget_mac(options, station);
    options.macs.push(station.into());
    Ok(())
}

fn del_mac(options: &mut Options, station: &str) -> Result<()> {
    if !forget_mac(options, station) {
        return Err(format!("there is no static address {station}").into());
    }
    Ok(())
}

/// Removes a static address, `[PORT=]MAC[,VLAN]`. Returns whether it was there.
fn forget_mac(options: &mut Options, station: &str) -> bool {
    let address = |text: &str| text.rsplit('=').next().unwrap_or(text).to_lowercase();
    let wanted = address(station);
    let before = options.macs.len();
    options.macs.retain(|text| address(text) != wanted);
    options.macs.len() < before
}

/// Sets any key, written as in the file: `KEY = VALUE`.
fn set(options: &mut Options, line: &str) -> Result<()> {
    let example = "KEY = VALUE, as in the file: set \"mac-limit = ['1=64']\"";
    let given: Table = line.parse().map_err(|error: toml::de::Error| {
        let message = error.message();
        Error::from(format!("it is {example}: {message}"))
    })?;
    for key in given.keys() {
        check_key(key)?;
    }
    let mut table = config::table(options);
    table.extend(given);
    replace(options, table)
}

/// Sets a key to its default.
fn unset(options: &mut Options, key: &str) -> Result<()> {
    check_key(key)?;
    let mut table = config::table(options);
    table.remove(key);
    replace(options, table)
}

/// Errors: the key is unknown, one of the whole process, or names files.
fn check_key(key: &str) -> Result<()> {
    if OF_FILES.contains(&key) {
        return Err(format!("{key}: it names files, so it is changed in the file").into());
    }
    if OF_ALL.contains(&key) {
        return Err(format!("{key}: it is for all switches, so it is changed in the file").into());
    }
    let mut known = KEYS.iter().map(|row| row.0);
    if known.any(|name| name == key) {
        return Ok(());
    }
    Err(config::unknown_key(key, KEYS.iter().map(|row| row.0)).into())
}

fn replace(options: &mut Options, table: Table) -> Result<()> {
    let config = options.config.take();
    *options = Options {
        config,
        ..config::from_table(table)?
    };
    Ok(())
}

/// The port that a word names. Errors: there is none.
fn port(options: &Options, word: &str) -> Result<PortSpec> {
    let ports = config::ports(options)?;
    let found = config::port_of(&ports, word).cloned();
    found.ok_or_else(|| format!("there is no port {word} ('ports' lists them)").into())
}

/// Returns true if a setting is of this one of `ports`: it begins with the port's number or name,
/// which may have a kind before it, as tap:lan0.
fn is_of(setting: &str, port: &PortSpec, ports: &[PortSpec]) -> bool {
    let mut ends = setting.match_indices(['=', ':']);
    let named = ends.find_map(|(end, _)| config::port_of(ports, &setting[..end]));
    named == Some(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Options with these ports and rates, edited.
    fn edited(ports: &[&str], rates: &[&str], edit: Edit, words: &str) -> Result<Options> {
        let list = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect();
        let mut options = Options {
            ports: list(ports),
            port_rates: list(rates),
            ..Options::default()
        };
        edit(&mut options, words)?;
        Ok(options)
    }

    #[test]
    fn a_number_names_a_port_before_an_interface_that_is_called_so() {
        let options = edited(&["7", "7=veth1"], &["7=1M"], del_port, "7").expect("it is there");
        assert_eq!(
            (&options.ports[..], options.port_rates.len()),
            (&["7".to_string()][..], 0)
        );
        let options = edited(&["7", "2=veth1"], &[], del_port, "7").expect("it is there");
        assert_eq!(options.ports, ["2=veth1"]);
        let options = edited(&["local=veth1"], &["local=1M"], set_port, "local rate=2M");
        assert_eq!(options.expect("it is there").port_rates, ["LOCAL=2M"]);
    }

    #[test]
    fn a_port_takes_its_captures_mirrors_and_exports_along() {
        let list = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect();
        let mut options = Options {
            ports: list(&["a", "b", "c"]),
            captures: list(&["1 /x tcp", "b /y", "openflow /z"]),
            mirrors: list(&["a c", "2 3", "3 b"]),
            sflows: list(&["x rate=1", "y ports=2", "z ports=1,b,3 poll=9"]),
            ipfixes: list(&["x ports=a,c"]),
            ..Options::default()
        };
        del_port(&mut options, "b").expect("it is there");
        assert_eq!(options.captures, ["1 /x tcp", "openflow /z"]);
        assert_eq!(options.mirrors, ["a c"]);
        assert_eq!(options.sflows, ["x rate=1", "z ports=1,3 poll=9"]);
        assert_eq!(options.ipfixes, ["x ports=a,c"]);
    }

    #[test]
    fn a_setting_that_names_the_kind_of_a_port_is_its_own() {
        let tap = ["tap:a", "veth1"];
        let rates = ["tap:a=1M", "veth1=1M"];
        let options = edited(&tap, &rates, set_port, "a rate=default").expect("it is there");
        assert_eq!(options.port_rates, ["veth1=1M"]);
        let options = edited(&tap, &rates, del_port, "1").expect("it is there");
        assert_eq!(options.port_rates, ["veth1=1M"]);
    }
}
