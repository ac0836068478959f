//! Packets that are rewritten before an action: it reads the entry that the lookup has found, and
//! changes the entry of the packet as it then is.

use bofuss_datapath::Engine;
use bofuss_oflib::message::PacketOut;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::text::{parse_actions, parse_group};
use bofuss_oflib::types::BufferId;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Match, Message, PortNo};

use crate::bench::{Bench, udp};
use crate::conformance::{DIALECTS, Dialect, enable, extractor, flow_state};
use crate::opp::{flows, opp, variable};

/// OXM headers.
const ETH_SRC: u32 = 0x8000_0806;
const IPV4_SRC: u32 = 0x8000_1604;
const UDP_SRC: u32 = 0x8000_1e02;

/// The key of what host `host` sends from port 1000, in {ipv4_src, udp_src}.
fn endpoint(host: u8) -> [u8; 6] {
    [10, 0, 0, host, 0xe8, 0x03]
}

/// Address and port of the sender of each frame that left.
fn senders(bench: &Bench) -> Vec<([u8; 4], u16)> {
    let frames = bench.io.out.iter().map(|(_, bytes)| {
        let address = bytes[26..30].try_into().expect("it is 4 bytes");
        (address, u16::from_be_bytes([bytes[34], bytes[35]]))
    });
    frames.collect()
}

/// A switch that gives the hosts 1 to 99 the public ports from 10,000 on.
fn translator(engine: Engine) -> Bench {
    let mut bench = opp(engine, 0, &[IPV4_SRC, UDP_SRC]);
    for host in 1..100 {
        bench.state_mod(
            10,
            &variable(0, 0, &endpoint(host), 10_000 + u32::from(host)),
        );
        bench.state_mod(3, &flow_state(0, &endpoint(host), 20_000 + u32::from(host)));
    }
    assert_eq!(bench.error(), None);
    bench
}

/// Sends a packet of each host twice. Panics: it leaves with another sender than the public address
/// and the host's port, which are from `first` on.
fn assert_translated(bench: &mut Bench, first: u16, why: &str) {
    for host in (1..100).chain(1..100) {
        let count = bench.send(1, &udp(host, 2, 80)).len();
        assert!(count > 0, "{why}: host {host}");
        let public = ([192, 0, 2, 1], first + u16::from(host));
        assert_eq!(senders(bench), vec![public; count], "{why}: host {host}");
    }
}

#[test]
fn context_is_that_of_the_lookup_after_the_packet_was_rewritten() {
    const PUBLIC: &str = "set_field:192.0.2.1->ip_src";
    for (name, engine) in Engine::ALL {
        for (source, first) in [("fd0", 10_000), ("state", 20_000)] {
            let write = format!("write_context_to_field(source={source},fields=udp_src)");
            for actions in [
                format!("{PUBLIC},{write},output:2"),
                format!("{PUBLIC},write_actions({write},output:2)"),
                // Each rewrites what makes the key: the second reads what the first has found.
                format!("set_field:7->udp_src,{write},{PUBLIC},{write},output:2"),
                // The copy that leaves first is not changed; the variable is read after it.
                format!("{PUBLIC},{write},output:2,set_field:9->udp_src,{write},output:3"),
            ] {
                let mut bench = translator(engine);
                bench.flow(&format!("udp,actions={actions}"));
                assert_translated(&mut bench, first, &format!("{name}: {actions}"));
            }
        }
    }
}

/// Sends a message as bytes.
fn tell(bench: &mut Bench, message: &Message) {
    let mut bytes = vec![];
    let encoded = bench.codec.encode(9, message, &mut bytes);
    encoded.expect("it is short enough");
    bench.say(bytes[1], &bytes[8..]);
    assert_eq!(bench.error(), None, "{message:?}");
}

fn add_group(bench: &mut Bench, text: &str) {
    let group = parse_group(text, GroupModCommand::ADD, &bench.codec.catalogue);
    tell(bench, &Message::GroupMod(group.expect(text)));
}

