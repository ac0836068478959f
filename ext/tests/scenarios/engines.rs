//! Random scenarios have the same effects by the plain scan, by hash tables and by the cache:
//! frames, messages, counters, timeouts.

use super::*;
use bofuss_datapath::{DropReason, PortVlans, Table, VlanMode};
use bofuss_fastpath::CacheStats;
use bofuss_oflib::types::TableId;

const OPERATIONS: usize = 10_000;
/// Operations of the run with egress tables, packet registers and the output of the action set.
const EGRESS_OPERATIONS: usize = 3_000;
/// Counters are compared after this many operations.
const COMPARED_EVERY: usize = 13;
/// One switch is reconfigured after this many operations.
const BECOMES_EVERY: usize = 101;
/// The egress tables change after this many operations.
const STAGES_EVERY: usize = 307;

/// The effects that have to happen, and how often at least.
const EFFECTS: [(&str, u64); 5] = [
    ("out ", 1000),
    (" packet-in ", 40),
    (" flow-removed ", 20),
    (" error ", 100),
    (" port-status ", 50),
];

/// Pseudo-random numbers, the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % n
    }
    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
    /// One of these texts, or with a probability of two thirds none.
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
        random.maybe(&["flow_state=1", "flow_state=0", "flow_state=2/2"]),
        kind,
    ];
    parts.push(match kind {
        "ip" | "tcp" | "udp" => random.of(&[
            "",
            "ip_dscp=12",
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
    // Each table has a meter of its own: the order in which two tables use one is not defined.
    let meter = format!("meter:{}", table + 1);
    let mut parts = vec![random.maybe(&["", &meter])];
    let has = |kind: &str| matched.split(',').any(|one| one == kind);
    for _ in 0..random.below(4) {
        parts.push(match random.below(15) {
            0..3 if has("ip") || has("tcp") => "dec_ttl",
            0..5 => random.of(&["output:1", "output:2", "output:3", "output:4"]),
            5 => random.of(&["push_vlan:0x8100", "push_mpls:0x8847"]),
            6 if matched.contains("vlan_vid=0x1") => {
                random.of(&["pop_vlan", "set_field:3->vlan_pcp"])
            }
            7 if has("mpls") => random.of(&["pop_mpls:0x0800", "set_field:6->mpls_label"]),
            8 if has("tcp") => "set_field:81->tcp_dst",
            9 if has("ip") || has("tcp") => random.of(&[
                "set_field:10.0.0.3->nw_dst",
                "dec_ttl",
                "set_field:10.0.0.1->nw_src",
                "set_field:0.0.0.2/0.0.0.2->nw_dst",
                "move:nw_src[]->nw_dst[]",
                "move:nw_src[0..1]->metadata[0..1]",
                "move:metadata[0..1]->nw_dst[0..1]",
            ]),
            10 => random.of(&["controller", "controller", "normal", "all", "in_port"]),
            11 => random.of(&["group:1", "group:2", "group:3"]),
            12 => random.of(&[
                "",
                "set_flow_state(state=1,idle_timeout=1)",
                "set_flow_state(state=2,idle_timeout=0)",
                "set_flow_state(state=0,idle_timeout=0)",
            ]),
            13 => "set_field:02:00:00:00:00:02->dl_dst",
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
    if parts.is_empty() {
        "drop".into()
    } else {
        parts.join(",")
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
    if delete {
        text.trim_end_matches(',').into()
    } else {
        text + "actions=" + &actions(random, table, &fields)
    }
}

fn send_line(random: &mut Random) -> String {
    let super_frame = random.below(6) == 0;
    let tag = random.maybe(&[
        "vlan 7 ",
        "vlan 8 ",
        "mpls 5 ",
        "vlan 7 mpls 5 ",
        "ttl 1 ",
        "ttl 1 ",
    ]);
    let (from, mut to) = (random.below(3) + 1, random.below(3) + 1);
    let mut kind = random.of(&["tcp", "tcp", "udp", "arp", "raw"]);
    let (mut before, mut length) = (String::new(), String::new());
    if super_frame {
        (kind, to) = (random.of(&["tcp", "udp"]), from % 3 + 1);
        // TCP segments cannot be as short as UDP's.
        let scale = if kind == "tcp" { 3 } else { 1 };
        before = format!(
            "gso {} ",
            scale * random.of(&["20", "30"]).parse::<u64>().unwrap()
        );
        let remarkable = random.below(3) == 0 && !tag.contains("mpls");
        before += if remarkable { "dscp 10 " } else { "" };
        length = format!("bytes {} ", scale * (random.below(80) + 31));
    }
    let port = match kind {
        "tcp" | "udp" => random.of(&[" 80", " 81"]),
        _ => "",
    };
    let ingress = random.below(3) + 1;
    format!("send {ingress} {before}{tag}{length}{kind} {from} {to}{port}")
}

fn meter_line(random: &mut Random) -> String {
    let (id, command) = (random.below(4) + 1, random.of(&["add", "modify", "add"]));
    let bands = random.of(&[
        "pktps,burst,bands=type=drop,rate=2,burst_size=20",
        "pktps,bands=type=drop,rate=3",
        "kbps,burst,bands=type=drop,rate=4,burst_size=10",
        "pktps,burst,bands=type=dscp_remark,prec_level=1,rate=2,burst_size=3",
        "pktps,burst,stats,bands=type=dscp_remark,prec_level=1,rate=1,burst_size=2,\
         type=drop,rate=9,burst_size=5",
    ]);
    match random.below(16) {
        0 => format!("meter delete meter={id}"),
        1 => format!("meter {command} meter=CONTROLLER,{bands}"),
        2 => "meter delete meter=CONTROLLER".into(),
        _ => format!("meter {command} meter={id},{bands}"),
    }
}

pub fn line(random: &mut Random) -> String {
    match random.below(104) {
        0..15 => flow_line(random),
        15..89 => send_line(random),
        89..92 => format!("advance {}", random.of(&["1", "400", "1000", "1500"])),
        92..95 => format!(
            "link {} {}",
            random.below(4) + 1,
            random.of(&["up", "up", "up", "up", "down"])
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
        100..103 => meter_line(random),
        103 => format!("unplug {}", random.below(4) + 1),
        98 => format!("group delete group_id={}", random.below(3) + 1),
        _ => format!("packet-out {} output:table tcp 1 2 80", random.below(3) + 1),
    }
}

fn vlans(mode: VlanMode, tag: u16, trunks: &[u16]) -> PortVlans {
    let trunks = trunks.iter().copied().collect();
    PortVlans { mode, tag, trunks }
}

/// A switch with an engine. A small cache, or few changes that it can list, force rare paths.
pub fn stage(engine: Engine, cache_flows: u32, cache_changes: u32) -> Stage {
    let config = Config {
        n_tables: 4,
        engine,
        cache_flows,
        cache_changes,
        port_vlans: [
            (PortNo(1), vlans(VlanMode::Access, 7, &[])),
            (PortNo(2), vlans(VlanMode::NativeUntagged, 8, &[7])),
            (PortNo(4), vlans(VlanMode::NativeTagged, 7, &[0, 8])),
        ]
        .into(),
        ..Config::default()
    };
    let mut stage = Stage::new(
        (4, PortFeatures(0)),
        config,
        "",
        FailMode::Secure,
        bofuss_ext::catalogue(),
    );
    let all = OffloadCapabilities {
        checksum: true,
        tcp: true,
        udp: true,
        vlan_tags: 1,
    };
    stage.capabilities.insert(PortNo(3), all);
    stage.port(PortNo(3), PortState(0), 0);
    stage.speaks(ConnId(1), Version::V1_3);
    stage
        .switch
        .connected(Time(0), ConnId(1), Version::V1_3, true);
    stage
}

/// Adds packet registers and the output of the action set to some of what an entry reads and does.
fn with_pipeline_fields(random: &mut Random, line: &str) -> String {
    let fields = random.maybe(&[
        "xreg0=1,",
        "xreg0=0,",
        "xreg7=2/6,",
        "actset_output=2,",
        "actset_output=3,",
        "actset_output=UNSET,",
    ]);
    let actions = random.maybe(&[
        "set_field:1->xreg0,",
        "set_field:2/2->xreg7,",
        "move:metadata[0..1]->xreg0[0..1],",
        "move:xreg7[1..2]->metadata[0..1],",
        "move:actset_output[0..2]->xreg7[0..2],",
    ]);
    let line = line.replace("priority=", &format!("{fields}priority="));
    if line.contains("actions=drop") {
        return line;
    }
    line.replace("actions=", &format!("actions={actions}"))
}

/// A line that makes table 2 or 3 the first egress table, or none.
fn stages_line(random: &mut Random) -> String {
    let request = random.of(&[
        "2 only= command=1 features=0x13",
        "3 only= command=1 features=0x13",
        "2 only= command=1 features=3 | 3 only= command=1 features=3",
    ]);
    format!("reshape {request}")
}

/// Everything that the switch counts, except drops.
pub fn counters(stage: &mut Stage) -> Vec<String> {
    stage.io.effects.clear();
    let settled = stage.switch.settled();
    let tables = settled.datapath().tables()[..4].iter().zip(0..);
    let count =
        |(t, n): (&Table, u8)| format!("{} {:?}", t.len(), settled.table_counts(TableId(n)));
    let counts: Vec<_> = tables.map(count).collect();
    for question in ["entries", "aggregate", "ask group-stats", "ask meter-stats"] {
        stage.play(question);
    }
    let mut lines = core::mem::take(&mut stage.io.effects);
    lines.sort();
    lines.extend(counts);
    let ports = stage.switch.datapath().ports().values();
    lines.extend(ports.map(|port| format!("{:?}", port.stats)));
    lines
}

// I14
/// Plays random operations, with or without those of an extension with states. Returns the
/// statistics of three caches.
fn compare_all(states: bool, egress: bool, seed: u64) -> [CacheStats; 3] {
    let mut stages = [
        stage(Engine::Reference, 0, 0),
        stage(Engine::Tables, 0, 0),
        stage(Engine::Cache, 1 << 20, 64),
        stage(Engine::Cache, 64, 1),
        stage(Engine::Cache, 1 << 20, 2),
        // This one is reconfigured while it runs: another engine, one table more or less.
        stage(Engine::Cache, 1 << 20, 64),
    ];
    if egress {
        for stage in &mut stages {
            stage.play("connect 2 1.5");
        }
    }
    let operations = if egress {
        EGRESS_OPERATIONS
    } else {
        OPERATIONS
    };
    let (mut random, mut history) = (Random(seed), Vec::new());
    let mut effects = EFFECTS.map(|(kind, _)| (kind, 0));
    for number in 0..operations {
        let mut line = line(&mut random);
        if line.contains("state=") && !states {
            continue;
        }
        if egress && line.starts_with("flow ") {
            line = with_pipeline_fields(&mut random, &line);
        }
        history.push(line.clone());
        if number % BECOMES_EVERY == 0 {
            let (engine, tables) = (
                random.of(&["reference", "tables", "cache"]),
                random.of(&["4", "5"]),
            );
            stages[5].play(&format!("reconfigure datapath={engine} tables={tables}"));
        }
        if egress && number % STAGES_EVERY == 0 {
            let line = stages_line(&mut random);
            history.push(line.clone());
            for stage in &mut stages {
                for line in ["as 2", &line, "as 1"] {
                    stage.play(line);
                }
                for table in [2, 3] {
                    stage.play(&format!("flow add table={table},priority=0,actions="));
                }
            }
        }
        let mut said = stages.iter_mut().map(|stage| {
            stage.io.effects.clear();
            stage.play(&line);
            let mut lines = core::mem::take(&mut stage.io.effects);
            if !line.starts_with("send") && !line.starts_with("packet-out") {
                lines.sort();
            }
            if number % COMPARED_EVERY == 0 {
                lines.extend(counters(stage));
                let drops = stage.switch.datapath().lane().drops();
                lines.extend(drops.map(|drop| format!("{drop:?}")));
            }
            lines
        });
        let first = said.next().unwrap();
        for (kind, count) in &mut effects {
            *count += first.iter().filter(|line| line.contains(*kind)).count() as u64;
        }
        for (i, other) in said.enumerate() {
            let recent = history[history.len().saturating_sub(40)..].join("\n");
            assert_eq!(first, other, "engine {} after\n{recent}", i + 1);
        }
    }
    if egress {
        least(effects[0].1, 500, effects[0].0);
        return [2, 3, 4].map(|number| stages[number].switch.datapath().lane().engine.stats());
    }
    for (wanted, count, what) in [
        (DropReason::Meter, 50, "packets metered"),
        (DropReason::Vlan, 5, "packets of other VLANs"),
    ] {
        let mut drops = stages[0].switch.datapath().lane().drops();
        let dropped = drops.find(|(reason, _)| *reason == wanted);
        least(dropped.map_or(0, |(_, count)| count), count, what);
    }
    let [_, _, plenty, one, two, _] =
        stages.map(|stage| stage.switch.datapath().lane().engine.stats());
    println!("{effects:?}\n{plenty:?}\n{one:?}\n{two:?}");
    for ((kind, count), (_, wanted)) in effects.into_iter().zip(EFFECTS) {
        least(count, wanted, kind);
    }
    [plenty, one, two]
}

fn least(is: u64, least: u64, what: &str) {
    assert!(is >= least, "only {is} {what}");
}

#[test]
fn all_engines_do_the_same() {
    let [plenty, one, two] = compare_all(false, false, 3);
    least(plenty.hits, 1500, "hits");
    least(plenty.confirmed, 1000, "flows confirmed");
    least(plenty.refuted, 300, "flows refuted");
    least(plenty.continued, 30, "paths continued");
    least(plenty.cut_short, 20, "packets that ended early");
    least(plenty.widened, 5, "wider keys");
    least(one.overrun, 500, "flows overrun by one change");
    least(one.confirmed, 80, "flows confirmed after one change");
    least(one.refuted, 2, "flows refuted after one change");
    least(one.evicted, 1000, "flows evicted");
    least(one.refused, 300, "flows refused");
    least(two.overrun, 1000, "flows overrun by two changes");
    least(two.confirmed, 150, "flows confirmed after two changes");
    least(two.refuted, 5, "flows refuted after two changes");
}

#[test]
fn all_engines_do_the_same_with_the_states_of_an_extension() {
    let [plenty, ..] = compare_all(true, false, 4);
    least(plenty.hits, 1500, "hits");
    least(plenty.refuted, 200, "flows refuted");
    least(plenty.continued, 300, "paths continued");
}

#[test]
fn all_engines_do_the_same_with_egress_tables() {
    let [plenty, ..] = compare_all(false, true, 5);
    least(plenty.hits, 500, "hits");
}
