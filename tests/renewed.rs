//! The pages of `bofuss web` in a browser: their script renews counters, and nothing is refused.

use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use bofuss_tests::{address, have, printed, run};

use crate::{Viewer, shown};

/// A browser without a window that stays for eight seconds of its own time on a page.
fn browser(profile: &Path, options: &[&str], page: &str) -> String {
    let mut browser = Command::new("chromium");
    browser.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
    ]);
    browser.args(["--no-first-run", "--disable-background-networking"]);
    browser.args([
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
    ]);
    browser.args(["--enable-logging=stderr", "--virtual-time-budget=8000"]);
    browser.arg(format!("--user-data-dir={}", profile.display()));
    let output = run(browser.args(options).arg(page));
    assert!(output.status.success(), "{}", printed(&output));
    let said = String::from_utf8_lossy(&output.stderr);
    let refused = said.lines().find(|line| line.contains("CONSOLE"));
    assert_eq!(refused, None, "{page}");
    String::from_utf8(output.stdout).unwrap()
}

/// Lets the sender end, also if the test fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// If `BOFUSS_DRAWINGS` names a folder, pictures for `docs` are written there.
#[test]
#[ignore = "long: a browser of 300 MB"]
fn a_browser_renews_counters_and_refuses_nothing_of_the_pages() {
    if !have(&["ip", "chromium"]) {
        return;
    }
    let lab = shown(&[]);
    lab.asks(&["add-flow", "priority=2,arp,actions=flood"]);
    lab.asks(&[
        "add-flow",
        "priority=3,ip,in_port=1,actions=set_queue:1,output:2",
    ]);
    let viewer = Viewer::of(&lab);
    let profile = std::env::temp_dir().join(format!("{}.profile", lab.name));
    let page = |path: &str| format!("http://{}/{}/{path}", viewer.address, viewer.token);
    viewer.page("messages");
    let ends = AtomicBool::new(false);
    let send = || {
        let sender = UdpSocket::bind((address(2), 0)).unwrap();
        while !ends.load(Relaxed) {
            let _ = sender.send_to(&[0; 100], (address(1), 7));
            thread::sleep(Duration::from_micros(200));
        }
    };
    thread::scope(|scope| {
        let _ending = Ending(&ends);
        scope.spawn(|| lab.host(2, send));
        for path in ["", "flows", "groups", "messages"] {
            let renewed = browser(&profile, &["--dump-dom"], &page(path));
            assert!(
                renewed.contains("<p class=\"soft\" id=\"state\">live</p>"),
                "{renewed}"
            );
            let grows = renewed.contains("<span class=\"rate\"> +");
            assert_eq!(grows, path != "messages", "{path}: {renewed}");
        }
        let packet = "packet?packet=in_port%3D1%2Ctcp%2Cnw_dst%3D10.0.0.9%2Ctcp_dst%3D80";
        for path in [packet, "machines"] {
            browser(&profile, &["--dump-dom"], &page(path));
        }
        if let Some(folder) = std::env::var_os("BOFUSS_DRAWINGS") {
            for (path, name, size) in [
                ("", "web.png", "1000,960"),
                (packet, "packet.png", "1000,900"),
            ] {
                let file = Path::new(&folder).join(name);
                let shot = format!("--screenshot={}", file.display());
                browser(
                    &profile,
                    &[&shot, &format!("--window-size={size}")],
                    &page(path),
                );
            }
        }
    });
    let _ = std::fs::remove_dir_all(&profile);
}