#[test]
fn buckets_of_groups_read_the_context_of_the_lookup() {
    const BUCKET: &str = "write_context_to_field(source=fd0,fields=udp_src),output:2";
    for (name, engine) in Engine::ALL {
        let mut bench = translator(engine);
        add_group(&mut bench, &format!("group_id=1,type=all,bucket={BUCKET}"));
        bench.flow("udp,actions=set_field:192.0.2.1->ip_src,group:1");
        assert_translated(&mut bench, 10_000, name);
    }
}

#[test]
fn context_is_that_of_the_lookup_before_it_is_known_that_a_table_has_the_dialect() {
    const BUCKET: &str = "write_context_to_field(source=state,fields=udp_src),output:2";
    for (name, engine) in Engine::ALL {
        let mut bench = Bench::new(engine);
        bench.state_mod(0, &[0, 1]);
        for command in [1, 2] {
            let scope = extractor(Dialect::Opp, 0, 0, &[IPV4_SRC, UDP_SRC]);
            bench.state_mod(command, &scope);
        }
        for host in 1..100 {
            bench.state_mod(3, &flow_state(0, &endpoint(host), 20_000 + u32::from(host)));
        }
        add_group(&mut bench, &format!("group_id=1,type=all,bucket={BUCKET}"));
        bench.flow("udp,actions=set_field:192.0.2.1->ip_src,group:1");
        assert_translated(&mut bench, 20_000, name);
    }
}

#[test]
fn each_table_has_the_context_of_its_own_lookup() {
    for (name, engine) in Engine::ALL {
        let mut bench = translator(engine);
        enable(&mut bench, Dialect::Opp, 1, &[IPV4_SRC, UDP_SRC]);
        // 192.0.2.1 and port 10,001, as the first table makes them.
        let made = [192, 0, 2, 1, 0x11, 0x27];
        bench.state_mod(3, &flow_state(1, &made, 7));
        bench.state_mod(10, &variable(1, 0, &made, 9));
        bench.flow(
            "udp,actions=set_field:192.0.2.1->ip_src,\
             write_context_to_field(source=fd0,fields=udp_src),goto_table:1",
        );
        bench.flow(
            "table=1,udp,state=7,actions=set_field:5->udp_src,\
             write_context_to_field(source=fd0,fields=udp_src),output:3",
        );
        for _ in 0..2 {
            assert_eq!(bench.send(1, &udp(1, 2, 80)), [3], "{name}");
            assert_eq!(senders(&bench), [([192, 0, 2, 1], 9)], "{name}");
            assert_eq!(
                bench.send(1, &udp(2, 2, 80)),
                [0u32; 0],
                "{name}: not that port"
            );
        }
    }
}

#[test]
fn a_packet_without_a_key_at_the_lookup_has_no_context_later() {
    for (name, engine) in Engine::ALL {
        // The key is the VLAN id, which the packet gets after the lookup.
        let mut bench = opp(engine, 0, &[0x8000_0c02]);
        bench.state_mod(10, &variable(0, 0, &[5, 0], 7));
        assert_eq!(bench.error(), None);
        bench.flow(
            "udp,actions=push_vlan:0x8100,set_field:4101->vlan_vid,\
             write_context_to_field(source=fd0,fields=udp_src),output:2",
        );
        for _ in 0..2 {
            assert_eq!(bench.send(1, &udp(1, 2, 80)), [2], "{name}");
            let bytes = &bench.io.out[0].1;
            assert_eq!(bytes[38..40], 1000_u16.to_be_bytes(), "{name}");
        }
    }
}

#[test]
fn a_packet_out_has_the_context_of_its_own_fields() {
    let mut bench = translator(Engine::default());
    bench.flow("udp,actions=drop");
    // The lookup of another packet does not count.
    bench.send(1, &udp(9, 2, 80));
    let text = "write_context_to_field(source=fd0,fields=udp_src),output:2";
    let actions = parse_actions(text, &Match::ANY, &bench.codec.catalogue);
    let message = PacketOut {
        buffer_id: BufferId::NO_BUFFER,
        in_port: PortNo::CONTROLLER,
        actions: actions.expect(text),
        data: Bytes(udp(1, 2, 80)),
        ..PacketOut::default()
    };
    bench.io.out.clear();
    tell(&mut bench, &Message::PacketOut(message));
    assert_eq!(senders(&bench), [([10, 0, 0, 1], 10_001)]);
}

