//! Checks which files of a crate use which: circles and layers, by `xtask/arrows.toml`.
//!
//! A file uses another if a path in it, outside of tests, leads there, directly or through
//! re-exports. A re-export by itself is not a use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::Table;

use crate::rooms;
use crate::source::{Source, is_word, words};

/// The name that the list has for the root of a crate.
const ROOT: &str = "lib";
/// In the last layer: every module that no layer names, each alone.
const EACH_ALONE: &str = "*";
/// The number of re-exports of a path that are followed. It bounds those that re-export each other.
const MAX_REEXPORTS: usize = 8;

/// The modules that each module uses.
type Edges<'a> = BTreeMap<&'a str, BTreeSet<String>>;

/// The uses and re-exports of the files of a crate, by module path (`tables/table`).
#[derive(Default)]
struct Modules {
    /// Paths that each uses, from the root of the crate.
    used: BTreeMap<String, Vec<Vec<String>>>,
    /// Names that each re-exports, with the path of each from the root of the crate.
    exported: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

/// The findings: circles that `list` does not have, listed files that are in no circle, and uses of
/// a layer above.
pub(crate) fn check(list: &Table, sources: &[Source]) -> Vec<String> {
    let of_room = |key: &str, room: &str| list.get(key).and_then(|all| all.get(room));
    let mut found = Vec::new();
    for (room, modules) in modules_by_room(sources) {
        let edges = modules.edges();
        let circles = rooms::names(of_room("circles", &room));
        let mut findings = unlisted_circles(&circles, &edges);
        if let Some(layers) = of_room("layers", &room) {
            findings.extend(upward_uses(&rooms::names(Some(layers)), &edges));
        }
        found.extend(findings.into_iter().map(|what| format!("{room}: {what}")));
    }
    found
}

/// Circles that are not within a line of the list, and files of the list that are in none.
fn unlisted_circles(list: &[&str], edges: &Edges<'_>) -> Vec<String> {
    let circles = circles(edges);
    let allowed: Vec<Vec<&str>> = list
        .iter()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let mut found = Vec::new();
    for circle in &circles {
        let is_within = |words: &Vec<&str>| {
            let mut files = circle.iter();
            files.all(|file| words.iter().any(|word| covers(word, file)))
        };
        if !allowed.iter().any(is_within) {
            let files: Vec<&str> = circle.iter().copied().collect();
            let files = files.join(" ");
            found.push(format!(
                "a circle that xtask/arrows.toml does not list: {files}"
            ));
        }
    }
    for name in allowed.into_iter().flatten() {
        if !circles.iter().flatten().any(|file| covers(name, file)) {
            found.push(format!("`{name}` is listed and is in no circle"));
        }
    }
    found
}

/// Uses that do not go to the same layer or to one before it. Modules that the layers do not name
/// belong to [`EACH_ALONE`], if there is such a layer; none of them uses another, and a layer after
/// it may use all.
fn upward_uses(layers: &[&str], edges: &Edges<'_>) -> Vec<String> {
    let layer_of = |module: &str| {
        let is_in = |layer: &&str| layer.split_whitespace().any(|name| name == module);
        layers.iter().position(is_in)
    };
    let alone = layer_of(EACH_ALONE);
    let mut found = Vec::new();
    for (file, targets) in edges.iter().filter(|(file, _)| **file != ROOT) {
        let module = top(file);
        let Some(own) = layer_of(module).or(alone) else {
            found.push(format!("{file} is in no layer"));
            continue;
        };
        for target in targets.iter().filter(|target| *target != ROOT) {
            match layer_of(top(target)) {
                _ if top(target) == module => {}
                Some(layer) if layer > own => {
                    found.push(format!("{file} uses {target}, of a layer above"));
                }
                None if alone.is_some_and(|alone| own <= alone) => {
                    found.push(format!("{file} uses {target}, which stands alone"));
                }
                Some(_) | None => {}
            }
        }
    }
    found
}

/// The top module of a module path.
fn top(module: &str) -> &str {
    module.split('/').next().unwrap_or(module)
}

/// Returns true if a word of the list stands for a file: it is the file's name, or a prefix and
/// `*`, for a folder to which a guide adds files.
fn covers(word: &str, file: &str) -> bool {
    match word.strip_suffix('*') {
        Some(beginning) => file.starts_with(beginning),
        None => file == word,
    }
}

/// The modules of each room.
fn modules_by_room(sources: &[Source]) -> BTreeMap<String, Modules> {
    let mut rooms: BTreeMap<String, Modules> = BTreeMap::new();
    for source in sources {
        let Some((room, name)) = module_of(&source.path) else {
            continue;
        };
        if !source.test.is_empty() && source.test.iter().all(|test| *test) {
            continue;
        }
        let modules = rooms.entry(room).or_default();
        modules.add(name, &product(source));
    }
    rooms
}

/// The room and the module path of a file below a `src`.
fn module_of(path: &Path) -> Option<(String, String)> {
    let (room, inside) = path.to_str()?.split_once("/src/")?;
    let name = match inside.strip_suffix(".rs")? {
        "lib" | "main" => ROOT,
        other => other.strip_suffix("/mod").unwrap_or(other),
    };
    Some((room.to_string(), name.to_string()))
}

/// The code of a file without its tests.
fn product(source: &Source) -> String {
    let lines: Vec<&str> = source.product_lines().map(|(_, line)| line).collect();
    lines.join("\n")
}

impl Modules {
    /// Adds the paths in the code of one file.
    fn add(&mut self, name: String, code: &str) {
        let mut used = Vec::new();
        let mut exported = BTreeMap::new();
        let mut rest = String::new();
        let mut from = 0;
        for at in words(code, "use") {
            if at < from {
                continue;
            }
            let length = code[at..].find(';').unwrap_or(code.len() - at);
            let line = code[..at].rsplit(['\n', ';', '}']).next().unwrap_or("");
            let is_export = line.trim_start().starts_with("pub");
            for (path, alias) in import_paths(&code[at + "use".len()..at + length]) {
                let target = absolute(&name, &path);
                if is_export {
                    exported.insert(alias, target);
                } else {
                    used.push(target);
                }
            }
            rest.push_str(&code[from..at]);
            from = at + length;
        }
        rest.push_str(&code[from..]);
        for start in path_starts(&rest) {
            used.push(absolute(&name, &path_at(&rest[start..])));
        }
        self.used.insert(name.clone(), used);
        self.exported.insert(name, exported);
    }

