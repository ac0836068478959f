//! Checks that what documents say about pictures and runs is what these show.

use std::path::Path;

use crate::tree;

/// The page of a run of the bench, its table of results, and the section about them, in which what
/// is bold is of that run.
const RUN: &str = "docs/performance.md";
const RESULTS: (&str, &str) = ("### Targets", "\n### ");
const ABOUT: (&str, &str) = ("## What is missed", "\n## ");
/// What a sentence may promise of a picture.
const COMPARED: [&str; 5] = ["Open vSwitch", "AF_XDP", "bridge", "bmv2", "BOFUSS"];

/// All findings about captions and figures.
///
/// Errors: a document or a picture that cannot be read.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for path in tree::files(root)?.iter().filter(|p| tree::is(p, "md")) {
        let text = tree::read(&root.join(path))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let wrong = pictures(&text, |target| tree::read(&root.join(folder).join(target)))?;
        found.extend(
            wrong
                .iter()
                .map(|what| format!("{}: {what}", path.display())),
        );
        if path == Path::new(RUN) {
            found.extend(
                foreign_figures(&text)
                    .iter()
                    .map(|what| format!("{RUN}: {what}")),
            );
        }
    }
    Ok(found)
}

/// The pictures in SVG whose text is not their title, and those whose introduction, a paragraph
/// that ends with a colon, names what they do not show.
///
/// Errors: a picture that `read` cannot read.
fn pictures(
    text: &str,
    read: impl Fn(&str) -> Result<String, String>,
) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut before = "";
    for paragraph in text.split("\n\n") {
        let link = paragraph.trim().strip_prefix("![");
        let parts = link.and_then(|link| link.strip_suffix(".svg)")?.split_once("]("));
        if let Some((caption, target)) = parts {
            let shown = title(&read(&format!("{target}.svg"))?);
            if caption != shown {
                found.push(format!("{target}.svg shows \"{shown}\", not \"{caption}\""));
            }
            let promised = COMPARED.iter().filter(|name| before.contains(**name));
            for name in promised.filter(|name| !shown.contains(**name)) {
                found.push(format!("{target}.svg does not show {name}"));
            }
        }
        before = if paragraph.ends_with(':') {
            paragraph
        } else {
            ""
        };
    }
    Ok(found)
}

/// What a picture shows, by its own words.
fn title(svg: &str) -> String {
    let after = |start| svg.split_once(start).map(|(_, rest)| rest);
    let title = after("<title>").or_else(|| after("aria-label=\""));
    let title = title.and_then(|rest| rest.split(['<', '"']).next());
    title
        .unwrap_or_default()
        .replace("&quot;", "\"")
        .replace("&gt;", ">")
        .replace("&lt;", "<")
        .replace("&amp;", "&")
}

/// The numbers in bold sentences about a run that are not in its table; what is in parentheses is
/// of other runs.
fn foreign_figures(text: &str) -> Vec<String> {
    let known = numbers(between(text, RESULTS));
    let mut found = Vec::new();
    for bold in between(text, ABOUT).split("**").skip(1).step_by(2) {
        let own = without_parentheses(bold);
        let foreign = numbers(&own).into_iter();
        for number in foreign.filter(|n| !known.iter().any(|k| is_rounded(n, k))) {
            found.push(format!(
                "the run has no {number}: {}",
                bold.replace('\n', " ")
            ));
        }
    }
    found
}

fn between<'a>(text: &'a str, (start, end): (&str, &str)) -> &'a str {
    let rest = text.split_once(start).map_or("", |(_, rest)| rest);
    rest.split(end).next().unwrap_or_default()
}

fn without_parentheses(text: &str) -> String {
    let mut parts = text.split('(');
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept += part.split_once(')').map_or("", |(_, rest)| rest);
    }
    kept
}

/// The numbers of a text, without signs and separators of thousands.
fn numbers(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    let words = words.map(|word| word.trim_matches(['.', ',']).replace(',', ""));
    words.filter(|word| !word.is_empty()).collect()
}

/// Whether a number is another one, rounded to fewer digits.
fn is_rounded(short: &str, long: &str) -> bool {
    let digits = short.split_once('.').map_or(0, |(_, part)| part.len());
    let exact: Result<f64, _> = long.parse();
    exact.is_ok_and(|exact| format!("{exact:.digits$}") == short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_shows_what_its_words_say() {
        let svg = "<svg>\n<title>rate: cable, A &amp; B</title></svg>";
        let of = |text| pictures(text, |_| Ok(svg.into())).unwrap();
        assert_eq!(
            of("Beside a cable:\n\n![rate: cable, A & B](a.svg)\n"),
            [""; 0]
        );
        assert_eq!(
            of("See Open vSwitch.\n\n![rate: cable, A & B](a.svg)").len(),
            0
        );
        assert_eq!(
            of("Beside Open vSwitch:\n\n![rate: cable, A & B](a.svg)").len(),
            1
        );
        assert_eq!(
            of("![rate: cable, A & B, and Open vSwitch](a.svg)\n\nx").len(),
            1
        );
    }

    #[test]
    fn bold_figures_are_those_of_the_run() {
        let text = "### Targets\n| echoes of 64 bytes | 5.38 us | 1,045 |\n### More\n9\n\
            ## What is missed\n**Echoes of 64 bytes: 5.4 us (3 before), 1,045**, 7, **\n8 and 5**";
        let wrong = foreign_figures(text);
        assert_eq!(wrong, ["the run has no 8:  8 and 5"]);
    }
}