/// The flows with a state other than 0 in a table: their keys and states.
fn states(bench: &mut Bench, table: u8) -> Vec<(Vec<u8>, u32)> {
    // In BEBA's short form.
    let ask = [table, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 0, 0, 0, 0];
    let mut states = vec![];
    for body in bench.multipart(3, &ask) {
        let mut rest = &body[..];
        while let [_, length, _, key_bytes, a, b, c, d, key @ ..] = rest {
            let state = u32::from_be_bytes([*a, *b, *c, *d]);
            if state != 0 {
                states.push((key[..usize::from(*key_bytes)].to_vec(), state));
            }
            rest = &rest[usize::from(*length)..];
        }
    }
    states.sort();
    states
}

#[test]
fn actions_change_the_state_of_the_packet_as_it_then_is() {
    const REWRITE: &str = "set_field:02:00:00:00:00:99->eth_src";
    let [came, went] = [1, 0x99].map(|last| vec![2, 0, 0, 0, 0, last]);
    for (name, engine) in Engine::ALL {
        for dialect in DIALECTS {
            let set = |actions: &str| {
                let mut bench = Bench::new(engine);
                for table in 0..2 {
                    enable(&mut bench, dialect, table, &[ETH_SRC]);
                }
                bench.flow(&format!("actions={actions}"));
                bench.flow("table=1,state=3,actions=output:4");
                let ports = bench.send(1, &udp(1, 2, 80));
                bench.send(1, &udp(1, 2, 80));
                (ports, states(&mut bench, 0), states(&mut bench, 1))
            };
            let why = format!("{name} {dialect:?}");
            let set_3 = "set_state(table=0,state=3)";
            let done = set(&format!("{set_3},{REWRITE},output:2"));
            assert_eq!(done, (vec![2], vec![(came.clone(), 3)], vec![]), "{why}");
            let done = set(&format!("{REWRITE},{set_3},output:2"));
            assert_eq!(done, (vec![2], vec![(went.clone(), 3)], vec![]), "{why}");
            // In the action set, states change before fields are set.
            let done = set(&format!("write_actions({REWRITE},{set_3},output:2)"));
            assert_eq!(done, (vec![2], vec![(came.clone(), 3)], vec![]), "{why}");
            let done = set(&format!("{REWRITE},write_actions({set_3},output:2)"));
            assert_eq!(done, (vec![2], vec![(went.clone(), 3)], vec![]), "{why}");
            // A later lookup finds what was set for the packet as it is there.
            let in_1 = "set_state(table=1,state=3)";
            let done = set(&format!("{REWRITE},{in_1},goto_table:1"));
            assert_eq!(done, (vec![4], vec![], vec![(went.clone(), 3)]), "{why}");
            let done = set(&format!("{in_1},{REWRITE},goto_table:1"));
            assert_eq!(done, (vec![], vec![], vec![(came.clone(), 3)]), "{why}");
            if dialect == Dialect::OpenState {
                continue;
            }
            let done = set(&format!("{REWRITE},inc_state(table=0),output:2"));
            assert_eq!(done, (vec![2], vec![(went.clone(), 2)], vec![]), "{why}");
            let done = set(&format!("write_actions({REWRITE},inc_state(table=0))"));
            assert_eq!(done, (vec![], vec![(came.clone(), 2)], vec![]), "{why}");
        }
    }
}

#[test]
fn a_variable_is_computed_for_the_packet_as_it_then_is() {
    let mut bench = opp(Engine::default(), 0, &[ETH_SRC]);
    bench.flow(
        "actions=set_field:02:00:00:00:00:99->eth_src,\
         set_data_var(output=fd0,function=sum,operands=fd0+1),\
         write_context_to_field(source=fd0,fields=udp_src),output:2",
    );
    bench.send(1, &udp(1, 2, 80));
    assert_eq!(
        senders(&bench)[0].1,
        0,
        "the flow that was looked up has no variable"
    );
    let key = vec![2, 0, 0, 0, 0, 0x99];
    assert_eq!(flows(&mut bench, 0), [(key, 0, [1, 0, 0, 0, 0, 0])]);
}
