//! `cargo xtask size`: counts code lines of each room against the budgets of `xtask/size.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use toml::{Table, Value};

use crate::{source, tree};

/// Counts, prints a table, and compares.
///
/// Errors: a room above its budget or without one, the core above its own.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let budgets: Table = tree::read(&root.join("xtask/size.toml"))?
        .parse()
        .map_err(|e| format!("size.toml: {e}"))?;
    let folders = |key| {
        let list = budgets
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        list.filter_map(Value::as_str).collect::<Vec<_>>()
    };
    let (core_in, core_without) = (folders("core"), folders("core_without"));
    let mut core = 0;
    let mut rooms: BTreeMap<String, usize> = BTreeMap::new();
    for source in source::load(root)? {
        let room = source
            .path
            .iter()
            .next()
            .and_then(|f| f.to_str())
            .unwrap_or("");
        let lies_in = |folders: &[&str]| folders.iter().any(|f| source.path.starts_with(f));
        if lies_in(&core_in) && !lies_in(&core_without) {
            core += source.code_lines();
        }
        *rooms.entry(room.into()).or_default() += source.code_lines();
    }
    rooms.retain(|_, lines| *lines > 0);
    let budget = |name: &str| {
        budgets
            .get("rooms")
            .and_then(|r| r.get(name))
            .and_then(lines)
    };
    let mut rows: Vec<_> = rooms
        .iter()
        .map(|(room, n)| (room.as_str(), *n, budget(room)))
        .collect();
    rows.push(("core", core, budgets.get("core_lines").and_then(lines)));
    println!("{:<12} {:>6} {:>7}", "room", "lines", "budget");
    for (name, lines, budget) in &rows {
        let budget = budget.map_or("none".into(), |b| b.to_string());
        println!("{name:<12} {lines:>6} {budget:>7}");
    }
    let above = rows
        .iter()
        .filter(|(_, lines, budget)| budget.is_none_or(|b| *lines > b));
    match above.map(|(name, ..)| *name).collect::<Vec<_>>() {
        names if names.is_empty() => Ok(()),
        names => Err(format!(
            "size: above the budget in xtask/size.toml: {}",
            names.join(", ")
        )),
    }
}

fn lines(value: &Value) -> Option<usize> {
    value.as_integer().and_then(|n| n.try_into().ok())
}
