//! The options of running switches as a file that would give them again, with the comments of the
//! one that they came from.

use toml::{Table, Value};
use toml_edit::{Array, DocumentMut, Item, RawString, TableLike};

use super::{OF_ALL, Options, each, over, table};
use crate::error::{Error, Result};
use crate::reload::KEYS;

/// The key of the list of switches.
const SWITCHES: &str = "switch";

/// The text of a file, `text` where it still holds, that gives these options to its switches.
///
/// Errors: `text` is no file of as many switches.
pub fn written(text: &str, running: &[Options]) -> Result<String> {
    let wrong = |error: toml_edit::TomlError| Error::from(error.to_string());
    let mut document: DocumentMut = text.parse().map_err(wrong)?;
    let common: Options = toml::from_str(text).map_err(|error| error.to_string())?;
    if common.switches.is_empty() {
        let [only] = running else {
            return Err("the file has one switch".into());
        };
        write(
            document.as_table_mut(),
            &table(&common),
            &table(only),
            |_| true,
        );
        return Ok(document.to_string());
    }
    let own_keys = common.switches.clone();
    let mut of_all = table(&common);
    // A key for all that one of them has otherwise becomes a key of each.
    let inherited: Vec<Table> = each(common).iter().map(table).collect();
    let running: Vec<Table> = running.iter().map(table).collect();
    for (key, _) in KEYS {
        let mut pairs = inherited.iter().zip(&running);
        let is_same = |(file, now): (&Table, &Table)| file.get(*key) == now.get(*key);
        if !OF_ALL.contains(key) && !pairs.all(is_same) {
            document.remove(key);
            of_all.remove(*key);
        }
    }
    let of_all: Options = super::from_table(of_all)?;
    let list = document
        .get_mut(SWITCHES)
        .and_then(Item::as_array_of_tables_mut);
    let list = list.ok_or("the switches are written as [[switch]]")?;
    for (own, (section, now)) in own_keys.iter().zip(list.iter_mut().zip(&running)) {
        let given = table(&over(own, &of_all));
        write(section, &given, now, |key| !OF_ALL.contains(&key));
    }
    Ok(document.to_string())
}

/// Makes a table that gave the options `before` give `now` for the keys that are meant.
fn write(
    section: &mut dyn TableLike,
    before: &Table,
    now: &Table,
    is_meant: impl Fn(&str) -> bool,
) {
    for (key, _) in KEYS.iter().filter(|row| is_meant(row.0)) {
        let value = now.get(*key);
        if before.get(*key) == value {
            continue;
        }
        match value.filter(|value| !is_default(value)) {
            None => drop(section.remove(key)),
            Some(value) => set(section, key, value),
        }
    }
}

/// Returns true for what a key has that is not given, if it has anything.
fn is_default(value: &Value) -> bool {
    *value == Value::Boolean(false) || value.as_array().is_some_and(Vec::is_empty)
}

/// Sets a key, and keeps the comments beside it and beside those items of a list that stay.
fn set(section: &mut dyn TableLike, key: &str, value: &Value) {
    let mut new: toml_edit::Value = value
        .to_string()
        .parse()
        .expect("a value of one library is one of the other");
    let Some(old) = section.get_mut(key).and_then(Item::as_value_mut) else {
        section.insert(key, Item::Value(new));
        return;
    };
    if let (Some(list), Some(wanted)) = (old.as_array(), new.as_array()) {
        new = edited(list, wanted).into();
    }
    *new.decor_mut() = old.decor().clone();
    *old = new;
}

/// A list with other items, where those that stay keep the comments above and beside them. A
/// comment beside an item is before the next one, in the same line. A new item has a line of its
/// own if the last one has.
fn edited(list: &Array, wanted: &Array) -> Array {
    let gaps = gaps(list);
    let mut beside = line(&gaps[0]).0;
    let usual = match blank(&gaps[gaps.len().saturating_sub(2)]) {
        "" => " ",
        before_last => before_last,
    };
    let mut new = Array::new();
    for item in wanted {
        let mut items = list.iter();
        let at = items.position(|old| old.as_str() == item.as_str());
        let above = match at {
            Some(at) => line(&gaps[at]).1,
            None if new.is_empty() => blank(&gaps[0]),
            None => usual,
        };
        let item = at.and_then(|at| list.get(at)).unwrap_or(item).clone();
        new.push_formatted(item.decorated(format!("{beside}{above}"), ""));
        beside = at.map_or("", |at| line(&gaps[at + 1]).0);
    }
    let end = line(&gaps[list.len()]).1;
    new.set_trailing(format!("{beside}{end}"));
    new.set_trailing_comma(list.trailing_comma());
    new
}