    /// The module in which a path ends.
    fn resolve(&self, path: &[String], reexports: usize) -> String {
        let mut module = ROOT.to_string();
        for (i, name) in path.iter().enumerate() {
            let inner = child(&module, name);
            if self.used.contains_key(&inner) {
                module = inner;
                continue;
            }
            let target = self.exported.get(&module).and_then(|all| all.get(name));
            if let Some(target) = target.filter(|_| reexports < MAX_REEXPORTS) {
                let whole = [target, &path[i + 1..]].concat();
                return self.resolve(&whole, reexports + 1);
            }
            break;
        }
        module
    }

    /// The modules that each uses.
    fn edges(&self) -> Edges<'_> {
        let mut edges = Edges::new();
        for (name, paths) in &self.used {
            let targets = paths.iter().map(|path| self.resolve(path, 0));
            let others: BTreeSet<String> = targets.filter(|target| target != name).collect();
            edges.insert(name.as_str(), others);
        }
        edges
    }
}

/// The circles: sets of modules of which each reaches every other (strongly connected components).
fn circles<'a>(edges: &'a Edges<'_>) -> BTreeSet<BTreeSet<&'a str>> {
    let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for name in edges.keys() {
        let mut all = BTreeSet::new();
        let mut open = vec![*name];
        while let Some(module) = open.pop() {
            for target in edges.get(module).into_iter().flatten() {
                if all.insert(target.as_str()) {
                    open.push(target);
                }
            }
        }
        reached.insert(name, all);
    }
    let circular = reached.iter().filter(|(name, all)| all.contains(*name));
    let circles = circular.map(|(name, all)| {
        let mutual = all.iter().filter(|other| reached[*other].contains(name));
        mutual.copied().collect()
    });
    circles.collect()
}

/// The path of a module within another.
fn child(module: &str, name: &str) -> String {
    if module == ROOT {
        return name.to_string();
    }
    format!("{module}/{name}")
}

