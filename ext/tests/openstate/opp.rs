//! Open Packet Processor: its errors, keys, conditions, variables and fields.

use bofuss_agent::ConnId;
use bofuss_datapath::{Engine, Time};
use bofuss_oflib::error::BadAction;
use bofuss_oflib::{Mac, Message};
use bofuss_packet::craft;

use crate::bench::{Bench, EXPERIMENTER, udp};
use crate::conformance::{Dialect, apply, enable, extractor, flow_mod, flow_state};

/// OXM headers.
const ETH_SRC: u32 = 0x8000_0806;
const ETH_DST: u32 = 0x8000_0606;
const IPV4_SRC: u32 = 0x8000_1604;
const IPV4_DST: u32 = 0x8000_1804;
const UDP_SRC: u32 = 0x8000_1e02;
const UDP_DST: u32 = 0x8000_2002;
const PKT_LEN: u32 = 0xffff_1806;

/// The payload of SET_HEADER_FIELD_EXTRACTOR.
pub fn header(table: u8, id: u8, field: u32) -> Vec<u8> {
    [&[table, id, 0, 0], &field.to_be_bytes()[..]].concat()
}

/// The payload of SET_CONDITION: code of the comparison, types and numbers of the operands.
pub fn condition(table: u8, id: u8, code: u8, types: u8, operands: [u8; 2]) -> Vec<u8> {
    vec![table, id, code, types, operands[0], operands[1], 0, 0]
}

/// The payload of SET_GLOBAL_DATA_VAR, with a mask of ones.
pub fn global(table: u8, id: u8, value: u32) -> Vec<u8> {
    [&[table, id, 0, 0], &value.to_be_bytes()[..], &[0xff; 4]].concat()
}

/// The payload of SET_FLOW_DATA_VAR, with a mask of ones.
pub fn variable(table: u8, id: u8, key: &[u8], value: u32) -> Vec<u8> {
    let length = (key.len() as u32).to_be_bytes();
    let value = value.to_be_bytes();
    [&[table, id, 0, 0], &length[..], &value, &[0xff; 4], key].concat()
}

/// A switch with a table of this dialect, with these fields in both scopes.
pub fn opp(engine: Engine, table: u8, fields: &[u32]) -> Bench {
    let mut bench = Bench::new(engine);
    enable(&mut bench, Dialect::Opp, table, fields);
    bench
}

/// The records of a table, without the default record: key, state and variables of each flow.
pub fn flows(bench: &mut Bench, table: u8) -> Vec<(Vec<u8>, u32, [u32; 6])> {
    let ask = [table, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 0, 0, 0, 0];
    let mut flows = vec![];
    for body in bench.multipart(0, &ask) {
        for record in body.chunks_exact(136) {
            let word = |at: usize| {
                u32::from_be_bytes(record[at..at + 4].try_into().expect("it is 4 bytes"))
            };
            let length = word(40) as usize;
            if length > 0 {
                let variables = std::array::from_fn(|i| word(96 + 4 * i));
                flows.push((record[44..44 + length].to_vec(), word(92), variables));
            }
        }
    }
    flows.sort();
    flows
}

