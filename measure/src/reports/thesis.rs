//! The files of a report for a document of others: figures as SVG and PDF, tables as LaTeX and CSV,
//! and the methods.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::reports::latex;
use crate::reports::page_parts::{PageTable, parts};
use crate::reports::pdf::pdf;
use crate::runs::raw::quoted;

/// The folder of these files, in that of the report.
pub const FOLDER: &str = "thesis";

/// Writes the files of a page into a fresh folder, in place of those of an earlier report. Returns
/// the folder.
///
/// Errors: the system's.
pub fn write(folder: &Path, page: &str, methods: &[String]) -> Result<PathBuf> {
    let fresh = folder.join(format!("{FOLDER}.new"));
    // An earlier one may have been cut off.
    removed(&fresh)?;
    let mut files: Vec<(String, String)> = Vec::new();
    let found = parts(page);
    for plot in found.plots {
        files.push((format!("figures/{}.pdf", plot.name), pdf(&plot.svg)?));
        files.push((format!("figures/{}.svg", plot.name), plot.svg));
    }
    for (name, table) in found.tables {
        files.push((format!("tables/{name}.tex"), latex::table(&table)));
        files.push((format!("tables/{name}.csv"), csv(&table)));
    }
    if !methods.is_empty() {
        let text = methods.join("\n\n") + "\n";
        files.push(("methods.tex".into(), latex::escaped_lines(&text)));
        files.push(("methods.txt".into(), text));
    }
    for inner in ["figures", "tables"] {
        let inner = fresh.join(inner);
        fs::create_dir_all(&inner).map_err(|e| failed(&inner, e))?;
    }
    for (name, text) in files {
        let path = fresh.join(name);
        fs::write(&path, text).map_err(|e| failed(&path, e))?;
    }
    let path = folder.join(FOLDER);
    removed(&path)?;
    fs::rename(&fresh, &path).map_err(|e| failed(&path, e))?;
    Ok(path)
}

fn failed(path: &Path, error: std::io::Error) -> Error {
    format!("{}: {error}", path.display()).into()
}

/// Removes a folder, if it is there.
fn removed(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|e| failed(folder, e))?;
    }
    Ok(())
}

/// A table for programs: a cell that is a number has no separators of thousands.
fn csv(table: &PageTable) -> String {
    let mut text = row(table.heads.iter().map(|head| quoted(head)));
    for cells in &table.rows {
        text += &row(cells.iter().map(|cell| quoted(&joined_number(&cell.text))));
    }
    text
}

fn row(cells: impl Iterator<Item = String>) -> String {
    cells.collect::<Vec<_>>().join(",") + "\n"
}

/// A number without separators, or the text as it is.
fn joined_number(text: &str) -> String {
    let joined = text.replace(',', "");
    let is_number = joined.parse::<f64>().is_ok_and(f64::is_finite);
    if is_number { joined } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::html_table::HtmlTable;
    use crate::reports::plot::{Axes, lines};
    use crate::testbed::held::ScratchFolder;

    fn page(with_plot: bool) -> String {
        let mut table = HtmlTable::new(["point", "rate, 1/s"]);
        table.push_cells(["10 Mb/s (at least)", "12,345.6"]);
        table.push_cells(["20 Mb/s", "(1,000)"]);
        let axes = Axes {
            title: "plot",
            x: "x",
            y: "y",
            log_x: false,
        };
        let plot = if with_plot {
            lines(axes, &[])
        } else {
            String::new()
        };
        format!("<h2>Fig. 1: a</h2>\n{}{plot}", table.html())
    }

    #[test]
    fn figures_tables_and_methods_are_files_and_older_ones_are_gone() {
        let folder = ScratchFolder::new().unwrap();
        let methods = ["Of 5 repeats, 50 % are marked.".to_string()];
        let path = write(folder.path(), &page(true), &methods).unwrap();
        let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
        assert!(read("figures/fig-1-1.svg").starts_with("<svg"));
        assert!(read("figures/fig-1-1.pdf").starts_with("%PDF"));
        assert_eq!(
            read("tables/fig-1-1.csv"),
            "point,\"rate, 1/s\"\n10 Mb/s (at least),12345.6\n20 Mb/s,\"(1,000)\"\n"
        );
        assert!(read("tables/fig-1-1.tex").contains("10 Mb/s (at least) & 12,345.6 \\\\\n"));
        assert_eq!(read("methods.txt"), format!("{}\n", methods[0]));
        assert_eq!(read("methods.tex"), "Of 5 repeats, 50 \\% are marked.\n");
        write(folder.path(), &page(false), &[]).unwrap();
        assert!(!path.join("figures/fig-1-1.pdf").exists());
        assert!(!path.join("methods.txt").exists());
        assert!(path.join("tables/fig-1-1.tex").exists());
    }
}
