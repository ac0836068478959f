//! What only a control plane fills: action profiles, meters, value sets, timeouts, digests.

use std::fs;

use bofuss_p4::{
    ControlError, Crc, Digest, Does, DropReason, Entry, Handle, Int, Match, MeterConfig, Named,
    Program, Sent, Sink, Switch,
};
use serde_json::{Value, json};

#[derive(Default)]
struct Outside {
    sent: Vec<Sent>,
    digests: Vec<Digest>,
    drops: Vec<DropReason>,
    steps: Vec<String>,
}

impl Sink for Outside {
    fn transmit(&mut self, sent: Sent) {
        self.sent.push(sent);
    }

    fn digest(&mut self, digest: Digest) {
        self.digests.push(digest);
    }

    fn dropped(&mut self, reason: DropReason) {
        self.drops.push(reason);
    }

    fn traces(&self) -> bool {
        true
    }

    fn step(&mut self, _depth: usize, text: String) {
        self.steps.push(text);
    }
}

fn switch(name: &str) -> Switch {
    let root = env!("CARGO_MANIFEST_DIR");
    let file = format!("{root}/../testdata/p4/{name}/{name}.json");
    let json = fs::read(file).expect("the file is there");
    Switch::new(Program::load(&json).expect("p4c wrote it"), 7)
}

fn index(switch: &Switch, kind: Named, name: &str) -> usize {
    let found = switch.program().index(kind, name);
    found.expect("the program has it")
}

fn small(value: i128) -> Int {
    Int::Small(value)
}

/// Adds an entry for 1 to the table with a direct meter. Returns table and entry.
fn add_metered(switch: &mut Switch) -> (usize, Handle) {
    let table = index(switch, Named::Table, "MyIngress.direct");
    let metered = switch.action_of(table, "MyIngress.metered");
    let does = Does::Action(metered.expect("it is there"), vec![]);
    let entry = Entry::new(vec![Match::Exact(small(1))], 0, does);
    (table, switch.insert(table, entry).expect("room"))
}

/// What the field `v` of the program has in the frame that leaves, if one does.
fn answer(switch: &mut Switch, op: u8, n: u8, now: u64) -> Option<u16> {
    let mut outside = Outside::default();
    switch.receive(0, &[op, n, 0, 0], now, &mut outside);
    let sent = outside.sent.first()?;
    Some(u16::from_be_bytes([sent.frame[2], sent.frame[3]]))
}

#[test]
fn a_member_serves_all_its_entries_and_stays_while_it_is_used() {
    let mut switch = switch("control_plane");
    let table = index(&switch, Named::Table, "MyIngress.profiled");
    let profile = index(&switch, Named::Profile, "MyIngress.profile");
    let set = switch
        .action_of(table, "MyIngress.set")
        .expect("it is there");
    let entry = |n| Entry::new(vec![Match::Exact(small(n))], 0, Does::Member(1));
    assert_eq!(switch.insert(table, entry(5)), Err(ControlError::NotFound));
    switch
        .set_member(profile, 1, (set, vec![small(0x11)]))
        .expect("room");
    let handle = switch.insert(table, entry(5)).expect("room");
    switch.insert(table, entry(6)).expect("room");
    assert_eq!(switch.insert(table, entry(5)), Err(ControlError::Exists));
    assert_eq!(answer(&mut switch, 1, 5, 0), Some(0x11));
    switch
        .set_member(profile, 1, (set, vec![small(0x12)]))
        .expect("it is there");
    assert_eq!(answer(&mut switch, 1, 6, 0), Some(0x12));
    assert_eq!(answer(&mut switch, 1, 7, 0), Some(0));
    assert_eq!(switch.delete_member(profile, 1), Err(ControlError::InUse));
    switch.delete(table, handle).expect("it is there");
    assert_eq!(answer(&mut switch, 1, 5, 0), Some(0));
    let wide = switch.set_member(profile, 2, (set, vec![small(0x1_0000)]));
    assert!(matches!(wide, Err(ControlError::Invalid(_))), "{wide:?}");
    for id in 2..9 {
        switch
            .set_member(profile, id, (set, vec![small(0)]))
            .expect("room for eight");
    }
    assert_eq!(
        switch.set_member(profile, 9, (set, vec![small(0)])),
        Err(ControlError::Full)
    );
}