/// A path as seen from the root of the crate, with `crate`, `self` and `super` resolved.
///
/// A path that begins with another name is taken for a child's. If the name is another crate's,
/// [`Modules::resolve`] finds no such child, and the path ends in the module itself, which is no
/// use.
fn absolute(module: &str, path: &[String]) -> Vec<String> {
    let own = module.split('/').filter(|name| *name != ROOT);
    let mut all: Vec<String> = own.map(str::to_string).collect();
    for name in path {
        match name.as_str() {
            "crate" => all.clear(),
            "self" => {}
            "super" => {
                all.pop();
            }
            _ => all.push(name.clone()),
        }
    }
    all
}

/// The paths of an import, each with the name that it brings into scope.
fn import_paths(text: &str) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    let mut prefixes: Vec<usize> = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut alias = None;
    let mut is_alias = false;
    let mut rest = text.trim_start();
    loop {
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if name == "as" {
            is_alias = true;
        } else if is_alias {
            alias = Some(name.to_string());
            is_alias = false;
        } else if !name.is_empty() {
            path.push(name.to_string());
        }
        let separator = after.trim_start().chars().next();
        if matches!(separator, None | Some(',' | '}')) {
            let own = prefixes.last().copied().unwrap_or(0);
            if path.len() > own {
                let last = path.iter().rfind(|name| *name != "self");
                let brings = alias.take().or(last.cloned()).unwrap_or_default();
                found.push((path.clone(), brings));
            }
            path.truncate(own);
        }
        match separator {
            None => return found,
            Some('{') => prefixes.push(path.len()),
            Some('}') => {
                prefixes.pop();
                path.truncate(prefixes.last().copied().unwrap_or(0));
            }
            Some(_) => {}
        }
        rest = after.trim_start();
        if let Some(c) = separator.filter(|c| !is_word(*c)) {
            rest = rest[c.len_utf8()..].trim_start();
        }
    }
}

/// Returns the beginnings of the paths in some code.
fn path_starts(code: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("::") {
        let start = code[..at].rfind(|c| !is_word(c)).map_or(0, |i| i + 1);
        let before = &code[..start];
        // The path of `pub(in PATH)` says who may use an item, and uses nothing.
        if start < at && !before.ends_with(':') && !before.ends_with("(in ") {
            found.push(start);
        }
    }
    found
}

