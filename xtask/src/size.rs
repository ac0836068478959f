//! `cargo xtask size`: counts lines of code and of comments, and holds the core to its budget.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::Value;

use crate::rooms;
use crate::source::{self, Count, Source};
use crate::tree;

/// The room that is a switch. The core is what is compiled of ours for it without any feature.
const SWITCH: &str = "agent";

/// The most lines of code of the core. The commit that raises it says what the design lacks.
const CORE_LINES: usize = 27_000;

/// The page whose section on the reading order names files and says how many lines they have. It
/// also says how large the core is.
const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Counts all rooms, prints a table, and compares the core with its budget and with what the page
/// says.
///
/// Errors: the core above its budget, a reading order or core of another size than the page says.
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
    if in_core.lines > CORE_LINES {
        return Err(format!(
            "size: the core has {} lines of code, more than {CORE_LINES}",
            in_core.lines
        ));
    }
    let page = tree::read(&root.join(ARCHITECTURE))?;
    reading_order(&page, &sources)?;
    lines_of_core(&page, in_core.lines, whole.lines)
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

/// Checks what the page says of the core: `about 16,000 lines of code of 44,000`. Both numbers may
/// be off by a thousand, so that few changes of the code need one of the page.
fn lines_of_core(page: &str, core: usize, whole: usize) -> Result<(), String> {
    let words: Vec<&str> = page.split_whitespace().collect();
    let text = words.join(" ");
    let found = text.split_once(" lines of code of ");
    let (before, after) = found.ok_or_else(|| format!("{ARCHITECTURE}: no size of the core"))?;
    let said_core = thousands(before.rsplit(' ').next());
    let said_whole = thousands(after.split(' ').next());
    for (said, lines) in [(said_core, core), (said_whole, whole)] {
        if said.is_none_or(|said| said.abs_diff(lines) > 1000) {
            return Err(format!(
                "{ARCHITECTURE}: the core has {core} lines of code of {whole}"
            ));
        }
    }
    Ok(())
}

/// Reads a number with commas, such as `14,000.`
fn thousands(word: Option<&str>) -> Option<usize> {
    let digits: String = word?.chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_gives_the_size_of_the_core() {
        let page = "about\n14,000 lines of code of 38,000. More";
        assert_eq!(lines_of_core(page, 14_900, 37_100), Ok(()));
        assert!(lines_of_core(page, 15_100, 38_000).is_err());
        assert!(lines_of_core(page, 14_000, 36_900).is_err());
        assert!(lines_of_core("nothing", 14_000, 38_000).is_err());
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
