//! Random scenarios go the same way by the plain scan, by hash tables and by the cache: frames,
//! messages, counters, timeouts.

use super::*;
use bofuss_datapath::CacheStats;

const OPERATIONS: usize = 10_000;
/// After so many operations, all that can be asked for is compared.
const COMPARED_EVERY: usize = 13;

/// Random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % n
    }
    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
    /// Two of three times an empty text.
    fn maybe<'a>(&mut self, all: &[&'a str]) -> &'a str {
        if self.below(3) > 0 { "" } else { self.of(all) }
    }
}

fn matched(random: &mut Random) -> String {
    let kind = random.of(&["", "", "ip", "ip", "tcp", "udp", "arp", "mpls"]);
    let mut parts = vec![
        random.maybe(&["in_port=1", "in_port=2", "in_port=3"]),
        random.maybe(&["metadata=1", "metadata=0/1", "metadata=2/3"]),
        random.maybe(&["dl_src=02:00:00:00:00:01", "dl_dst=02:00:00:00:00:02"]),
        random.maybe(&["state=1", "state=0", "state=2/2"]),
        kind,
    ];
    parts.push(match kind {
        "ip" | "tcp" | "udp" => random.of(&[
            "",
            "nw_dst=10.0.0.2",
            "nw_dst=10.0.0.2/31",
            "nw_src=10.0.0.0/30",
        ]),
        "mpls" => random.of(&["", "mpls_label=5"]),
        _ => random.maybe(&["vlan_vid=0x1007", "vlan_vid=0", "vlan_vid=0x1000/0x1000"]),
    });
    parts.push(match kind {
        "tcp" => random.of(&["", "tcp_dst=80", "tcp_dst=81"]),
        "udp" => random.of(&["", "udp_dst=80"]),
        _ => "",
    });
    parts.retain(|part| !part.is_empty());
    parts.iter().map(|part| format!("{part},")).collect()
}

fn actions(random: &mut Random, table: u64, matched: &str) -> String {
    let mut parts = Vec::new();
    let has = |kind: &str| matched.split(',').any(|one| one == kind);
    for _ in 0..random.below(4) {
        parts.push(match random.below(14) {
            0 | 1 if has("ip") || has("tcp") => "dec_ttl",
            0..4 => random.of(&["output:1", "output:2", "output:3", "output:4"]),
            4 => random.of(&["push_vlan:0x8100", "push_mpls:0x8847"]),
            5 if matched.contains("vlan_vid=0x1") => {
                random.of(&["pop_vlan", "set_field:3->vlan_pcp"])
            }
            6 if has("mpls") => random.of(&["pop_mpls:0x0800", "set_field:6->mpls_label"]),
            7 if has("tcp") => "set_field:81->tcp_dst",
            8 if has("ip") || has("tcp") => random.of(&[
                "set_field:10.0.0.3->nw_dst",
                "dec_ttl",
                "set_field:10.0.0.1->nw_src",
            ]),
            9 => random.of(&["controller", "normal", "all", "in_port"]),
            10 => random.of(&["group:1", "group:2", "group:3"]),
            11 => random.maybe(&[
                "set_state(state=1,idle_timeout=1)",
                "set_state(state=2,idle_timeout=0)",
                "set_state(state=0,idle_timeout=0)",
            ]),
            12 => "set_field:02:00:00:00:00:02->dl_dst",
            _ => random.of(&["set_queue:1", "copy_ttl_out"]),
        });
    }
    parts.push(random.maybe(&["clear_actions"]));
    parts.push(random.maybe(&[
        "write_actions(output:3)",
        "write_actions(output:4,group:1)",
        "write_actions(dec_ttl,output:2)",
    ]));
    parts.push(random.maybe(&[
        "write_metadata:1",
        "write_metadata:2/2",
        "write_metadata:0/1",
    ]));
    let next = format!("goto_table:{}", table + 1 + random.below(2));
    if table < 2 && random.below(3) > 0 {
        parts.push(&next);
    }
    parts.retain(|part| !part.is_empty());
    match parts.is_empty() {
        true => "drop".into(),
        false => parts.join(","),
    }
}

fn flow_line(random: &mut Random) -> String {
    let command = random.of(&[
        "add",
        "add",
        "add",
        "add",
        "add",
        "modify",
        "modify_strict",
        "delete",
        "delete_strict",
    ]);
    let (table, fields) = (random.below(4), matched(random));
    let mut text = format!(
        "flow {command} table={table},priority={},{fields}",
        random.below(4)
    );
    let delete = command.starts_with("delete");
    if command == "add" {
        text += &format!("cookie={},", random.below(4));
        text += random.maybe(&[
            "idle_timeout=1,",
            "hard_timeout=2,",
            "idle_timeout=2,hard_timeout=3,",
        ]);
        text += random.maybe(&["check_overlap,"]);
    } else {
        text += random.maybe(&["cookie=1/1,", "cookie=2/3,"]);
    }
    text += if delete {
        ""
    } else {
        random.maybe(&["send_flow_rem,", "send_flow_rem,reset_counts,"])
    };
    text += if delete {
        random.maybe(&["out_port=2,", "out_group=1,"])
    } else {
        ""
    };
    match delete {
        true => text.trim_end_matches(',').into(),
        false => text + "actions=" + &actions(random, table, &fields),
    }
}