#[test]
fn registers_are_refused_as_by_the_reference() {
    let mut bench = Bench::new(Engine::default());
    // On a table that is not enabled. Length and table number are checked before that.
    for (command, payload, code) in [
        (7, header(0, 0, ETH_SRC), 21),
        (8, condition(0, 0, 0, 0, [0, 0]), 15),
        (9, global(0, 0, 1), 15),
        (10, variable(0, 0, &[0; 6], 1), 3),
    ] {
        bench.state_mod(command, &payload);
        assert_eq!(bench.error(), Some(code), "{command}");
        let last = payload.len() - 1;
        bench.state_mod(command, &payload[..last]);
        assert_eq!(bench.error(), Some(7), "{command}");
        bench.state_mod(command, &[&[64], &payload[1..]].concat());
        assert_eq!(bench.error(), Some(8), "{command}");
    }
    enable(&mut bench, Dialect::Opp, 0, &[ETH_SRC]);
    for (command, payload, code) in [
        (7, header(0, 8, ETH_SRC), 13),
        (7, header(0, 0, 0x8000_08ff), 19),
        (8, condition(0, 8, 0, 0, [0, 0]), 14),
        (8, condition(0, 0, 6, 0, [0, 0]), 15),
        (8, condition(0, 0, 0, 0, [6, 0]), 17),
        (8, condition(0, 0, 0, 0x10, [0, 8]), 18),
        (8, condition(0, 0, 0, 0x80, [8, 0]), 13),
        (8, condition(0, 0, 0, 0xc0, [0, 0]), 16),
        (8, condition(0, 0, 0, 0x30, [0, 0]), 16),
        (9, global(0, 8, 1), 18),
        (10, variable(0, 6, &[0; 6], 1), 17),
        (10, variable(0, 0, &[0; 5], 1), 7),
        (10, variable(0, 0, &[], 1), 7),
        (11, vec![], 1),
    ] {
        bench.state_mod(command, &payload);
        assert_eq!(bench.error(), Some(code), "{command} {payload:?}");
    }
}

/// The body of a SET_DATA_VAR after its type: types, opcode, output, operands, number of fields.
fn data_var(types: u16, opcode: u8, output: u8, operands: [u8; 4], n_fields: u8) -> Vec<u8> {
    let [high, low] = types.to_be_bytes();
    let mut body = vec![0, 0, 0, 0, high, low, 0, opcode, output, 0, 0, 0];
    body.extend(operands);
    body.extend([0, 0, 0, 0, 0, 0, 0, n_fields, 0, 0, 0, 0]);
    body
}

#[test]
fn actions_are_refused_as_by_the_reference() {
    let mut bench = Bench::new(Engine::default());
    let mut wrong_table = data_var(0, 0, 0, [0; 4], 0);
    wrong_table[6] = 64;
    for (body, code) in [
        (wrong_table, 8),
        (data_var(0xc000, 0, 0, [0; 4], 0), 16),
        (data_var(0, 8, 0, [0; 4], 0), 20),
        (data_var(0, 0, 6, [0; 4], 0), 17),
        (data_var(0x80, 0, 8, [0; 4], 0), 18),
        (data_var(0, 0, 0, [6, 0, 0, 0], 0), 17),
        (data_var(0x1000, 0, 0, [0, 8, 0, 0], 0), 18),
        (data_var(0x8000, 0, 0, [8, 0, 0, 0], 0), 13),
        (data_var(0x0c00, 5, 0, [0; 4], 0), 16),
        (data_var(0x0300, 7, 0, [0; 4], 0), 16),
        (data_var(0, 7, 0, [0, 0, 0, 6], 0), 17),
        (data_var(0, 0, 0, [0; 4], 1), 7),
        (data_var(0, 0, 0, [0; 4], 7), 7),
        (vec![0; 20], 7),
    ] {
        bench.say(14, &flow_mod(&[], &apply(3, &body)));
        assert_eq!(bench.error(), Some(code), "{body:?}");
    }
    // Operands that a function does not use are not checked.
    bench.say(
        14,
        &flow_mod(&[], &apply(3, &data_var(0x0f00, 0, 0, [0, 0, 9, 9], 0))),
    );
    assert_eq!(bench.error(), None);
    for (body, code) in [
        ([0, 0, 0, 0, 3, 0, 0, 0, 0x80, 0, 0x44, 4], 22),
        ([0, 0, 0, 0, 0, 6, 0, 0, 0x80, 0, 0x44, 4], 17),
        ([0, 0, 0, 0, 1, 8, 0, 0, 0x80, 0, 0x44, 4], 18),
    ] {
        bench.say(14, &flow_mod(&[], &apply(4, &body)));
        assert_eq!(bench.error(), Some(code), "{body:?}");
    }
    // in_port, in_phy_port, ipv6_exthdr, a field of an experimenter.
    for field in [
        [0x80, 0, 0, 4],
        [0x80, 0, 2, 4],
        [0x80, 0, 0x4e, 2],
        [0xff, 0xff, 2, 8],
    ] {
        let body = [&[0, 0, 0, 0, 2, 9, 0, 0], &field[..]].concat();
        bench.say(14, &flow_mod(&[], &apply(4, &body)));
        let refused = bench.io.messages.pop();
        let Some((ConnId(1), Message::Error(error))) = refused else {
            panic!("{field:?}");
        };
        assert_eq!(error.error, BadAction::BAD_SET_TYPE, "{field:?}");
    }
    bench.flow("actions=write_context_to_field(source=state,fields=metadata)");
}

