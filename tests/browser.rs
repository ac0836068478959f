//! The report in a browser: nothing of a plot is empty, cut off, or over other words.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use bofuss_tests::{have, ok};

use crate::plant::{Folder, measured};

/// The least number of plots in a report of all cases.
const PLOTS: usize = 40;
/// Looks at each plot once the page is there, and writes what is wrong into the page.
const LOOK: &str = "<script>onload = () => {
  const found = [];
  const plots = [...document.querySelectorAll('svg')];
  const cut = (at, box) => at.left < box.left - 1 || at.right > box.right + 1
    || at.top < box.top - 1 || at.bottom > box.bottom + 1;
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  plots.forEach((plot, number) => {
    const box = plot.getBoundingClientRect();
    const words = [...plot.querySelectorAll('text')].filter(text => text.textContent.trim());
    const named = text => text.textContent.trim();
    const say = what => found.push(`${number} (${named(words[0])}): ${what}`);
    if (box.width < 100 || box.height < 100) say('it has no room');
    const drawn = [...plot.querySelectorAll('polyline, rect, circle')];
    if (!drawn.some(one => one.getBoundingClientRect().width > 1)) say('nothing is drawn');
    const places = words.map(text => text.getBoundingClientRect());
    words.forEach((text, at) => {
      if (cut(places[at], box)) say(`cut off: ${named(text)}`);
      words.slice(0, at).forEach((other, before) => {
        if (over(places[at], places[before])) {
          say(`${named(text)} is over ${named(other)}`);
        }
      });
    });
  });
  document.body.innerHTML = `<pre>${plots.length} plots\\n${found.join('\\n')}\\nlooked</pre>`;
};</script>";

#[test]
#[ignore = "long: a browser of 300 MB"]
fn every_plot_of_a_report_is_whole_in_a_browser() {
    if !have(&["chromium"]) {
        return;
    }
    let folder = Folder::new();
    measured(&folder, &["--setup", "bofuss", "--repeats", "2"]);
    let looked = folder.0.join("looked.html");
    std::fs::write(&looked, folder.read("report.html") + LOOK).unwrap();
    let profile = folder.0.join("profile");
    let mut browser = Command::new("chromium");
    browser.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
    ]);
    browser.args(["--no-first-run", "--disable-background-networking"]);
    browser.args(["--disable-component-update", "--disable-sync", "--dump-dom"]);
    browser.arg(format!("--user-data-dir={}", profile.display()));
    let page = ok(browser.arg(format!("file://{}", looked.display())));
    let (_, found) = page.split_once("<pre>").unwrap();
    let mut lines = found.split("</pre>").next().unwrap().lines();
    let count = lines.next().unwrap().split_once(' ').unwrap().0;
    assert!(count.parse::<usize>().unwrap() >= PLOTS, "{found}");
    let wrong: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    assert_eq!(wrong, ["looked"], "{found}");
}
