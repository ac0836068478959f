//! `cargo xtask docs`: makes the site of the documentation, by mdBook, from the tree's own pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::docs::{SUMMARY, links, pages, resolved};
use crate::{command, tree};

/// How mdBook makes the site. Pages are taken as they are: no preprocessor changes them.
const BOOK: &str = r#"[book]
title = "bofuss"
language = "en"

[build]
build-dir = "../site"
use-default-preprocessors = false

[output.html]
smart-punctuation = false
default-theme = "light"
preferred-dark-theme = "navy"

[output.html.print]
enable = false

[output.html.playground]
runnable = false
"#;

/// Makes the site in `target/site`.
///
/// Errors: there is no mdBook; it does not succeed; or links of the site that lead nowhere.
pub(crate) fn run(root: &Path, target: &Path) -> Result<(), String> {
    let mdbook = program()?;
    let source = target.join("site-source");
    let site = target.join("site");
    for folder in [&source, &site] {
        // It may not be there yet. What cannot be removed cannot be written either.
        let _ = fs::remove_dir_all(folder);
    }
    stage(root, &source.join("src"))?;
    tree::write(&source.join("book.toml"), BOOK.as_bytes())?;
    command::output(Command::new(mdbook).arg("build").arg(&source))?;
    let pages = pages_of(&site)?;
    let broken = broken_links(&site, &pages);
    for finding in &broken {
        println!("{finding}");
    }
    if !broken.is_empty() {
        return Err(format!("{} links of the site lead nowhere", broken.len()));
    }
    let index = site.join("index.html");
    println!("docs: {} pages; open {}", pages.len(), index.display());
    Ok(())
}

/// The path of mdBook: it is on PATH, or where cargo installs programs.
///
/// Errors: it is not there, and what to type.
pub(crate) fn program() -> Result<PathBuf, String> {
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from).or(home);
    let installed = cargo.map(|folder| folder.join("bin/mdbook"));
    for path in [Some("mdbook".into()), installed].into_iter().flatten() {
        if command::output(Command::new(&path).arg("--version")).is_ok() {
            return Ok(path);
        }
    }
    Err("no mdbook; type: sh xtask/setup.sh need docs".into())
}

/// Writes the sources of the site: the pages, all files that they link to, and the summary.
fn stage(root: &Path, source: &Path) -> Result<(), String> {
    let pages = pages(root)?;
    for page in &pages {
        let text = tree::read(&root.join(page))?;
        let folder = page.parent().expect("a page is in the tree");
        for line in text.lines() {
            for link in links(line) {
                let path = resolved(folder, link);
                let file = root.join(&path);
                if !pages.contains(&path) && file.is_file() {
                    tree::copy(&file, &source.join(&path))?;
                }
            }
        }
        let text = with_links(&text, |link| staged_link(root, folder, link));
        tree::write(&source.join(staged(page)), text.as_bytes())?;
    }
    let summary = tree::read(&root.join(SUMMARY))?;
    let summary = with_links(&summary, |link| {
        let path = staged(&resolved(Path::new("docs"), link));
        path.display().to_string()
    });
    tree::write(&source.join("SUMMARY.md"), summary.as_bytes())
}

/// Where a page is in the site's sources: the first page of a folder is its index.
fn staged(page: &Path) -> PathBuf {
    if page.ends_with("README.md") {
        page.with_file_name("index.md")
    } else {
        page.to_path_buf()
    }
}

/// The link to the same page in the site. A link to a folder leads to its first page.
fn staged_link(root: &Path, folder: &Path, link: &str) -> String {
    let is_folder = root.join(folder).join(link).is_dir();
    match link.strip_suffix("README.md") {
        Some(before) => format!("{before}index.md"),
        None if is_folder => format!("{}/index.md", link.trim_end_matches('/')),
        None => link.to_owned(),
    }
}

/// A text with other relative targets of its links.
fn with_links(text: &str, other: impl Fn(&str) -> String) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut changed = line.to_owned();
        for link in links(line).collect::<BTreeSet<_>>() {
            let target = other(link);
            for end in [')', '#', ' '] {
                let from = format!("]({link}{end}");
                changed = changed.replace(&from, &format!("]({target}{end}"));
            }
        }
        lines.push(changed + "\n");
    }
    lines.concat()
}

/// The texts of the pages of a site, by their paths in it. That for missing pages has links which
/// are relative to where the site is put, and is left out.
fn pages_of(site: &Path) -> Result<BTreeMap<PathBuf, String>, String> {
    let mut pages = BTreeMap::new();
    for path in tree::files(site)? {
        if tree::is(&path, "html") && path != Path::new("404.html") {
            let text = tree::read(&site.join(&path))?;
            pages.insert(path, text);
        }
    }
    Ok(pages)
}

/// The links within a site that lead to no file or no heading, each once, with its page.
fn broken_links(site: &Path, pages: &BTreeMap<PathBuf, String>) -> BTreeSet<String> {
    let mut broken = BTreeSet::new();
    let ids: BTreeMap<&Path, BTreeSet<&str>> = pages
        .iter()
        .map(|(path, text)| (path.as_path(), values(text, " id=\"").collect()))
        .collect();
    for (page, text) in pages {
        let folder = page.parent().expect("a page is in the site");
        let targets = values(text, " href=\"").chain(values(text, " src=\""));
        for target in targets.filter(|target| !target.contains(':')) {
            let (file, id) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => page.clone(),
                _ => resolved(folder, file),
            };
            let is_there = match ids.get(path.as_path()) {
                Some(ids) => id.is_empty() || ids.contains(id),
                None => site.join(&path).is_file(),
            };
            if !is_there {
                broken.insert(format!("{}: there is no {target}", page.display()));
            }
        }
    }
    broken
}

/// The values of an attribute in a page of HTML.
fn values<'a>(text: &'a str, attribute: &'a str) -> impl Iterator<Item = &'a str> {
    let rests = text.split(attribute).skip(1);
    rests.filter_map(|rest| rest.split('"').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_first_pages_and_folders_lead_to_the_index() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let text = "[a](../README.md#top), [b](../examples/), [c](dpctl.md), [d](https://e.org)";
        let staged = with_links(text, |link| staged_link(root, Path::new("docs"), link));
        let expected = "[a](../index.md#top), [b](../examples/index.md), [c](dpctl.md), \
            [d](https://e.org)\n";
        assert_eq!(staged, expected);
    }

    #[test]
    fn links_of_a_site_to_no_page_and_no_heading_are_found() {
        let page = |name: &str, text: &str| (PathBuf::from(name), text.to_owned());
        let pages = BTreeMap::from([
            page(
                "index.html",
                r##"<a href="a/b.html#c"> <a href="#d"> <p id="e"> <a href="#e">"##,
            ),
            page(
                "a/b.html",
                r#"<h1 id="x"> <a href="../index.html"> <img src="no.svg">"#,
            ),
        ]);
        let broken = broken_links(Path::new("/nowhere"), &pages);
        let expected = [
            "a/b.html: there is no no.svg",
            "index.html: there is no #d",
            "index.html: there is no a/b.html#c",
        ];
        assert_eq!(Vec::from_iter(broken), expected);
    }
}
