//! Papers' experiments by one command each: their tables and figures next to ours.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use bofuss_tests::{ok, printed, run};

use crate::plant::{Folder, ofmeter};

/// A document with the marks of a paper's tables.
fn document(folder: &Folder, number: &str) -> PathBuf {
    let path = folder.0.join("papers.md");
    let marks = ["begin", "end"].map(|end| format!("<!-- ofmeter paper {number}: {end} -->\n"));
    std::fs::create_dir_all(&folder.0).unwrap();
    std::fs::write(&path, format!("# Before\n{}\nAfter\n", marks.concat())).unwrap();
    path
}

#[test]
fn a_papers_cases_run_on_each_set_up_and_its_numbers_are_beside_ours() {
    let folder = Folder::new();
    let document = document(&folder, "002");
    let words = [
        "paper",
        "002",
        "--short",
        "--setup",
        "bofuss",
        "--setup",
        "yardstick",
        "--page",
    ];
    println!("{}", ok(ofmeter(&folder, &words).arg(&document)));
    let page = folder.read("report.html");
    // Of table III, the first and the last row; and both set-ups.
    for row in [
        "Extreme x460-24p",
        "LinkSys - OpenWRT",
        "<b>bofuss</b>",
        "<b>yardstick</b>",
    ] {
        assert!(page.contains(row), "{row}");
    }
    assert!(page.contains("0.125 to 0.127") && page.contains("Table VIII"));
    assert!(page.contains("Fig. 6 (section IV-B)"));
    // On a busy machine, no number of it may be good enough for a sentence.
    let left_out = page.contains("values have a sign, and are left out");
    assert!(left_out || page.contains("(similar to 1 for seven"));
    assert!(page.contains(", shortest form</title>"));
    for statistic in ["here, mean", "here, median"] {
        assert!(page.contains(statistic), "{statistic}");
    }
    let document = folder.read("papers.md");
    assert!(document.starts_with("# Before\n") && document.ends_with("\nAfter\n"));
    assert!(document.contains("| Extreme x460-24p |") && document.contains("date: "));
    for setup in ["bofuss", "yardstick"] {
        assert!(folder.0.join(setup).join("report.html").exists());
    }
    // Delays of frames are round trips, as in the paper, but where frames do not come back.
    assert!(folder.read("bofuss/run.json").contains("\"echo\": true"));
    let results = folder.read("bofuss/results.jsonl");
    let results = results
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let all: Vec<serde_json::Value> = results.collect();
    for result in &all {
        assert_eq!(result["verdict"], "ok", "{result}");
        let is_one_way = result["notes"].to_string().contains("one way");
        let kind = &result["point"]["kind"];
        if result["case"] == "match-type" || result["case"] == "table-size" {
            assert_eq!(is_one_way, kind == "ipv6", "{result}");
        }
    }
    let refused = run(&mut ofmeter(&folder, &["paper", "001"]));
    assert!(printed(&refused).contains("there are 000, 002, 003, 004"));
}

#[test]
fn the_experiments_of_openqflow_run_and_its_numbers_are_beside_ours() {
    let folder = Folder::new();
    let document = document(&folder, "003");
    let words = ["paper", "003", "--short", "--page"];
    println!("{}", ok(ofmeter(&folder, &words).arg(&document)));
    let page = folder.read("report.html");
    assert!(page.contains("<td>ceta</td><td>0.99</td><td>0.9"), "{page}");
    assert!(page.contains("<td>fred</td><td>0.62</td><td>0."));
    assert!(page.contains("cycles by equation 8") && page.matches("<svg").count() == 7);
    let tables = folder.read("papers.md");
    assert!(tables.starts_with("# Before\n") && tables.ends_with("\nAfter\n"));
    // Simulated, live with the kernel's disciplines, figure 2, and figure 7 in three orders.
    for part in [
        "| drr | 0.86 | 0.8",
        "| hfair | ",
        "| kernel-fifo | 0.5",
        "octets 1.9",
        "| sequential | 10 |",
        "| random | 1,000 |",
        "| adversarial | 1,000 |",
    ] {
        assert!(tables.contains(part), "{part}: {tables}");
    }
}

#[test]
fn one_stream_and_flows_of_a_data_centre_are_beside_those_of_the_paper() {
    let folder = Folder::new();
    let words = ["paper", "000", "--short", "--repeats", "2"];
    let setups = ["--setup", "bofuss", "--setup", "bridge", "--setup", "wire"];
    let output = run(&mut ofmeter(&folder, &[&words[..], &setups].concat()));
    let said = printed(&output);
    assert!(output.status.success(), "{said}");
    let lines = said.lines().filter(|line| line.starts_with("round "));
    let rounds: Vec<&str> = lines.map(|line| line.split(';').next().unwrap()).collect();
    let in_turn = [
        "round 1 of 2: bofuss",
        "round 1 of 2: bridge",
        "round 1 of 2: wire",
        "round 2 of 2: bofuss",
        "round 2 of 2: bridge",
        "round 2 of 2: wire",
    ];
    assert_eq!(rounds, in_turn, "{said}");
    let form = "paper 000, shortest form: its cases take about";
    assert!(said.find(form).unwrap() < said.find("round 1").unwrap());
    let announced = said.find("spine-leaf-live takes about").unwrap();
    assert!(announced < said.find("round 1").unwrap(), "{said}");
    assert!(said.contains("live: 2 spines") && said.contains("flows are cut off at"));
    folder.typeset();
    let page = folder.read("report.html");
    for words in [
        "<td>51.413</td><td>2.678</td>",
        "Ratio to the bridge",
        "UDP of 64 bytes: highest rate without loss",
        "<b>wire</b>, here",
        "Fig. 6, simulated",
        "cost of bofuss, arp-path",
        "busiest spine over the mean",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    // Times of real flows may be no results on a busy machine; then the page says so.
    let live = ["Fig. 6, live", "results are not shown"];
    assert!(live.iter().any(|words| page.contains(words)), "{page}");
    let mut rows = page.split("<tr>");
    let row = rows
        .find(|row| row.contains("<b>bofuss</b>, here"))
        .unwrap();
    let cells: Vec<&str> = row.split("<td>").skip(2).collect();
    assert_eq!(cells.len(), 8, "{row}");
    for cell in cells {
        assert!(cell.contains(|c: char| c.is_ascii_digit()), "{row}: {said}");
    }
}

#[test]
fn delays_by_size_and_load_are_beside_those_of_oflops() {
    let folder = Folder::new();
    let words = ["paper", "004", "--short", "--setup", "bofuss"];
    println!("{}", ok(&mut ofmeter(&folder, &words)));
    let page = folder.read("report.html");
    for figure in 2..=7 {
        let head = format!("<h3>Fig. {figure} (section III)");
        assert!(page.contains(&head), "{head}");
    }
    assert!(page.contains("<h3>Knee (section III)") && page.contains("the instrument, wire"));
    assert!(page.contains("The stated error of a delay"), "{page}");
}