#[test]
fn a_selector_spreads_packets_over_members_by_their_weights() {
    let mut switch = switch("control_plane");
    let table = index(&switch, Named::Table, "MyIngress.selected");
    let profile = index(&switch, Named::Profile, "MyIngress.choice");
    let set = switch
        .action_of(table, "MyIngress.set")
        .expect("it is there");
    for id in 0..3 {
        switch
            .set_member(profile, id, (set, vec![small(i128::from(id) + 1)]))
            .expect("room");
    }
    assert_eq!(
        switch.set_group(profile, 1, &[(9, 1)]),
        Err(ControlError::NotFound)
    );
    switch
        .set_group(profile, 1, &[(2, 1), (0, 2), (1, 1)])
        .expect("room");
    let key = vec![Match::Exact(small(2))];
    switch
        .insert(table, Entry::new(key, 0, Does::Group(1)))
        .expect("room");
    // The hash is the field itself.
    let answers: Vec<_> = (0..5).map(|n| answer(&mut switch, 2, n, 0)).collect();
    assert_eq!(answers, [1, 1, 2, 3, 1].map(Some));
    assert_eq!(switch.delete_group(profile, 1), Err(ControlError::InUse));
    assert_eq!(switch.delete_member(profile, 1), Err(ControlError::InUse));
    switch.set_group(profile, 1, &[]).expect("an empty group");
    assert_eq!(answer(&mut switch, 2, 0, 0), Some(0));
}

#[test]
fn meters_colour_packets_by_the_time_that_they_are_given() {
    let mut switch = switch("control_plane");
    let meter = index(&switch, Named::Meter, "MyIngress.m");
    let config = |burst| MeterConfig {
        committed_rate: 1,
        committed_burst: burst,
        peak_rate: 1,
        peak_burst: 2 * burst,
    };
    assert_eq!(answer(&mut switch, 3, 1, 0), Some(0));
    switch
        .externs_mut()
        .set_meter(meter, 1, Some(config(1)), 0)
        .expect("it is there");
    let colors = [0, 0, 0, 1_000_000].map(|now| answer(&mut switch, 3, 1, now));
    assert_eq!(colors, [0, 1, 2, 0].map(Some));
    assert_eq!(
        switch.externs_mut().set_meter(meter, 4, None, 0),
        Err(ControlError::NotFound)
    );
    // A direct meter counts bytes of the packets that hit its entry.
    let (table, handle) = add_metered(&mut switch);
    assert_eq!(answer(&mut switch, 4, 1, 0), Some(0));
    switch
        .set_direct_meter(table, handle, Some(config(4)), 0)
        .expect("it is there");
    let colors = [0, 0, 0].map(|now| answer(&mut switch, 4, 1, now));
    assert_eq!(colors, [0, 1, 2].map(Some));
}

#[test]
fn entries_without_packets_become_idle() {
    let mut switch = switch("control_plane");
    let (table, handle) = add_metered(&mut switch);
    let idle = |switch: &Switch, now: u64| -> Vec<Handle> {
        let idle = switch.entries(table).filter(|(_, e)| e.is_idle(now));
        idle.map(|(handle, _)| handle).collect()
    };
    assert_eq!(idle(&switch, 1 << 40).len(), 0);
    let set = switch.set_idle_timeout(table, handle, 100);
    set.expect("the table has timeouts");
    answer(&mut switch, 4, 1, 50);
    assert_eq!(idle(&switch, 149).len(), 0);
    assert_eq!(idle(&switch, 150), [handle]);
}

#[test]
fn value_sets_decide_in_the_parser_once_they_are_filled() {
    let mut switch = switch("control_plane");
    let set = index(&switch, Named::ValueSet, "MyParser.special");
    assert_eq!(answer(&mut switch, 0, 9, 0), Some(0));
    switch
        .externs_mut()
        .set_parser_value(set, &[small(9)], true)
        .expect("room");
    assert_eq!(answer(&mut switch, 0, 9, 0), None);
    assert_eq!(answer(&mut switch, 0, 8, 0), Some(0));
    let wide = switch
        .externs_mut()
        .set_parser_value(set, &[small(256)], true);
    assert!(matches!(wide, Err(ControlError::Invalid(_))), "{wide:?}");
    switch
        .externs_mut()
        .set_parser_value(set, &[small(9)], false)
        .expect("it is there");
    assert_eq!(answer(&mut switch, 0, 9, 0), Some(0));
    for value in 0..4 {
        switch
            .externs_mut()
            .set_parser_value(set, &[small(value)], true)
            .expect("room for four");
    }
    assert_eq!(
        switch
            .externs_mut()
            .set_parser_value(set, &[small(5)], true),
        Err(ControlError::Full)
    );
}

