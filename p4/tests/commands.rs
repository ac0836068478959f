//! Commands as bmv2's command line has them.

use std::fs;

use bofuss_p4::{Commands, MeterConfig, Named, Program, Replica, Sent, Sink, Switch};

/// The steps of a trace.
#[derive(Default)]
struct Steps(Vec<String>);

impl Sink for Steps {
    fn transmit(&mut self, _sent: Sent) {}

    fn traces(&self) -> bool {
        true
    }

    fn step(&mut self, _depth: usize, text: String) {
        self.0.push(text);
    }
}

/// A switch, and commands for it.
struct Console {
    switch: Switch,
    commands: Commands,
}

impl Console {
    /// One with the program `controlled`.
    fn new() -> Self {
        let root = env!("CARGO_MANIFEST_DIR");
        let file = format!("{root}/../testdata/p4/controlled/controlled.json");
        let json = fs::read(file).expect("the file is there");
        let program = Program::load(&json).expect("p4c wrote it");
        Self {
            switch: Switch::new(program, 0),
            commands: Commands::default(),
        }
    }

    /// What a command says.
    fn says(&mut self, line: &str) -> String {
        let said = self.commands.run(&mut self.switch, line, 0);
        said.unwrap_or_else(|why| panic!("{line}: {why}"))
    }

    /// The ports at which the clones of a frame leave in session 8, by an entry for it.
    fn clones(&mut self) -> Vec<u32> {
        let mut sent: Vec<Sent> = Vec::new();
        let frame = [1, 5, 0, 0, 0, 0, 0, 0];
        self.switch.receive(0, &frame, 0, &mut sent);
        let ports = sent.iter().map(|sent| sent.port);
        // The frame itself leaves at port 1.
        let mut clones: Vec<u32> = ports.filter(|port| *port != 1).collect();
        clones.sort_unstable();
        clones
    }

    /// The port at which a frame leaves, if it does.
    fn leaves(&mut self, frame: [u8; 4]) -> Option<u32> {
        let mut sent: Vec<Sent> = Vec::new();
        let frame = [frame, [0; 4]].concat();
        self.switch.receive(0, &frame, 0, &mut sent);
        sent.first().map(|sent| sent.port)
    }
}

#[test]
fn entries_and_defaults_are_set_and_removed() {
    let mut console = Console::new();
    let frame = [1, 5, 0, 0];
    let added = console.says("table_add MyIngress.exactly MyIngress.send 5 => 3");
    assert_eq!(added, "Entry has been added with handle 0\n");
    let line = "table_add exactly send 5 => 4";
    let said = console.commands.run(&mut console.switch, line, 0);
    let there = "this entry of MyIngress.exactly is there already";
    assert_eq!(said, Err(there.to_owned()));
    assert_eq!(console.leaves(frame), Some(3));
    assert_eq!(console.says("table_modify exactly send 0 4"), "");
    assert_eq!(console.leaves(frame), Some(4));
    assert_eq!(console.says("table_delete exactly 0"), "");
    assert_eq!(console.leaves(frame), None);
    assert_eq!(console.says("table_set_default exactly send => 2"), "");
    assert_eq!(console.leaves(frame), Some(2));
    assert_eq!(console.says("table_reset_default exactly"), "");
    assert_eq!(console.leaves(frame), None);
}

#[test]
fn the_entry_of_the_lower_priority_is_preferred_as_in_bmv2() {
    let mut console = Console::new();
    console.says("table_add masked send 0x10&&&0xf0 0.0.0.0/0 => 1 20");
    console.says("table_add masked send 0x10&&&0xff 0.0.0.0/0 => 2 10");
    console.says("table_add between send 1->9 5 => 6 1");
    assert_eq!(console.leaves([3, 0, 0, 0x10]), Some(2));
    assert_eq!(console.leaves([3, 0, 0, 0x11]), Some(1));
    assert_eq!(console.leaves([4, 5, 0, 9]), Some(6));
    console.says("table_clear masked");
    assert_eq!(console.leaves([3, 0, 0, 0x10]), None);
    assert_eq!(console.leaves([4, 5, 0, 9]), Some(6));
}