/// A UDP datagram from a host and port to another, with `bytes` bytes of payload.
fn datagram(from: (u8, u16), to: (u8, u16), bytes: usize) -> Vec<u8> {
    let (a, b) = ([10, 0, 0, from.0].into(), [10, 0, 0, to.0].into());
    let ip = craft::ipv4(a, b, 64, craft::udp(from.1, to.1, &vec![0; bytes]));
    let mac = |host| Mac([2, 0, 0, 0, 0, host]);
    craft::ethernet(mac(to.0), mac(from.0), ip)
}

#[test]
fn both_directions_of_a_conversation_share_a_state() {
    for (name, engine) in Engine::ALL {
        let mut bench = Bench::new(engine);
        bench.state_mod(0, &[0, 1]);
        for command in [1, 2] {
            let fields = [UDP_DST, IPV4_DST, UDP_SRC, IPV4_SRC];
            let mut payload = extractor(Dialect::Opp, 0, 0, &fields);
            payload[1] = 1;
            bench.state_mod(command, &payload);
        }
        assert_eq!(bench.error(), None);
        bench.is_opp = true;
        bench.flow("priority=9,state=1,actions=output:2");
        bench.flow("priority=1,actions=set_state(state=1)");
        // Ports 0x0102 and 0x0201: in the byte order of keys, the smaller number is the larger
        // value.
        let there = datagram((1, 0x0102), (2, 0x0201), 4);
        let back = datagram((2, 0x0201), (1, 0x0102), 4);
        assert_eq!(bench.send(1, &there), [0u32; 0], "{name}");
        assert_eq!(bench.send(3, &back), [2], "{name}");
        assert_eq!(bench.send(1, &there), [2], "{name}");
        // Addresses and ports are ordered independently.
        assert_eq!(bench.send(1, &datagram((1, 0x0201), (2, 0x0102), 4)), [2]);
        // Fields are in the order of the OXM headers, the larger value of each pair first.
        let keys: Vec<_> = flows(&mut bench, 0)
            .into_iter()
            .map(|flow| flow.0)
            .collect();
        let key = [10, 0, 0, 2, 10, 0, 0, 1, 2, 1, 1, 2];
        assert_eq!(keys, [key.to_vec()], "{name}: both are one conversation");
    }
}

#[test]
fn conditions_are_true_false_or_null() {
    for (name, engine) in Engine::ALL {
        let mut bench = opp(engine, 0, &[ETH_SRC]);
        bench.state_mod(7, &header(0, 0, UDP_DST));
        bench.state_mod(7, &header(0, 1, PKT_LEN));
        bench.state_mod(9, &global(0, 3, 80));
        // The port is 80; the frame is longer; the flow's variable is less.
        bench.state_mod(8, &condition(0, 0, 4, 0x90, [0, 3]));
        bench.state_mod(8, &condition(0, 1, 0, 0x90, [1, 3]));
        bench.state_mod(8, &condition(0, 2, 1, 0x10, [0, 3]));
        assert_eq!(bench.error(), None);
        bench.flow("priority=9,condition0=1,condition1=0,condition2=1,actions=output:2");
        bench.flow("priority=9,condition0=1,condition1=1,condition2=1,actions=output:3");
        bench.flow("priority=9,condition0=0,actions=output:4");
        bench.flow(
            "priority=8,condition0=255,condition3=255,condition4=255,condition5=255,\
             condition6=255,actions=output:2,output:3",
        );
        let short = udp(1, 2, 80);
        for _ in 0..2 {
            assert_eq!(bench.send(1, &short), [2], "{name}");
            assert_eq!(
                bench.send(1, &datagram((1, 9), (2, 80), 100)),
                [3],
                "{name}"
            );
            assert_eq!(bench.send(1, &udp(1, 2, 81)), [4], "{name}");
            let mut arp = short.clone();
            arp[12..14].copy_from_slice(&[0x08, 0x06]);
            assert_eq!(bench.send(1, &arp), [2, 3], "{name}: no port");
        }
        bench.state_mod(10, &variable(0, 0, &[2, 0, 0, 0, 0, 1], 80));
        assert_eq!(
            bench.send(1, &short),
            [0u32; 0],
            "{name}: 80 is not less than 80"
        );
        assert_eq!(
            bench.send(1, &udp(3, 2, 80)),
            [2],
            "{name}: of another flow"
        );
        // A table without conditions has none to match.
        bench.flow("priority=99,actions=goto_table:1");
        bench.flow("table=1,priority=9,condition0=1,actions=output:2");
        bench.flow("table=1,priority=1,actions=output:4");
        assert_eq!(bench.send(1, &udp(3, 2, 80)), [4], "{name}");
    }
}