#[test]
fn digests_random_numbers_and_their_seed() {
    let mut outside = Outside::default();
    let mut switch_a = switch("control_plane");
    switch_a.receive(0, &[5, 3, 0xab, 0xcd], 0, &mut outside);
    assert_eq!(outside.digests[0].values, [small(3), small(0xabcd)]);
    let mut switch_b = switch("control_plane");
    let numbers = |switch: &mut Switch| -> Vec<_> {
        (0..50)
            .map(|n| answer(switch, 6, n, 0).expect("it leaves"))
            .collect()
    };
    let first = numbers(&mut switch_a);
    assert_eq!(first, numbers(&mut switch_b));
    assert!(first.iter().all(|number| (10..=20).contains(number)));
    assert!(first.contains(&10) && first.contains(&20), "{first:?}");
}

#[test]
fn a_custom_crc_can_be_set_and_others_not_by_width() {
    let mut switch = switch("hashes");
    let custom = switch.program().tables.len();
    assert!(custom > 0);
    let crc = Crc {
        width: 32,
        polynomial: 0x1edc_6f41,
        initial: 0xffff_ffff,
        xor_out: 0xffff_ffff,
        reflect_in: true,
        reflect_out: true,
    };
    let calculations = switch.program().index(Named::Calculation, "calc_5");
    let custom = calculations.expect("p4c numbers them");
    switch
        .externs_mut()
        .set_crc(custom, crc.clone())
        .expect("a CRC of 32 bits");
    let mut outside = Outside::default();
    let mut frame = b"\x06123456789".to_vec();
    frame.extend([0; 4]);
    switch.receive(0, &frame, 0, &mut outside);
    // CRC-32C.
    assert_eq!(outside.sent[0].frame[10..], 0xe306_9283_u32.to_be_bytes());
    let wrong = switch
        .externs_mut()
        .set_crc(custom, Crc { width: 16, ..crc });
    assert!(matches!(wrong, Err(ControlError::Invalid(_))), "{wrong:?}");
}

#[test]
fn what_the_program_fixes_is_not_changed() {
    let mut switch = switch("matches");
    let table = index(&switch, Named::Table, "MyIngress.const_t");
    let set = switch
        .action_of(table, "MyIngress.set")
        .expect("it is there");
    let entry = Entry::new(vec![Match::Any], 1, Does::Action(set, vec![small(1)]));
    assert_eq!(switch.insert(table, entry), Err(ControlError::Constant));
    let first = switch
        .entries(table)
        .next()
        .expect("the program has entries")
        .0;
    assert_eq!(
        switch.delete(table, first).err(),
        Some(ControlError::Constant)
    );
    let does = Does::Action(set, vec![small(1)]);
    assert_eq!(
        switch.set_default(table, Some(does)),
        Err(ControlError::Constant)
    );
}

#[test]
fn a_trace_has_the_states_the_near_misses_and_the_values_that_decided() {
    let mut switch = switch("matches");
    let table = index(&switch, Named::Table, "MyIngress.exact_t");
    let set = switch
        .action_of(table, "MyIngress.set")
        .expect("it is there");
    let key = vec![Match::Exact(small(1)), Match::Exact(small(0x203))];
    let entry = Entry::new(key, 0, Does::Action(set, vec![small(0x10)]));
    switch.insert(table, entry).expect("room");
    let mut outside = Outside::default();
    switch.receive(0, &[0, 1, 2, 4, 0], 0, &mut outside);
    let has = |text: &str| {
        let found = outside.steps.iter().any(|step| step.contains(text));
        assert!(found, "{text} is not in {:#?}", outside.steps);
    };
    has("parser state start");
    has("extract h (5 bytes)");
    has("is true: h.op (0x0) == 0x0");
    has("table MyIngress.exact_t: hdr.h.k=0x1 hdr.h.w=0x204 misses: MyIngress.miss()");
    has("nearest: entry 0, which wants hdr.h.w=0x203");
    has("5 bytes leave at port 1");
}

