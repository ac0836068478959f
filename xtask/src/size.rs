//! `cargo xtask size`: counts lines of code and of comments, and holds the core to its budget.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::Value;

use crate::rooms;
use crate::source::{self, Count, Source};
use crate::tree;

/// The room that is a switch. The core is what is compiled of ours for it without any feature.
const SWITCH: &str = "agent";

/// The page that says how many lines of code the core has at most, and how long its reading order
/// is. The commit that raises the first says what the design lacks.
const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Counts all rooms, prints a table, and compares the core and the reading order with what the page
/// says.
///
/// Errors: the core above its budget, a reading order of another size than the page says.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let sources = source::load(root)?;
    let core_rooms = core(root)?;
    let mut in_core = Count::default();
    let mut rooms: BTreeMap<&str, Count> = BTreeMap::new();
    for source in &sources {
        let room = source.path.iter().next().and_then(|f| f.to_str());
        let room = room.unwrap_or_default();
        rooms.entry(room).or_default().add(source.count());
        if core_rooms.contains(room) && source.path.starts_with(Path::new(room).join("src")) {
            in_core.add(source.count_without_features());
        }
    }
    println!("{:<12} {:>7} comments", "room", "lines");
    for (name, count) in rooms.iter().filter(|(_, count)| count.lines > 0) {
        show(name, count);
    }
    let mut whole = Count::default();
    rooms.values().for_each(|count| whole.add(*count));
    show("core", &in_core);
    show("whole", &whole);
    let page = tree::read(&root.join(ARCHITECTURE))?;
    reading_order(&page, &sources)?;
    budget(&page, in_core.lines)
}

/// The rooms of the core, by their manifests: that of a switch, and those that it depends on,
/// directly or indirectly.
///
/// Errors: a manifest that cannot be read.
pub(crate) fn core(root: &Path) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    let mut next = vec![SWITCH.to_string()];
    while let Some(room) = next.pop() {
        let manifest = rooms::table(&root.join(&room).join("Cargo.toml"))?;
        let table = manifest.get("dependencies").and_then(Value::as_table);
        let always = table
            .into_iter()
            .flatten()
            .filter(|(_, dependency)| dependency.get("optional").is_none());
        let ours = always.filter_map(|(name, _)| name.strip_prefix(rooms::PREFIX));
        next.extend(ours.map(str::to_string));
        found.insert(room);
    }
    Ok(found)
}

fn show(name: &str, count: &Count) {
    let ratio = count.comments as f64 / count.lines.max(1) as f64;
    println!("{name:<12} {:>7} {ratio:>8.2}", count.lines);
}

/// Checks what the reading order says of itself: `20 files, below 5,000 lines`.
fn reading_order(page: &str, sources: &[Source]) -> Result<(), String> {
    let section = page.split_once("## Reading order\n");
    let (_, section) = section.ok_or_else(|| format!("{ARCHITECTURE}: no reading order"))?;
    let section = section.split("\n## ").next().unwrap_or(section);
    let mut files = 0;
    let mut lines = 0;
    let quoted = section.split('`').skip(1).step_by(2);
    for name in quoted.filter(|name| name.ends_with(".rs")) {
        let source = sources
            .iter()
            .find(|s| s.path == Path::new(name))
            .ok_or_else(|| format!("{ARCHITECTURE}: there is no {name}"))?;
        files += 1;
        lines += source.product_lines().count();
    }
    // The next thousand is right, too, so that few changes of a file need one of the page.
    let thousands = lines / 1000 + 1;
    let true_words = [thousands, thousands + 1].map(|n| format!("{files} files, below {n},000"));
    if true_words.iter().any(|words| section.contains(words)) {
        Ok(())
    } else {
        let [words, _] = true_words;
        Err(format!(
            "{ARCHITECTURE}: the reading order has {words} lines ({lines})"
        ))
    }
}

/// Checks the core's budget, which the page says: `at most 27,000 lines of code`.
fn budget(page: &str, core: usize) -> Result<(), String> {
    let text = page.replace('\n', " ").replace(',', "");
    let before = text.split_once(" lines of code").map(|(before, _)| before);
    let said = before.and_then(|before| before.rsplit_once("at most ")?.1.parse().ok());
    let most: usize = said.ok_or_else(|| format!("{ARCHITECTURE}: no budget of the core"))?;
    if core > most {
        return Err(format!("size: the core has {core} lines, more than {most}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_gives_the_budget_of_the_core() {
        let page = "has at most\n27,000 lines of code. More";
        assert_eq!(budget(page, 27_000), Ok(()));
        assert!(budget(page, 27_001).is_err());
        assert!(budget("nothing", 1).is_err());
    }

    #[test]
    fn a_reading_order_tells_its_length() {
        let (source, _) = Source::new("a.rs".into(), "//! A.\n".repeat(1200));
        let page = |words: &str| format!("## Reading order\n\n{words}\n\n1. `a.rs`\n\n## B\n");
        let sources = [source];
        assert_eq!(
            reading_order(&page("1 files, below 2,000 lines."), &sources),
            Ok(())
        );
        for wrong in [
            "1 files, below 1,000 lines",
            "2 files, below 2,000 lines",
            "1 files, below 4,000 lines",
        ] {
            assert!(reading_order(&page(wrong), &sources).is_err());
        }
    }
}