#[test]
fn what_is_behind_a_number_sign_is_a_comment() {
    let mut console = Console::new();
    console.says("table_add exactly send 5 => 3 # to the server");
    assert_eq!(console.leaves([1, 5, 0, 0]), Some(3));
    console.says("table_add masked send 1 1/32 => 1 20 #the priority is 20");
    console.says("register_write kept 1 258 # it is kept");
    let line = "# table_add exactly send 6 => 3";
    let said = console.commands.run(&mut console.switch, line, 0);
    assert_eq!(said, Err("there is no command".to_owned()));
    assert_eq!(console.leaves([1, 6, 0, 0]), None);
}

#[test]
fn cells_are_read_written_and_reset() {
    let mut console = Console::new();
    console.says("register_write kept 1 258");
    let read = console.says("register_read MyIngress.kept 1");
    assert_eq!(read, "MyIngress.kept[1]= 0x102\n");
    console.says("register_reset kept");
    let read = console.says("register_read kept 1");
    assert_eq!(read, "MyIngress.kept[1]= 0x0\n");
    console.says("counter_write seen 2 3 180");
    let read = console.says("counter_read seen 2");
    assert_eq!(read, "MyIngress.seen[2]= (180 bytes, 3 packets)\n");
    console.says("counter_reset seen");
    let read = console.says("counter_read seen 2");
    assert_eq!(read, "MyIngress.seen[2]= (0 bytes, 0 packets)\n");
    console.says("meter_set_rates paced 0 0.0005:10 1:20");
    let program = console.switch.program();
    let meter = program.index(Named::Meter, "MyIngress.paced");
    let meter = meter.expect("the program has it");
    let config = MeterConfig {
        committed_rate: 500,
        committed_burst: 10,
        peak_rate: 1_000_000,
        peak_burst: 20,
    };
    assert_eq!(console.switch.externs().meter(meter, 0), Some(Some(config)));
}

#[test]
fn counters_and_meters_of_entries_are_read_and_written_by_the_numbers_of_these() {
    let mut console = Console::new();
    for entry in ["5 => 3", "6 => 4"] {
        console.says(&format!("table_add exactly send {entry}"));
    }
    for _ in 0..2 {
        assert_eq!(console.leaves([1, 6, 0, 0]), Some(4));
    }
    let read = console.says("counter_read hits 1");
    assert_eq!(read, "MyIngress.hits[1]= (16 bytes, 2 packets)\n");
    console.says("counter_write hits 0 3 180");
    let read = console.says("counter_read hits 0");
    assert_eq!(read, "MyIngress.hits[0]= (180 bytes, 3 packets)\n");
    console.says("counter_reset hits");
    for entry in 0..2 {
        let read = console.says(&format!("counter_read hits {entry}"));
        let wanted = format!("MyIngress.hits[{entry}]= (0 bytes, 0 packets)\n");
        assert_eq!(read, wanted);
    }
    console.says("table_add longest send_paced 1.2.3.4/32 => 3");
    console.says("meter_set_rates pace 0 0.0005:10 1:20");
    let program = console.switch.program();
    let table = program.index(Named::Table, "MyIngress.longest");
    let table = table.expect("the program has it");
    let entry = console.switch.entry(table, 0).expect("it was added");
    let config = entry.meter.config().expect("it has rates");
    assert_eq!((config.committed_rate, config.peak_burst), (500, 20));
}