#[test]
fn runtime_files_of_the_tutorials_fill_tables_groups_and_sessions() {
    let mut switch = switch("matches");
    let file = br#"{"target": "bmv2", "table_entries": [
        {"table": "MyIngress.lpm_t", "match": {"hdr.h.w": ["0x1200", 8]},
         "action_name": "MyIngress.set", "action_params": {"v": 1}},
        {"table": "MyIngress.exact_t", "match": {"hdr.h.k": 1, "hdr.h.w": [5]},
         "action_name": "MyIngress.set", "action_params": {"v": "0x12"}},
        {"table": "MyIngress.ternary_t", "match": {"hdr.h.k": [1, 15]}, "priority": 3,
         "action_name": "MyIngress.miss", "action_params": {}},
        {"table": "MyIngress.range_t", "match": {"hdr.h.w": [5, 9], "hdr.h.k": 1}, "priority": 3,
         "action_name": "MyIngress.miss"},
        {"table": "MyIngress.lpm_t", "default_action": true,
         "action_name": "MyIngress.set", "action_params": {"v": 9}}],
      "multicast_group_entries": [
        {"multicast_group_id": 1, "replicas": [{"egress_port": 2, "instance": 1}]}],
      "clone_session_entries": [
        {"clone_session_id": 5, "replicas": [{"egress_port": 2}], "packet_length_bytes": 64}]}"#;
    switch.load_entries(file).expect("the file is right");
    let text = switch.show_entries();
    let has = |line: &str| assert!(text.contains(line), "{line} is not in {text}");
    has("table MyIngress.lpm_t (hdr.h.w: lpm)\n  0: hdr.h.w=0x1200/8 MyIngress.set(v=0x1)");
    has("default: MyIngress.set(v=0x9)");
    has("0: hdr.h.k=0x1 hdr.h.w=0x5 MyIngress.set(v=0x12)");
    has("0: hdr.h.k=0x1&&&0xf hdr.h.w=0x0&&&0x0 priority=3 MyIngress.miss()");
    has("0: hdr.h.w=0x5..0x9 hdr.h.k=0x1 priority=3 MyIngress.miss()");
    let wrong = |file: &str| {
        let mut switch = self::switch("matches");
        let error = switch
            .load_entries(file.as_bytes())
            .expect_err("the file is wrong");
        error.to_string()
    };
    assert_eq!(
        wrong(r#"{"table_entries": [{"table": "x"}]}"#),
        "/table_entries/0/table: the program has no such table"
    );
    assert_eq!(
        wrong(
            r#"{"table_entries": [{"table": "MyIngress.lpm_t", "action_name": "MyIngress.set",
            "action_params": {"v": 300}, "match": {"hdr.h.w": ["0x1200", 8]}}]}"#
        ),
        "/table_entries/0: 0x12c has more than the 8 bits of v"
    );
    for (file, wanted) in [
        (
            r#"{"tables": []}"#,
            "/tables: is no key here; there are target, p4info",
        ),
        (
            r#"{"table_entries": [{"table": "MyIngress.lpm_t", "prioriy": 1}]}"#,
            "/table_entries/0/prioriy: is no key here; there are table, match",
        ),
        (
            r#"{"table_entries": [{"table": "MyIngress.lpm_t", "action_name": "MyIngress.miss",
                "match": {"hdr.h.w": ["0x1200", 17]}}]}"#,
            "/table_entries/0: hdr.h.w: 17 is more than its 16 bits",
        ),
        (
            r#"{"table_entries": [{"table": "MyIngress.ternary_t",
                "action_name": "MyIngress.miss"}]}"#,
            "/table_entries/0: has no priority, which entries of this table need",
        ),
        (
            r#"{"table_entries": [{"table": "MyIngress.exact_t", "action_name": "MyIngress.miss",
                "match": {"hdr.h.k": -1}}]}"#,
            "/hdr.h.k: is neither a whole number from 0 on nor a text with a number",
        ),
        (
            r#"{"table_entries": [{"table": "MyIngress.exact_t", "action_name": "MyIngress.miss",
                "match": {"hdr.h.k": 1.5}}]}"#,
            "/hdr.h.k: is neither a whole number from 0 on nor a text with a number",
        ),
        (
            r#"{"clone_session_entries": [{"clone_session_id": 1,
                "replicas": [{"egress_port": 512}]}]}"#,
            "/clone_session_entries/0: port 512: its number has 9 bits",
        ),
        (
            r#"{"multicast_group_entries": [{"multicast_group_id": 65536, "replicas": []}]}"#,
            "/multicast_group_entries/0: group 65536: its number has 16 bits",
        ),
        (
            r#"{"multicast_group_entries": [{"multicast_group_id": 1,
                "replicas": [{"port": 1}]}]}"#,
            "/replicas/0/port: is no key here; there are egress_port, instance",
        ),
        (
            r#"{"table_entries": [{"table": "MyIngress.lpm_t", "action_name": "MyIngress.miss",
                "match": {"hdr.h.w": ["0x1200", 8], "hdr.h.w": ["0x1300", 8]}}]}"#,
            "/table_entries/0/match/hdr.h.w: is there twice",
        ),
    ] {
        let said = wrong(file);
        assert!(said.contains(wanted), "{said}");
    }
}

