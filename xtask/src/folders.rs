//! Checks imports against the layers of modules in `xtask/arrows.toml`: none goes upward.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::source::Source;

/// In the last layer: every module that is not listed, and none imports another of them.
const EACH_ALONE: &str = "*";

/// Findings about the rooms whose layers `list` has: a module may import from its own layer and
/// from those before it.
pub(crate) fn check(list: &Table, sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    let Some(rooms) = list.get("layers").and_then(Value::as_table) else {
        return found;
    };
    for (room, layers) in rooms {
        let folder = Path::new(room).join("src");
        let layers = layers_by_module(layers);
        let alone = layers.get(EACH_ALONE);
        let inside = |source: &Source| Some(source.path.strip_prefix(&folder).ok()?.to_path_buf());
        let modules: BTreeSet<String> = sources.iter().filter_map(inside).map(module_of).collect();
        let root = sources.iter().find(|one| one.path == folder.join("lib.rs"));
        let exported = root.map(|root| exports(&root.code)).unwrap_or_default();
        for source in sources {
            let Some(inside) = inside(source).filter(|inside| inside != Path::new("lib.rs")) else {
                continue;
            };
            let file = source.path.display();
            let importer = module_of(inside);
            let Some(own) = layers.get(&importer).or(alone) else {
                found.push(format!("{file}: in no layer"));
                continue;
            };
            for (line, name) in imports(source) {
                let module = exported.get(&name).unwrap_or(&name);
                let is_other = *module != importer && modules.contains(module);
                let unlisted = alone.filter(|_| is_other);
                let listed = layers.get(&name).or_else(|| layers.get(module));
                if listed.is_some_and(|other| other > own) {
                    found.push(format!("{file}:{line}: `{name}` is of a layer above"));
                } else if listed.is_none() && unlisted.is_some() {
                    found.push(format!("{file}:{line}: `{name}` stands alone"));
                }
            }
        }
    }
    found
}

/// For each module, the number of its layer; 0 is the lowest.
fn layers_by_module(layers: &Value) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    let layers = layers.as_array().map(Vec::as_slice).unwrap_or_default();
    for (number, layer) in layers.iter().enumerate() {
        for module in layer.as_str().unwrap_or("").split_whitespace() {
            all.insert(module.to_string(), number);
        }
    }
    all
}

/// The top module of a file, by its path below `src`.
fn module_of(inside: PathBuf) -> String {
    let first = inside.iter().next().unwrap_or_default();
    let name = first.to_string_lossy();
    name.trim_end_matches(".rs").to_string()
}

/// The names that a crate's root re-exports, each with the module that it comes from.
fn exports(root: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for statement in root.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or("");
        let mut names = names(statement);
        let Some(module) = names.next() else { continue };
        for name in names {
            all.insert(name.to_string(), module.to_string());
        }
    }
    all
}

/// The paths from `crate::` in a file: the line, and the first name of each.
fn imports(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    // How many brackets of a list of imports are open, which may span lines.
    let mut depth = 0;
    for (line, code) in source.product_lines() {
        let mut rest = code;
        loop {
            if depth == 0 {
                let Some((_, after)) = rest.split_once("crate::") else {
                    break;
                };
                rest = after;
                if let Some(inside) = after.strip_prefix('{') {
                    rest = inside;
                    depth = 1;
                } else {
                    found.extend(names(after).next().map(|n| (line, n.to_string())));
                }
                continue;
            }
            let end = rest.find(['{', '}', ',']).unwrap_or(rest.len());
            if depth == 1 {
                found.extend(names(&rest[..end]).next().map(|n| (line, n.to_string())));
            }
            match rest.as_bytes().get(end) {
                Some(b'{') => depth += 1,
                Some(b'}') => depth -= 1,
                Some(_) => {}
                None => break,
            }
            rest = &rest[end + 1..];
        }
    }
    found
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    parts.filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "[layers]\na = ['time slab', 'tables', 'fast', 'switch']\n";

    fn findings(path: &str, text: &str) -> Vec<String> {
        let root = "pub use fast::{cache::Cache, Word};\npub use time::Time;\n";
        let source = |path: &str, text: &str| Source::new(path.into(), text.into()).0;
        let sources = [source("a/src/lib.rs", root), source(path, text)];
        check(&LIST.parse().unwrap(), &sources)
    }

    #[test]
    fn imports_go_down_only() {
        let path = "a/src/fast/cache.rs";
        assert_eq!(
            findings(path, "use crate::tables::Table;\nuse crate::Time;"),
            [""; 0]
        );
        let text = "use crate::slab::Slab;\nuse crate::{\n    Time,\n    fast::{Word, more},\n};";
        assert_eq!(
            findings("a/src/tables/mod.rs", text),
            ["a/src/tables/mod.rs:4: `fast` is of a layer above"]
        );
        assert_eq!(findings("a/src/time.rs", "use crate::Cache;").len(), 1);
        assert_eq!(
            findings("a/src/time.rs", "fn f(_: crate::Word) {}").len(),
            1
        );
    }

    #[test]
    fn tests_may_import_from_anywhere() {
        let text = "#[cfg(test)]\nmod tests {\n    use crate::Cache;\n}";
        assert_eq!(findings("a/src/time.rs", text), [""; 0]);
    }

    #[test]
    fn modules_that_stand_alone_import_none_of_each_other() {
        let list = "[layers]\na = ['common', '*']\n".parse().unwrap();
        let source = |path: &str, text: &str| Source::new(path.into(), text.into()).0;
        let sources = [
            source("a/src/common.rs", "use crate::one::Kind;"),
            source("a/src/one.rs", "use crate::{common, one::Kind, catalogue};"),
            source("a/src/two/hook.rs", "use crate::one::Kind;"),
        ];
        assert_eq!(
            check(&list, &sources),
            [
                "a/src/common.rs:1: `one` stands alone",
                "a/src/two/hook.rs:1: `one` stands alone"
            ]
        );
    }

    #[test]
    fn a_file_in_no_layer_is_a_finding() {
        assert_eq!(findings("a/src/new.rs", ""), ["a/src/new.rs: in no layer"]);
    }
}