fn send_line(random: &mut Random) -> String {
    let tag = random.maybe(&[
        "vlan 7 ",
        "vlan 8 ",
        "mpls 5 ",
        "vlan 7 mpls 5 ",
        "ttl 1 ",
        "ttl 1 ",
    ]);
    let (from, to) = (random.below(3) + 1, random.below(3) + 1);
    let kind = random.of(&["tcp", "tcp", "udp", "arp", "raw"]);
    let port = match kind {
        "tcp" | "udp" => random.of(&[" 80", " 81"]),
        _ => "",
    };
    format!("send {} {tag}{kind} {from} {to}{port}", random.below(3) + 1)
}

fn line(random: &mut Random) -> String {
    match random.below(100) {
        0..12 => flow_line(random),
        12..88 => send_line(random),
        88..93 => format!("advance {}", random.of(&["1", "400", "1000", "1500"])),
        93..95 => format!(
            "link {} {}",
            random.below(4) + 1,
            random.of(&["up", "up", "down"])
        ),
        95 => format!(
            "port-mod {} {}",
            random.below(4) + 1,
            random.of(&["none", "none", "NO_FWD", "NO_PACKET_IN"])
        ),
        96..98 => {
            let (command, id) = (random.of(&["add", "modify", "add"]), random.below(3) + 1);
            let buckets = random.of(&[
                "type=all,bucket=output:2,bucket=set_field:02:00:00:00:00:07->dl_dst,output:3",
                "type=select,bucket=weight:1,output:2,bucket=weight:2,output:3",
                "type=ff,bucket=watch_port:2,output:2,bucket=watch_port:3,output:3",
                "type=indirect,bucket=controller",
            ]);
            format!("group {command} group_id={id},{buckets}")
        }
        98 => format!("group delete group_id={}", random.below(3) + 1),
        _ => format!("packet-out {} output:table tcp 1 2 80", random.below(3) + 1),
    }
}

/// One engine, and how it is made to take its rare ways.
fn stage(engine: Engine, cache_flows: u32, cache_changes: u32) -> Stage {
    let config = Config {
        n_tables: 4,
        engine,
        cache_flows,
        cache_changes,
        ..Config::default()
    };
    let mut stage = Stage::new(4, config, "", FailMode::Secure);
    stage.speaks(ConnId(1), Version::V1_3);
    stage
        .switch
        .connected(Time(0), ConnId(1), Version::V1_3, true);
    stage
}

/// Everything that the switch counts.
fn counters(stage: &mut Stage) -> Vec<String> {
    stage.face.0.clear();
    for question in ["entries", "aggregate", "ask group-stats", "ask tables"] {
        stage.play(question);
    }
    let mut lines = core::mem::take(&mut stage.face.0);
    lines.sort();
    let datapath = stage.switch.datapath();
    let tables = datapath.tables().iter();
    lines.extend(tables.map(|t| format!("{} {} {}", t.len(), t.lookup_count, t.matched_count)));
    lines.extend(
        datapath
            .ports()
            .values()
            .map(|port| format!("{:?}", port.stats)),
    );
    lines.extend(datapath.drops().map(|drop| format!("{drop:?}")));
    lines
}

// I14
/// Goes through random operations, those of an extension with states among them or not; what the
/// three caches did.
fn compare_all(states: bool, seed: u64) -> [CacheStats; 3] {
    let mut stages = [
        stage(Engine::Reference, 0, 0),
        stage(Engine::Tables, 0, 0),
        stage(Engine::Cache, 1 << 20, 64),
        stage(Engine::Cache, 6, 1),
        stage(Engine::Cache, 1 << 20, 2),
    ];
    let (mut random, mut history) = (Random(seed), Vec::new());
    for number in 0..OPERATIONS {
        let line = line(&mut random);
        if line.contains("state=") && !states {
            continue;
        }
        history.push(line.clone());
        let mut said = stages.iter_mut().map(|stage| {
            stage.face.0.clear();
            stage.play(&line);
            let mut lines = core::mem::take(&mut stage.face.0);
            if !line.starts_with("send") && !line.starts_with("packet-out") {
                lines.sort();
            }
            if number % COMPARED_EVERY == 0 {
                lines.extend(counters(stage));
            }
            lines
        });
        let first = said.next().unwrap();
        for (i, other) in said.enumerate() {
            let recent = history[history.len().saturating_sub(40)..].join("\n");
            assert_eq!(first, other, "engine {} after\n{recent}", i + 1);
        }
    }
    let [_, _, plenty, tiny, two] = stages.map(|stage| stage.switch.datapath().cache_stats());
    println!("{plenty:?}\n{tiny:?}\n{two:?}");
    [plenty, tiny, two]
}

fn least(is: u64, least: u64, what: &str) {
    assert!(is >= least, "only {is} {what}");
}

#[test]
fn all_engines_do_the_same() {
    let [plenty, tiny, two] = compare_all(false, 3);
    least(plenty.hits, 2000, "hits");
    least(plenty.confirmed, 300, "flows confirmed");
    least(plenty.refuted, 300, "flows refuted");
    least(plenty.continued, 100, "ways continued");
    least(plenty.cut_short, 5, "packets that ended early");
    least(plenty.widened, 5, "wider keys");
    least(tiny.overrun, 100, "flows overrun");
    least(tiny.evicted, 300, "flows evicted");
    least(two.overrun, 300, "flows overrun");
    least(two.confirmed, 100, "flows confirmed");
}

#[test]
fn all_engines_do_the_same_with_the_states_of_an_extension() {
    let [plenty, ..] = compare_all(true, 4);
    least(plenty.hits, 1000, "hits");
    least(plenty.continued, 1000, "ways continued");
}