/// The names of the path at the start of `code`.
fn path_at(code: &str) -> Vec<String> {
    let end = code.find(|c: char| !is_word(c) && c != ':');
    let path = &code[..end.unwrap_or(code.len())];
    let names = path.split("::").filter(|name| !name.is_empty());
    names.map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(list: &str, files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> = files
            .iter()
            .map(|(path, text)| Source::new(path.into(), text.to_string()).0)
            .collect();
        check(&list.parse().unwrap(), &sources)
    }

    const ROOT_FILE: (&str, &str) = (
        "a/src/lib.rs",
        "mod key;\nmod rows;\npub use key::{Key, Word as KeyWord};\n",
    );

    #[test]
    fn a_circle_that_is_not_listed_is_refused() {
        let files = [
            ROOT_FILE,
            ("a/src/rows.rs", "use crate::{KeyWord, Other};\n"),
            ("a/src/key.rs", "fn f() { super::rows::read(); }\n"),
        ];
        assert_eq!(
            findings("", &files),
            ["a: a circle that xtask/arrows.toml does not list: key rows"]
        );
        assert_eq!(findings("[circles]\na = ['key rows']\n", &files), [""; 0]);
    }

    #[test]
    fn a_folder_that_uses_what_uses_it_is_a_circle() {
        let files = [
            ROOT_FILE,
            ("a/src/key/mod.rs", "mod word;\nfn f() { word::f() }\n"),
            ("a/src/key/word.rs", "use super::Key;\n"),
        ];
        assert_eq!(
            findings("", &files),
            ["a: a circle that xtask/arrows.toml does not list: key key/word"]
        );
        assert_eq!(findings("[circles]\na = ['key key/*']\n", &files), [""; 0]);
    }

    #[test]
    fn a_reexport_a_visibility_and_a_test_are_no_use() {
        let files = [
            ROOT_FILE,
            ("a/src/key/mod.rs", "mod word;\npub use word::Word;\n"),
            ("a/src/key/word.rs", "use super::Key;\n"),
            (
                "a/src/rows.rs",
                "use crate::Key;\nuse std::fmt::{self, Key as _};\n",
            ),
            (
                "b/src/lib.rs",
                "mod key;\n#[cfg(test)]\nmod tests {\n    use crate::key::Key;\n}\n",
            ),
            ("b/src/key.rs", "use crate::Root;\n"),
            ("c/src/key/word.rs", "pub(in crate::key) fn f() {}\n"),
            ("c/src/key.rs", "mod word;\nfn g() { word::f() }\n"),
            ("c/src/lib.rs", "mod key;\n"),
        ];
        assert_eq!(findings("", &files), [""; 0]);
    }

    #[test]
    fn a_listed_file_without_a_circle_is_refused() {
        assert_eq!(
            findings("[circles]\na = ['key rows']\n", &[ROOT_FILE]),
            [
                "a: `key` is listed and is in no circle",
                "a: `rows` is listed and is in no circle"
            ]
        );
    }

    const LAYERS: &str = "[layers]\na = ['time slab', 'tables', 'fast']\n";

    fn layered(path: &str, text: &str) -> Vec<String> {
        let root = "pub use fast::{cache::Cache, Word};\npub use time::Time;\n";
        let mut files = vec![("a/src/lib.rs", root)];
        for name in [
            "a/src/time.rs",
            "a/src/slab.rs",
            "a/src/tables/mod.rs",
            "a/src/fast/mod.rs",
            "a/src/fast/cache.rs",
        ] {
            files.push((name, if name == path { text } else { "" }));
        }
        findings(LAYERS, &files)
    }

    #[test]
    fn imports_go_down_only() {
        let text = "use crate::tables::Table;\nuse crate::Time;";
        assert_eq!(layered("a/src/fast/cache.rs", text), [""; 0]);
        let text = "use crate::slab::Slab;\nuse crate::{\n    Time,\n    fast::{Word, more},\n};";
        assert_eq!(
            layered("a/src/tables/mod.rs", text),
            ["a: tables uses fast, of a layer above"]
        );
        let text = "use crate::Cache;";
        assert_eq!(
            layered("a/src/time.rs", text),
            ["a: time uses fast/cache, of a layer above"]
        );
        assert_eq!(layered("a/src/time.rs", "fn f(_: crate::Word) {}").len(), 1);
        let text = "#[cfg(test)]\nmod tests {\n    use crate::Cache;\n}";
        assert_eq!(layered("a/src/time.rs", text), [""; 0]);
    }

    #[test]
    fn modules_that_stand_alone_use_none_of_each_other() {
        let list = "[layers]\na = ['common', '*', 'above']\n";
        let files = [
            ("a/src/lib.rs", "pub fn catalogue() {}"),
            ("a/src/common.rs", "use crate::one::Kind;"),
            ("a/src/one.rs", "use crate::{common, one::Kind, catalogue};"),
            ("a/src/two/hook.rs", "use crate::one::Kind;"),
            ("a/src/three.rs", "use crate::above::Kind;"),
            ("a/src/above.rs", "use crate::one::Kind;"),
        ];
        assert_eq!(
            findings(list, &files[..2]),
            [""; 0],
            "there is no such module"
        );
        assert_eq!(
            findings(
                "[layers]\na = ['common', '*', 'above']\n[circles]\na = ['common one']\n",
                &files
            ),
            [
                "a: common uses one, which stands alone",
                "a: three uses above, of a layer above",
                "a: two/hook uses one, which stands alone"
            ]
        );
    }

    #[test]
    fn a_file_in_no_layer_is_a_finding() {
        assert_eq!(
            findings(LAYERS, &[("a/src/new.rs", "")]),
            ["a: new is in no layer"]
        );
    }

    #[test]
    fn an_import_has_a_path_for_each_name() {
        let text = " crate::{a::{self, B as C}, d::E,\n    f}";
        let paths: Vec<String> = import_paths(text)
            .into_iter()
            .map(|(path, brings)| format!("{} {brings}", path.join("/")))
            .collect();
        assert_eq!(
            paths,
            ["crate/a/self a", "crate/a/B C", "crate/d/E E", "crate/f f"]
        );
    }
}
