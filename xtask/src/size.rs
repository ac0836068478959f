//! `cargo xtask size`: checks each room's budget of tokens in `xtask/size.toml`.
//!
//! It counts tokens and not lines, so that dense lines save nothing. Comments, tests, rows of
//! catalogues and folders of extensions are free. It also prints lines of code, the ratio of
//! comment lines to them, and the figures of [`idiom`].

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::source::{self, Count, Source};
use crate::{idiom, tree};

const BUDGETS: &str = "xtask/size.toml";
/// The page whose section on the reading order names files and says how many lines they have. It
/// also says how large the core is.
const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// The file of budgets.
#[derive(Deserialize)]
struct Budgets {
    /// Macros whose rows are free.
    rows: Vec<String>,
    /// The folder of extensions, which are free.
    extensions: String,
    /// Folders there that are no extensions.
    extensions_without: Vec<String>,
    /// Folders and files of the core.
    core: Vec<String>,
    /// Folders and files within these that are not of the core.
    core_without: Vec<String>,
    /// The budget of the core.
    core_tokens: usize,
    /// The budget of each room.
    rooms: BTreeMap<String, usize>,
}

/// Counts all rooms, prints a table, and compares it with the budgets and with what the page says.
///
/// Errors: a room above its budget or without one, the core above its budget, a reading order or
/// core of another size than the page says, a room above a bar of [`idiom`].
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let text = tree::read(&root.join(BUDGETS))?;
    let budgets: Budgets = toml::from_str(&text).map_err(|e| format!("{BUDGETS}: {e}"))?;
    let sources = source::load(root)?;
    let mut rooms: BTreeMap<String, Count> = BTreeMap::new();
    let mut core = Count::default();
    let mut whole = Count::default();
    for source in &sources {
        let mut count = source.count(&budgets.rows);
        if budgets.is_extension(&source.path) {
            count = count.as_free();
        }
        whole.add(count);
        if budgets.is_core(&source.path) {
            core.add(count);
        }
        let name = source.path.iter().next().and_then(|f| f.to_str());
        let room = rooms.entry(name.unwrap_or("").into()).or_default();
        room.add(count);
    }
    println!(
        "{:<12} {:>7} {:>7} {:>6} {:>9} {:>8}",
        "room", "tokens", "budget", "lines", "free rows", "comments"
    );
    let mut above = Vec::new();
    for (name, count) in &rooms {
        if count.lines + count.free == 0 {
            continue;
        }
        let budget = budgets.rooms.get(name).copied();
        show(name, count, budget);
        if budget.is_none_or(|most| count.tokens > most) {
            above.push(name.as_str());
        }
    }
    show("core", &core, Some(budgets.core_tokens));
    show("whole", &whole, None);
    if core.tokens > budgets.core_tokens {
        above.push("core");
    }
    if !above.is_empty() {
        let names = above.join(", ");
        return Err(format!("size: above the budget in {BUDGETS}: {names}"));
    }
    let page = tree::read(&root.join(ARCHITECTURE))?;
    reading_order(&page, &sources)?;
    lines_of_core(&page, core.lines, whole.lines)?;
    idiom::check(root, &sources)
}

fn show(name: &str, count: &Count, budget: Option<usize>) {
    let budget = budget.map_or("-".into(), |most| most.to_string());
    let ratio = count.comments as f64 / count.lines.max(1) as f64;
    println!(
        "{name:<12} {:>7} {budget:>7} {:>6} {:>9} {ratio:>8.2}",
        count.tokens, count.lines, count.free
    );
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

impl Budgets {
    fn is_extension(&self, path: &Path) -> bool {
        let own = self.extensions_without.iter().any(|f| path.starts_with(f));
        let inside = path.strip_prefix(&self.extensions);
        !own && inside.is_ok_and(|rest| rest.iter().count() > 1)
    }

    fn is_core(&self, path: &Path) -> bool {
        let inside = self.core.iter().any(|f| path.starts_with(f));
        inside && !self.core_without.iter().any(|f| path.starts_with(f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_extensions_are_free_and_the_core_has_exceptions() {
        let budgets: Budgets = toml::from_str(
            "rows = []\nextensions = 'ext/src'\nextensions_without = ['ext/src/own']\n\
             core = ['a', 'b/src/c.rs']\ncore_without = ['a/src/d']\ncore_tokens = 1\n[rooms]\n",
        )
        .unwrap();
        for (path, extension, core) in [
            ("ext/src/lib.rs", false, false),
            ("ext/src/sample/mod.rs", true, false),
            ("ext/src/own/mod.rs", false, false),
            ("a/src/lib.rs", false, true),
            ("a/src/d/e.rs", false, false),
            ("b/src/c.rs", false, true),
            ("b/src/lib.rs", false, false),
        ] {
            let path = Path::new(path);
            assert_eq!(budgets.is_extension(path), extension, "{path:?}");
            assert_eq!(budgets.is_core(path), core, "{path:?}");
        }
    }

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