#[test]
fn groups_and_sessions_are_made_of_nodes_and_ports() {
    let mut console = Console::new();
    let node = console.says("mc_node_create 7 1 2");
    assert_eq!(node, "node was created with handle 0\n");
    console.says("mc_mgrp_create 1");
    console.says("mc_node_associate 1 0");
    console.says("mirroring_add 5 3");
    let copy = |port, instance| Replica { port, instance };
    let replication = console.switch.replication();
    assert_eq!(replication.groups()[&1], [copy(1, 7), copy(2, 7)]);
    assert_eq!(replication.sessions()[&5].replicas, [copy(3, 0)]);
    console.says("mc_mgrp_destroy 1");
    console.says("mirroring_delete 5");
    let replication = console.switch.replication();
    assert!(replication.groups().is_empty() && replication.sessions().is_empty());
}

#[test]
fn a_session_of_a_multicast_group_goes_where_the_group_goes_at_that_moment() {
    let mut console = Console::new();
    console.says("table_add exactly clone_it 5 => 8");
    console.says("mirroring_add 8 2");
    assert_eq!(console.clones(), [2]);
    console.says("mirroring_add_mc 8 77");
    assert!(console.clones().is_empty(), "no group 77 is there");
    console.says("mc_node_create 1 2 3");
    console.says("mc_mgrp_create 77");
    console.says("mc_node_associate 77 0");
    assert_eq!(console.clones(), [2, 3]);
    console.says("mc_node_dissociate 77 0");
    assert!(console.clones().is_empty());
    console.says("mc_node_associate 77 0");
    console.says("mc_mgrp_destroy 77");
    assert!(console.clones().is_empty(), "the group is gone");
    console.says("mirroring_add 8 4");
    console.says("mc_mgrp_create 77");
    console.says("mc_node_associate 77 0");
    assert_eq!(console.clones(), [4], "the session has its own copy again");
    console.says("mirroring_delete 8");
    assert!(console.clones().is_empty());
}

#[test]
fn groups_of_an_entries_file_are_changed_by_commands_as_others() {
    let mut console = Console::new();
    let file = br#"{"multicast_group_entries": [
        {"multicast_group_id": 5, "replicas": [{"egress_port": 2, "instance": 1}]}]}"#;
    let loaded = console.switch.load_entries(file);
    loaded.expect("the file is right");
    console.says("table_add exactly clone_it 5 => 8");
    console.says("mirroring_add_mc 8 5");
    assert_eq!(console.clones(), [2]);
    let wrong = br#"{"clone_session_entries": [
        {"clone_session_id": 8, "replicas": [{"egress_port": 3}]}, {}]}"#;
    let loaded = console.switch.load_entries(wrong);
    loaded.expect_err("a session has no number");
    assert_eq!(console.clones(), [2], "the session is as before");
    console.says("mc_mgrp_create 5");
    console.says("mc_node_create 7 3 4");
    console.says("mc_node_associate 5 0");
    assert_eq!(console.clones(), [2, 3, 4]);
    console.says("mc_node_dissociate 5 0");
    assert_eq!(console.clones(), [2]);
    console.says("mc_mgrp_destroy 5");
    assert!(console.clones().is_empty());
    assert!(console.switch.replication().groups().is_empty());
}

#[test]
fn a_trace_says_to_which_group_a_session_goes() {
    let mut console = Console::new();
    console.says("table_add exactly clone_it 5 => 8");
    console.says("mirroring_add_mc 8 5");
    let groups = console.switch.replication().session_groups();
    assert_eq!(groups[&8], 5);
    let mut steps = Steps::default();
    let frame = [1, 5, 0, 0, 0, 0, 0, 0];
    console.switch.explain(0, &frame, 0, &mut steps);
    let wanted = "clone to session 8, multicast group 5";
    assert!(steps.0.iter().any(|step| step == wanted), "{:?}", steps.0);
}

