//! The reference page has the vectors of `testdata/extensions`.

/// The mark that the page has before the vectors.
const MARK: &str = "<!-- vectors -->\n";

/// With `BOFUSS_REWRITE` set, writes them into the page.
#[test]
fn the_page_has_the_vectors() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let vectors = root.join("testdata/extensions/openqflow.txt");
    let vectors = std::fs::read_to_string(vectors).expect("the vectors are there");
    let path = root.join("docs/reference/openqflow.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (words, written) = page.split_once(MARK).expect("the page has the mark");
    let block = format!("```text\n{vectors}```\n");
    if std::env::var_os("BOFUSS_REWRITE").is_some() {
        std::fs::write(&path, format!("{words}{MARK}{block}")).expect("the page can be written");
    } else {
        assert!(written == block, "stale: run this with BOFUSS_REWRITE=1");
    }
}