/// What is before each item of a list, and after the last one, without commas.
fn gaps(list: &Array) -> Vec<String> {
    let mut gaps = vec![String::new()];
    let text = |part: Option<&RawString>| {
        part.and_then(RawString::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    for item in list {
        let last = gaps.len() - 1;
        gaps[last] += &text(item.decor().prefix());
        gaps.push(text(item.decor().suffix()));
    }
    let last = gaps.len() - 1;
    gaps[last] += &text(Some(list.trailing()));
    gaps
}

/// The blanks at the end of a gap, from its last line on.
fn blank(gap: &str) -> &str {
    &gap[gap.rfind('\n').unwrap_or_default()..]
}

/// The parts of a gap between items: to the end of the line, and the rest; all is the rest in one
/// line.
fn line(gap: &str) -> (&str, &str) {
    gap.split_at(gap.find('\n').unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# The lab's switch.\n\
        port = [\n    'veth1', # to h1\n    'veth2', # to h2\n]\n\
        tables = 5 # enough\n\
        # Nobody may connect.\n\
        listen = ['ptcp:6654']\n";

    /// The options of each switch of a file.
    fn options(text: &str) -> Vec<Options> {
        each(toml::from_str(text).expect("it is a file"))
    }

    /// What is written of a file whose options were edited gives these options.
    fn again(text: &str, running: &[Options]) -> String {
        let written = written(text, running).expect("it is a file");
        let tables = |all: &[Options]| all.iter().map(table).collect::<Vec<_>>();
        assert_eq!(tables(&options(&written)), tables(running), "{written}");
        written
    }

    #[test]
    fn comments_stay_beside_what_stays() {
        let mut running = options(FILE);
        assert_eq!(again(FILE, &running), FILE);
        running[0].ports.push("7=tap:x".into());
        running[0].tables = Some(6);
        running[0].listen.clear();
        running[0].fail_mode = Some("secure".into());
        running[0].no_pad = true;
        let text = again(FILE, &running);
        for kept in [
            "# The lab's switch.\n",
            "# to h1\n",
            "# to h2\n",
            "tables = 6 # enough\n",
        ] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
        running[0].ports.remove(0);
        let text = again(FILE, &running);
        assert!(
            text.contains("port = [\n    'veth2', # to h2\n    \"7=tap:x\",\n]\n"),
            "{text}"
        );
        let none = again("", &running);
        assert!(none.contains("port = ["), "{none}");
    }

    #[test]
    fn a_list_without_a_last_comma_keeps_its_comments_and_repeats_none() {
        let file = "port = [ # all\n  'veth1', # to h1\n  # the lab's\n  'veth2' # to h2\n]\n";
        let mut running = options(file);
        running[0].ports.push("7=tap:x".into());
        let wanted = file.replace("'veth2' # to h2\n", "'veth2', # to h2\n  \"7=tap:x\"\n");
        assert_eq!(again(file, &running), wanted);
        running[0].ports.remove(1);
        let wanted = wanted.replace("  # the lab's\n  'veth2', # to h2\n", "");
        assert_eq!(again(file, &running), wanted);
        let file = "ring = ['1=64'] # few\n";
        let mut running = options(file);
        running[0].rings = vec!["1=128".into(), "2=8".into()];
        assert_eq!(again(file, &running), "ring = [\"1=128\", \"2=8\"] # few\n");
    }

    #[test]
    fn a_key_for_all_that_one_switch_has_otherwise_becomes_a_key_of_each() {
        let file = "fail-mode = 'secure' # all\nlog = 'warn'\n\
            [[switch]] # one\nname = 'a'\n[[switch]]\nname = 'b'\ntables = 3\n";
        let mut running = options(file);
        assert_eq!(again(file, &running), file);
        running[1].tables = None;
        running[1].fail_mode = Some("standalone".into());
        let text = again(file, &running);
        assert!(
            text.contains("[[switch]] # one\n") && text.contains("log = 'warn'"),
            "{text}"
        );
        running[0].fail_mode = None;
        again(file, &running);
    }
}