#[test]
fn the_end_of_a_name_is_enough_if_no_other_name_ends_so() {
    let console = Console::new();
    let program = console.switch.program();
    let table = program.index(Named::Table, "MyIngress.exactly");
    let table = table.expect("the program has it");
    for name in ["MyIngress.exactly", "exactly", "xactly"] {
        assert_eq!(program.named(Named::Table, name), Ok(table), "{name}");
    }
    for (kind, name) in [
        (Named::Counter, "seen"),
        (Named::Meter, "paced"),
        (Named::Register, "kept"),
        (Named::Profile, "profile"),
        (Named::ValueSet, "special"),
    ] {
        program.named(kind, name).expect(name);
    }
    let none = Err("there is no register exactly".to_owned());
    assert_eq!(program.named(Named::Register, "exactly"), none);
    let several = Err("ed is the end of several names".to_owned());
    assert_eq!(program.named(Named::Table, "ed"), several);
}

#[test]
fn what_is_wrong_is_a_sentence_and_changes_nothing() {
    let mut console = Console::new();
    let before = console.switch.show_entries();
    for (line, wanted) in [
        ("", "there is no command"),
        ("table_add exactly", "it needs a table and an action"),
        ("table_add none send 1 => 1", "there is no table none"),
        ("table_add exactly none 1 => 1", "there is no action none"),
        ("table_add exactly send 1 1", "it needs a => between"),
        ("table_add exactly send => 1", "it needs a key of 1 parts"),
        ("table_add exactly send 256 => 1", "more than the 8 bits"),
        (
            "table_add exactly send 1 => 1 2",
            "has 1 parameters, and not 2",
        ),
        ("table_add masked send 1 1/32 =>", "it needs a priority"),
        ("table_add masked send 1 1/32 => 1 -1", "-1 is no priority"),
        ("table_add profiled set 1 => 1", "have members or groups"),
        (
            "table_modify exactly send 0 1",
            "entry 0 of MyIngress.exactly is not there",
        ),
        (
            "table_delete longest 7",
            "entry 7 of MyIngress.longest is not there",
        ),
        (
            "table_add fixed send 3 => 1",
            "the program fixes the entries of MyIngress.fixed",
        ),
        (
            "table_delete fixed 0",
            "the program fixes the entries of MyIngress.fixed",
        ),
        (
            "table_clear fixed",
            "the program fixes the entries of MyIngress.fixed",
        ),
        (
            "table_set_default fixed send 1",
            "the program fixes the default action of MyIngress.fixed",
        ),
        ("register_write kept 9 1", "MyIngress.kept has no index 9"),
        ("register_read kept 9", "MyIngress.kept has no index 9"),
        ("counter_write seen 0 1 -1", "-1 is not a number from 0 to"),
        ("counter_read hits 0", "MyIngress.hits has no entry 0"),
        ("counter_write hits 0 1 1", "MyIngress.hits has no entry 0"),
        ("counter_write seen 4 1 1", "MyIngress.seen has no index 4"),
        (
            "meter_set_rates pace 0 1:1 1:1",
            "MyIngress.pace has no entry 0",
        ),
        ("meter_set_rates paced 0 1:1", "it needs a meter, an index"),
        ("meter_set_rates paced 0 x:1 1:1", "x:1 is no RATE:BURST"),
        ("meter_set_rates paced 0 -1:1 1:1", "-1:1 is no RATE:BURST"),
        ("mc_node_associate 2 0", "multicast group 2 is not there"),
        ("mc_mgrp_destroy 2", "multicast group 2 is not there"),
        ("mirroring_add_mc 8 0", "group 0 means no multicast"),
        ("mc_mgrp_create 0", "group 0 means no multicast"),
        ("mirroring_add 5", "mirroring_add needs 2 numbers"),
        ("hold 1", "hold 1 is no command that changes a switch"),
        (
            "packet 1 00",
            "packet 1 00 is no command that changes a switch",
        ),
        ("fly", "fly is no command"),
    ] {
        let said = console.commands.run(&mut console.switch, line, 0);
        let why = said.expect_err(line);
        assert!(why.contains(wanted), "{line}: {why}");
    }
    assert_eq!(console.switch.show_entries(), before);
    assert!(console.switch.replication().groups().is_empty());
}
