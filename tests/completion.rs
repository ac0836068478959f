//! bash, zsh and fish complete dpctl's command lines, with the ports of a running switch.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use bofuss_tests::{Lab, have, ok, program};

/// Prints what the script for bash would complete, one reply a line.
const BASH: &str = r#"
source <(dpctl --generate bash)
COMP_LINE=$1 COMP_POINT=${#1}
_dpctl dpctl "$2" ""
printf '%s\n' "${COMPREPLY[@]}"
"#;
/// The same for zsh; three variables and a function take the place of its completion widget.
const ZSH: &str = r#"
compadd() { print -l -- $names }
_files() { print files }
words=(dpctl add-flow "") CURRENT=3 PREFIX=$1
compdef() { _dpctl }
source <(dpctl --generate zsh)
"#;
/// Fish has a command for that.
const FISH: &str = "dpctl --generate fish | source; complete -C $argv[1]";

/// Returns what a shell prints that runs a script with these arguments.
fn said(shell: &[&str], arguments: &[&str]) -> Vec<String> {
    let folder = program("dpctl").parent().unwrap().to_path_buf();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).args(arguments).env("PATH", path);
    let text = ok(&mut command);
    let words = text.lines().map(|line| line.split('\t').next().unwrap());
    words.map(|word| word.trim_end().to_string()).collect()
}

fn bash(line: &str, word: &str) -> Vec<String> {
    said(&["bash", "-c", BASH, "bash"], &[line, word])
}

#[test]
fn shells_complete_verbs_fields_actions_and_ports() {
    if !have(&["zsh", "fish"]) {
        return;
    }
    let lab = Lab::new(2, &[]);
    let (one, two) = (lab.port(1), lab.port(2));
    // In quotes, bash completes a flow as one word, else what comes after its last `=` or `:`.
    let asked = |line: &str, word: &str| bash(&format!("dpctl {line}"), word);
    assert_eq!(asked("replace-", "replace-"), ["replace-flows"]);
    assert_eq!(
        asked("add-flow 'in_port=1,nw_d", "in_port=1,nw_d"),
        ["in_port=1,nw_dst=", "in_port=1,nw_dst=..."]
    );
    assert_eq!(asked("add-flow in_port=1,nw_d", "1,nw_d")[0], "1,nw_dst=");
    assert_eq!(
        asked("add-flow ip,actions=push_v", "push_v")[0],
        "push_vlan:"
    );
    assert_eq!(asked("add-flow ip,actions=push_v", "what"), [""]);
    let ports = [&one, &two].map(|port| format!("ip,actions=output:{port}"));
    assert_eq!(
        asked("add-flow \"ip,actions=output:", "ip,actions=output:"),
        ports
    );
    assert_eq!(asked("dump-flows in_port=", ""), [&*one, &*two]);
    for (flow, wanted) in [
        ("in_port=1,nw_d", "in_port=1,nw_dst="),
        ("tcp,actions=pop_v", "tcp,actions=pop_vlan"),
        ("tcp,actions=write_", "tcp,actions=write_actions("),
    ] {
        let wanted = wanted.to_string();
        assert!(said(&["zsh", "-fc", ZSH, "zsh"], &[flow]).contains(&wanted));
        let line = format!("dpctl add-flow '{flow}");
        assert!(said(&["fish", "-Nc", FISH], &[&line]).contains(&wanted));
    }
    let zsh = said(&["zsh", "-fc", ZSH, "zsh"], &["actions=output:"]);
    let fish = said(&["fish", "-Nc", FISH], &["dpctl dump-flows in_port="]);
    assert_eq!(
        zsh,
        [&one, &two].map(|port| format!("actions=output:{port}"))
    );
    assert_eq!(fish, [&one, &two].map(|port| format!("in_port={port}")));
    assert_eq!(said(&["fish", "-Nc", FISH], &["dpctl tra"]), ["trace"]);
    assert_eq!(said(&["zsh", "-fc", ZSH, "zsh"], &["nothing"]), ["files"]);
}
