//! Pages with Mininet, typed by a plain user on a terminal, as readers do: each command in a
//! `console` block prints what follows it there, with sudo only where the page has it.
//!
//! A line `…` on a page means any lines, and `…` in a line any text.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::process::Stdio;

use bofuss_tests::{have_users, users_command};

const PROMPT: &str = "mininet> ";

/// A command of the page, whether it is one for Mininet, and what it has to print.
struct Step {
    command: &'static str,
    for_mininet: bool,
    wanted: Vec<&'static str>,
}

fn steps(page: &'static str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_console = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_console = line == "```console";
        } else if is_console {
            let of_mininet = line.strip_prefix(PROMPT);
            match of_mininet.or(line.strip_prefix("$ ")) {
                Some(command) => steps.push(Step {
                    command,
                    for_mininet: of_mininet.is_some(),
                    wanted: Vec::new(),
                }),
                None => steps.last_mut().unwrap().wanted.push(line.trim_end()),
            }
        }
    }
    steps
}

/// The commands of the shell as a script, each of which prints a mark first.
fn script(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps.iter().filter(|step| !step.for_mininet) {
        let own = step.command.strip_suffix('&');
        let quiet = own.map(|own| format!("{own}>/dev/null 2>&1 </dev/null &"));
        let command = quiet.as_deref().unwrap_or(step.command);
        writeln!(text, "echo; echo '#step'\n{command}").unwrap();
    }
    text
}

/// Runs a script on a terminal, and types a line at each of Mininet's prompts. Returns what the
/// terminal shows, without colours.
fn on_a_terminal(script: &str, typed: &[&str]) -> String {
    let mut command = users_command(&format!(
        "cat >page.sh <<'PAGE'\nstty cols 999\n{script}PAGE\n\
         TERM=xterm exec script -qefc 'sh page.sh' /dev/null"
    ));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut keyboard = child.stdin.take().unwrap();
    let mut screen = child.stdout.take().unwrap();
    let mut bytes = Vec::new();
    let mut said = String::new();
    let mut typed = typed.iter();
    let mut answered = 0;
    let mut chunk = [0; 4096];
    while let n @ 1.. = screen.read(&mut chunk).unwrap() {
        bytes.extend_from_slice(&chunk[..n]);
        said = plain(&String::from_utf8_lossy(&bytes));
        // What is typed earlier, Mininet passes on to the command that runs.
        let prompts = said.matches(PROMPT).count();
        if said.ends_with(PROMPT) && answered < prompts {
            answered = prompts;
            let line = typed.next().unwrap_or(&"exit");
            writeln!(keyboard, "{line}").unwrap();
        }
    }
    assert!(child.wait().unwrap().success(), "{said}");
    said
}

/// A text without a terminal's control sequences.
fn plain(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap().to_owned();
    for part in parts {
        let end = part.find(|c: char| ('@'..='~').contains(&c));
        plain += end.map_or("", |end| &part[end + 1..]);
    }
    plain.replace('\r', "")
}

/// The page's program in Python.
fn python(page: &str) -> &str {
    let program = page.split_once("```python\n").unwrap().1;
    program.split_once("```").unwrap().0
}

/// Returns true if a text matches a pattern, in which `…` is any text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('…');
    let first = parts.next().unwrap();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(before) = last.replace(part) {
            let Some((_, after)) = rest.split_once(before) else {
                return false;
            };
            rest = after;
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

/// Returns true if lines match those wanted, where `…` is any number of lines.
fn are(wanted: &[&str], lines: &[&str]) -> bool {
    match wanted {
        [] => lines.is_empty(),
        ["…", rest @ ..] => (0..=lines.len()).any(|skip| are(rest, &lines[skip..])),
        [first, rest @ ..] => {
            lines.first().is_some_and(|line| fits(first, line)) && are(rest, &lines[1..])
        }
    }
}

#[test]
fn the_lecture_goes_as_the_page_says() {
    goes_as_it_says(include_str!("../docs/guide/lecture.md"), 26);
}

#[test]
fn a_network_with_loops_goes_as_the_page_says() {
    goes_as_it_says(include_str!("../docs/guide/arp-path.md"), 14);
}

#[test]
fn a_shared_link_goes_as_the_page_says() {
    goes_as_it_says(include_str!("../docs/guide/openqflow.md"), 20);
}

/// Runs a page, which has at least this many commands; again if something differs, because what
/// else runs on the machine may lose packets.
fn goes_as_it_says(page: &'static str, commands: usize) {
    if !have_users(&["ip", "unshare", "sudo", "mn", "tshark", "curl", "iperf"]) {
        return;
    }
    let mut wrong = String::new();
    for _ in 0..3 {
        wrong = differences(page, commands);
        if wrong.is_empty() {
            return;
        }
    }
    panic!("{wrong}");
}

/// Runs a page. Returns which commands printed something else.
fn differences(page: &'static str, commands: usize) -> String {
    let steps = steps(page);
    assert!(steps.len() >= commands, "the page has commands");
    let script = format!(
        "cat >net.py <<'END'\n{}END\n{}",
        python(page),
        script(&steps)
    );
    let typed = steps.iter().filter(|step| step.for_mininet);
    let typed: Vec<&str> = typed.map(|step| step.command).collect();
    let said = on_a_terminal(
        &script.replace("/usr/local/share/bofuss", "/run/bin"),
        &typed,
    );
    // These are the outputs of the shell's commands, and what Mininet shows after each of its
    // prompts.
    let parts = said.split("#step\n").skip(1);
    let mut printed = parts.flat_map(|part| part.split(PROMPT));
    let mut wrong = String::new();
    for step in &steps {
        let lines = printed.next().unwrap_or("nothing more was printed").lines();
        let lines: Vec<&str> = lines.map(str::trim_end).filter(|l| !l.is_empty()).collect();
        let is_noise = |line: &&str| !line.starts_with("Running as user");
        let mut lines: Vec<&str> = lines.into_iter().filter(is_noise).collect();
        // The terminal also shows what was typed.
        if step.for_mininet && lines.first() == Some(&step.command) {
            lines.remove(0);
        }
        let wanted: Vec<&str> = step
            .wanted
            .iter()
            .copied()
            .filter(|l| !l.is_empty())
            .collect();
        if !are(&wanted, &lines) {
            let (command, lines, wanted) = (step.command, lines.join("\n"), wanted.join("\n"));
            writeln!(
                wrong,
                "{command}\nit printed\n{lines}\nand the page has\n{wanted}\n"
            )
            .unwrap();
        }
    }
    wrong
}