#[test]
fn variables_are_kept_through_transitions_and_reported() {
    for (name, engine) in Engine::ALL {
        let mut bench = opp(engine, 0, &[ETH_SRC]);
        bench.flow(
            "priority=1,actions=set_data_var(output=fd1,function=sum,operands=fd1+5),\
             set_data_var(output=gd2,function=sub,operands=gd2+1),\
             set_data_var(output=fd0,function=mul,operands=fd1+fd1),\
             set_state(state=3),output:2",
        );
        for _ in 0..3 {
            assert_eq!(bench.send(1, &udp(1, 2, 80)), [2], "{name}");
        }
        let key = vec![2, 0, 0, 0, 0, 1];
        assert_eq!(
            flows(&mut bench, 0),
            [(key.clone(), 3, [225, 15, 0, 0, 0, 0])]
        );
        let body = bench.multipart(3, &[0; 8]);
        let mut wanted = vec![0; 32];
        wanted[8..12].copy_from_slice(&(-3_i32).to_be_bytes());
        assert_eq!(body, [wanted], "{name}");
        // The variables of a table that is not enabled are zeros.
        assert_eq!(bench.multipart(3, &[0, 0, 0, 0, 0, 0, 0, 7]), [vec![0; 32]]);
        // A flow in state 0 is kept for its variables, also by the search for expired flows.
        bench.state_mod(3, &flow_state(0, &key, 0));
        bench.advance(200 * Time::SEC);
        assert_eq!(
            flows(&mut bench, 0),
            [(key.clone(), 0, [225, 15, 0, 0, 0, 0])]
        );
        // For a flow without an entry, the value 0 makes none; another value does, and the mask is
        // ignored.
        let other = [2, 0, 0, 0, 0, 7];
        bench.state_mod(10, &variable(0, 1, &other, 0));
        assert_eq!(flows(&mut bench, 0).len(), 1, "{name}");
        let mut masked = variable(0, 1, &other, 0xffff);
        masked[12..16].copy_from_slice(&[0, 0, 0, 0x0f]);
        bench.state_mod(10, &masked);
        assert_eq!(flows(&mut bench, 0)[1].2[1], 0xffff, "{name}");
        masked[11] = 0xf0;
        bench.state_mod(10, &masked);
        assert_eq!(flows(&mut bench, 0)[1].2[1], 0xfff0, "{name}");
    }
}