#[test]
fn a_runtime_file_that_is_wrong_in_the_end_changes_nothing() {
    let mut switch = switch("matches");
    let right = br#"{"table_entries": [
        {"table": "MyIngress.lpm_t", "match": {"hdr.h.w": ["0x1200", 8]},
         "action_name": "MyIngress.set", "action_params": {"v": 1}}],
      "multicast_group_entries": [{"multicast_group_id": 1, "replicas": [{"egress_port": 2}]}],
      "clone_session_entries": [{"clone_session_id": 5, "replicas": [{"egress_port": 2}]}]}"#;
    switch.load_entries(right).expect("the file is right");
    let told = |switch: &Switch| {
        let (groups, sessions) = (
            switch.replication().groups(),
            switch.replication().sessions(),
        );
        let groups = format!("{groups:?} {sessions:?}");
        let handles: Vec<_> = switch.entries(0).map(|(handle, _)| handle).collect();
        (switch.show_entries(), groups, handles)
    };
    let before = told(&switch);
    let entry = |word: &str| {
        json!({"table": "MyIngress.lpm_t", "match": {"hdr.h.w": [word, 8]},
            "action_name": "MyIngress.set", "action_params": {"v": 2}})
    };
    let default = json!({"table": "MyIngress.lpm_t", "default_action": true,
        "action_name": "MyIngress.set", "action_params": {"v": 9}});
    let group =
        |id: u32, port: u32| json!({"multicast_group_id": id, "replicas": [{"egress_port": port}]});
    let session =
        |id: u32, port: u32| json!({"clone_session_id": id, "replicas": [{"egress_port": port}]});
    let mut file = json!({"table_entries": [default, entry("0x1300"), entry("0x1400")],
        "multicast_group_entries": [group(1, 3), group(2, 3)],
        "clone_session_entries": [session(5, 3), session(6, 3), session(7, 512)]});
    let wrong = switch.load_entries(file.to_string().as_bytes());
    let error = wrong.expect_err("there is no port 512");
    assert_eq!(error.place, "/clone_session_entries/2");
    assert_eq!(told(&switch), before);
    // The entry that is there is met last.
    file["table_entries"][2] = entry("0x1200");
    let wrong = switch.load_entries(file.to_string().as_bytes());
    assert_eq!(wrong.expect_err("it is there").place, "/table_entries/2");
    assert_eq!(told(&switch), before);
    file["table_entries"][2] = entry("0x1400");
    file["clone_session_entries"][2] = session(5, 4);
    let wrong = switch.load_entries(file.to_string().as_bytes());
    let error = wrong.expect_err("the first session has that number");
    assert_eq!(error.place, "/clone_session_entries/2/clone_session_id");
    file["table_entries"][1]["priority"] = 7.into();
    let wrong = switch.load_entries(file.to_string().as_bytes());
    let error = wrong.expect_err("the longest prefix is the first");
    assert_eq!(error.place, "/table_entries/1/priority");
    assert_eq!(told(&switch), before);
    file["table_entries"][1]["priority"] = 0.into();
    file["clone_session_entries"][2] = session(7, 4);
    let loaded = switch.load_entries(file.to_string().as_bytes());
    loaded.expect("now it is right");
    let table = switch.program().index(Named::Table, "MyIngress.lpm_t");
    assert_eq!(switch.entry_count(table.expect("it is there")), 3);
}

#[test]
fn long_expressions_and_values_are_cut_in_a_trace() {
    let root = env!("CARGO_MANIFEST_DIR");
    let file = format!("{root}/../testdata/p4/matches/matches.json");
    let json = fs::read(file).expect("the file is there");
    let mut json: Value = serde_json::from_slice(&json).expect("p4c wrote it");
    let condition = &mut json["pipelines"][0]["conditionals"][0]["expression"]["value"];
    for _ in 0..12 {
        let half = condition["right"].take();
        let sum = json!({"op": "+", "left": half, "right": half});
        condition["right"] = json!({"type": "expression", "value": sum});
    }
    let program = Program::load(json.to_string().as_bytes()).expect("it is right");
    let mut outside = Outside::default();
    Switch::new(program, 7).receive(0, &[0, 1, 2, 3, 0], 0, &mut outside);
    let steps = outside.steps;
    let cut = steps.iter().find(|step| step.contains("is true: h.op"));
    assert!(cut.is_some_and(|step| step.ends_with("...")), "{steps:?}");
    assert!(steps.iter().all(|step| step.len() <= 603), "{steps:?}");
}