#[test]
fn update_functions_give_what_was_observed() {
    let mut bench = opp(Engine::default(), 0, &[ETH_SRC]);
    bench.state_mod(7, &header(0, 0, UDP_DST));
    bench.flow(
        "udp,actions=set_data_var(output=fd0,function=var,operands=hf0+fd1+fd2),\
         set_data_var(output=fd3,function=ewma,operands=fd3+6+hf0)",
    );
    for sample in [100, 200] {
        bench.send(1, &udp(1, 2, sample));
    }
    assert_eq!(flows(&mut bench, 0)[0].2, [2, 150_000, 2500, 32, 0, 0]);
    // An address reads byte-swapped; of an Ethernet address the first two bytes count.
    bench.state_mod(7, &header(0, 0, IPV4_SRC));
    bench.state_mod(7, &header(0, 1, ETH_DST));
    bench.flow(
        "udp,actions=set_data_var(output=fd4,function=sum,operands=hf0+0),\
         set_data_var(output=fd5,function=sum,operands=hf1+0)",
    );
    bench.send(1, &udp(1, 2, 80));
    assert_eq!(flows(&mut bench, 0)[0].2[4..], [16_777_226, 2]);
}

#[test]
fn an_update_without_an_operand_does_nothing() {
    let mut bench = opp(Engine::default(), 0, &[ETH_SRC]);
    bench.flow(
        "actions=set_data_var(output=fd0,function=sum,operands=hf3+1),\
         set_data_var(table=9,output=gd0,function=sum,operands=gd0+1),\
         set_data_var(output=gd0,function=sum,operands=gd0+1,bit=1),\
         set_data_var(output=fd0,function=sum,operands=fd0+1,bit=1)",
    );
    bench.send(1, &udp(1, 2, 80));
    // Only the third did something: a variable of the table needs no scope.
    assert_eq!(flows(&mut bench, 0), []);
    assert_eq!(bench.multipart(3, &[0; 8])[0][..4], [0, 0, 0, 1]);
}

#[test]
fn an_action_may_have_a_scope_of_its_own() {
    let mut bench = opp(Engine::default(), 0, &[ETH_SRC]);
    bench.flow(
        "actions=set_state(state=4,fields=eth_dst),\
         set_data_var(output=fd0,function=sum,operands=fd0+9,fields=eth_dst),\
         set_state(state=5,fields=ipv4_src)",
    );
    bench.send(1, &udp(1, 2, 80));
    let key = vec![2, 0, 0, 0, 0, 2];
    // The last action's fields make keys of another length than the table's.
    assert_eq!(flows(&mut bench, 0), [(key, 4, [9, 0, 0, 0, 0, 0])]);
}

#[test]
fn what_is_known_of_a_flow_is_written_to_fields() {
    for (name, engine) in Engine::ALL {
        let mut bench = opp(engine, 0, &[ETH_SRC]);
        let key = [2, 0, 0, 0, 0, 1];
        bench.state_mod(3, &flow_state(0, &key, 0x1234));
        // 10.0.0.9, as an extractor reads it.
        bench.state_mod(10, &variable(0, 0, &key, 0x0900_000a));
        bench.state_mod(9, &global(0, 7, 0x0403_0201));
        bench.flow(
            "udp,actions=write_context_to_field(source=fd0,fields=ipv4_dst),\
             write_context_to_field(source=state,fields=udp_dst),\
             write_context_to_field(source=gd7,fields=eth_dst),\
             write_context_to_field(source=state,fields=metadata),\
             write_context_to_field(source=gd7,fields=tcp_dst),goto_table:1",
        );
        bench.flow("table=1,metadata=0x1234,actions=output:2");
        for _ in 0..2 {
            assert_eq!(bench.send(1, &udp(1, 2, 80)), [2], "{name}");
            let bytes = &bench.io.out[0].1;
            assert_eq!(bytes[..6], [1, 2, 3, 4, 0, 0], "{name}");
            assert_eq!(bytes[30..34], [10, 0, 0, 9], "{name}");
            assert_eq!(bytes[36..38], [0x12, 0x34], "{name}");
        }
        // For a flow without an entry, zeros are written.
        assert_eq!(bench.send(1, &udp(3, 2, 80)), [0u32; 0], "{name}");
    }
}

#[test]
fn a_packet_has_its_length_a_time_and_a_random_number() {
    for (name, engine) in Engine::ALL {
        let mut bench = Bench::new(engine);
        bench.flow("priority=9,pkt_len=46,actions=output:2");
        bench.flow("priority=8,timestamp=1500,actions=output:3");
        bench.flow("priority=1,actions=goto_table:1");
        bench.flow("table=1,priority=9,pkt_len=50,actions=output:4");
        for _ in 0..2 {
            assert_eq!(bench.send(1, &udp(1, 2, 80)), [2], "{name}");
            assert_eq!(bench.send(1, &datagram((1, 1), (2, 2), 8)), [4], "{name}");
            assert_eq!(
                bench.send(1, &datagram((1, 1), (2, 2), 9)),
                [0u32; 0],
                "{name}"
            );
        }
        bench.now = Time(1_500_999_999);
        assert_eq!(bench.send(1, &datagram((1, 1), (2, 2), 9)), [3], "{name}");
        // Half of all numbers are below 0x8000: with a condition, and a header field operand.
        enable(&mut bench, Dialect::Opp, 2, &[ETH_SRC]);
        bench.state_mod(7, &header(2, 0, 0xffff_1606));
        bench.state_mod(9, &global(2, 0, 0x8000));
        bench.state_mod(8, &condition(2, 0, 1, 0x90, [0, 0]));
        assert_eq!(bench.error(), None);
        bench.flow("priority=99,actions=goto_table:2");
        bench.flow("table=2,priority=9,condition0=1,actions=output:2");
        bench.flow("table=2,priority=9,condition0=0,actions=output:3");
        let sent = (0..2000).map(|_| bench.send(1, &udp(1, 2, 80)));
        let below = sent.filter(|ports| *ports == [2]).count();
        assert!((850..1150).contains(&below), "{name}: {below} of 2000");
    }
}

#[test]
fn packets_that_differ_in_volatile_fields_alone_are_one_flow_of_the_cache() {
    let mut outputs = vec![];
    for (name, engine) in Engine::ALL {
        let mut bench = Bench::new(engine);
        bench.flow("table=0,priority=9,random=7,actions=output:4");
        bench.flow("table=0,priority=8,pkt_len=45,actions=output:4");
        bench.flow("table=0,priority=1,actions=goto_table:1");
        bench.flow("table=1,priority=1,actions=goto_table:2");
        bench.flow("table=2,priority=1,actions=output:3");
        let mut ports = vec![];
        let mut send = |bench: &mut Bench| {
            for length in 0..500 {
                bench.now = bench.now.after(1_000_000);
                ports.push(bench.send(1, &datagram((1, 1), (2, 2), length % 9)));
            }
        };
        send(&mut bench);
        // Remembered paths now end before the table that gets such entries.
        bench.flow("table=2,priority=9,pkt_len=50,actions=output:2");
        bench.flow("table=2,priority=8,timestamp=600,actions=output:2");
        send(&mut bench);
        let stats = bench.switch.datapath().lane().engine.stats();
        assert!(stats.misses < 10, "{name}: {stats:?}");
        outputs.push(ports);
    }
    assert!(outputs.windows(2).all(|pair| pair[0] == pair[1]));
    for ports in [vec![2], vec![3], vec![4]] {
        assert!(outputs[0].contains(&ports), "{ports:?}");
    }
}

#[test]
fn controllers_of_this_dialect_get_notifications_with_variables() {
    let mut bench = opp(Engine::default(), 3, &[ETH_SRC]);
    bench.say(4, &[0, 0x62, 0x6f, 0x66, 0, 0, 0, 16, 1]);
    bench.flow(
        "actions=set_data_var(table=3,output=fd5,function=sum,operands=fd5+9),\
         set_state(table=3,state=7)",
    );
    bench.send(1, &udp(1, 2, 80));
    let (_, message) = bench.io.messages.pop().expect("it is notified");
    let mut bytes = vec![];
    bench
        .codec
        .encode(0, &message, &mut bytes)
        .expect("it is short enough");
    assert_eq!(bytes.len(), 108);
    assert_eq!(bytes[8..16], [&EXPERIMENTER[..], &[0, 0, 0, 2]].concat());
    assert_eq!(bytes[84..], [&[0; 20][..], &[0, 0, 0, 9]].concat());
}
