//! Random state machines are sent random packets; random bytes are decoded.

use bofuss_datapath::Engine;
use bofuss_oflib::{ErrorCode, Message};

use crate::behaviour::super_frame;
use crate::bench::{Bench, udp};
use crate::conformance::{DIALECTS, Dialect, del_state, extractor, flow_state, show_opp};
use crate::vectors::vectors;

/// Operations of each run.
const OPERATIONS: usize = 600;
/// Runs, each with a machine of its own.
const RUNS: u64 = 12;

/// OXM headers of eth_src and eth_dst, whose values have 6 bytes.
const ADDRESSES: [u32; 2] = [0x8000_0806, 0x8000_0606];

/// Pseudo-random numbers, by xorshift.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

/// An entry of a random machine of two tables.
pub fn entry(random: &mut Random, dialect: Dialect) -> String {
    let table = random.below(2);
    let priority = random.below(3);
    let state = random.of(&[
        "",
        "state=0,",
        "state=1,",
        "state=2,",
        "state=1/1,",
        "state=4294967295,",
    ]);
    let global = random.of(&["", "", "", "global_state=0,", "global_state=1/1,"]);
    let packet = random.of(&[
        "",
        "in_port=1,",
        "udp,udp_dst=80,",
        "eth_src=02:00:00:00:00:01,",
    ]);
    let change = random.of(&[
        "",
        "set_state(table=0,state=1),",
        "set_state(table=0,state=2,idle_timeout=3,idle_rollback=1),",
        "set_state(table=1,state=2,hard_timeout=5,hard_rollback=1),",
        "set_state(table=1,state=1/1),",
        "set_state(table=0,state=0),",
        "set_state(table=1,state=3,bit=1),",
        "set_state(table=0,state=2,bit=1),",
        "set_state(table=0,state=1),set_state(table=0,state=2/2,hard_timeout=5),",
        "inc_state(table=1),",
        "set_global_state(global_state=1/1),",
        "set_global_state(global_state=0),",
        "set_field:02:00:00:00:00:03->eth_src,set_state(table=0,state=1),",
    ]);
    // OpenState has no INC_STATE.
    let change = match (dialect, change) {
        (Dialect::OpenState, "inc_state(table=1),") => "set_state(table=1,state=5),",
        (Dialect::Opp, "set_global_state(global_state=0),") => {
            "set_field:02:00:00:00:00:03->eth_src,\
             write_context_to_field(source=state,fields=eth_dst),"
        }
        (_, change) => change,
    };
    let output = random.of(&["output:2", "output:3", "output:2,output:4", "drop"]);
    let next = match (table, random.below(2)) {
        (0, 0) => ",goto_table:1",
        _ => "",
    };
    let actions = match (change, output, next) {
        ("", "drop", "") => "drop".into(),
        (change, "drop", next) => format!("{}{next}", change.trim_end_matches(',')),
        (change, output, next) => format!("{change}{output}{next}"),
    };
    let actions = actions.trim_start_matches(',');
    format!("table={table},priority={priority},{state}{global}{packet}actions={actions}")
}

/// Does one random operation to each switch, and compares what leaves.
fn operate(random: &mut Random, dialect: Dialect, benches: &mut [Bench]) {
    let host = 1 + random.below(3) as u8;
    let table = random.below(2) as u8;
    let what = random.below(24);
    let key = [2, 0, 0, 0, 0, host];
    let state = random.below(3) as u32;
    let flow = entry(random, dialect);
    let port = [80, 81][random.below(2) as usize];
    let to = 1 + random.below(3) as u8;
    let nanos = [1, 999, 1000, 1001, 3000, 5001][random.below(6) as usize];
    // The packets of a burst are looked up ahead together, before the first one changes a state.
    let burst: Vec<_> = (0..random.below(40))
        .map(|_| {
            let [from, to] = [(); 2].map(|()| 1 + random.below(3) as u8);
            udp(from, to, [80, 81][random.below(2) as usize])
        })
        .collect();
    let mut left = vec![];
    for bench in benches {
        match what {
            0 => bench.flow(&flow),
            1 => bench.state_mod(3, &flow_state(table, &key, state)),
            2 => bench.state_mod(4, &del_state(table, 6, &key)),
            3 => bench.state_mod(5, &[0, 0, 0, state as u8, 0, 0, 0, 1]),
            4 => bench.state_mod(0, &[table, u8::from(state > 0)]),
            5 => bench.state_mod(1, &extractor(dialect, table, 0, &ADDRESSES[..1])),
            6 => {
                let (bytes, offload) = super_frame(3);
                bench.send_with(1, &bytes, offload);
            }
            7..=9 => bench.advance(nanos),
            10..=15 => bench.send_burst(u32::from(host), &burst),
            _ => {
                bench.send(u32::from(host), &udp(host, to, port));
            }
        }
        bench.io.messages.clear();
        left.push(std::mem::take(&mut bench.io.out));
    }
    assert!(
        left.windows(2).all(|pair| pair[0] == pair[1]),
        "{what} {flow}: {left:?}"
    );
}

#[test]
fn all_engines_do_the_same_with_random_machines() {
    for dialect in DIALECTS {
        for seed in 1..=RUNS {
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut benches: Vec<Bench> = Engine::ALL
                .iter()
                .map(|(_, engine)| Bench::new(*engine))
                .collect();
            let update = ADDRESSES[random.below(2) as usize];
            for bench in &mut benches {
                for table in 0..2 {
                    bench.state_mod(0, &[table, 1]);
                    bench.state_mod(1, &extractor(dialect, table, 0, &ADDRESSES[..1]));
                    bench.state_mod(2, &extractor(dialect, table, 0, &[update]));
                    if dialect != Dialect::OpenState {
                        bench.state_mod(2, &extractor(dialect, table, 1, &ADDRESSES[1..]));
                    }
                    show_opp(bench, dialect, table);
                }
            }
            for _ in 0..12 {
                let flow = entry(&mut random, dialect);
                benches.iter_mut().for_each(|bench| bench.flow(&flow));
            }
            for _ in 0..OPERATIONS {
                operate(&mut random, dialect, &mut benches);
            }
            let all = [0xff, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 0, 0, 0, 0];
            let states: Vec<_> = benches
                .iter_mut()
                .map(|b| sorted(b.multipart(3, &all)))
                .collect();
            assert!(
                states.windows(2).all(|pair| pair[0] == pair[1]),
                "{dialect:?} {seed}"
            );
        }
    }
}

/// The records of a short reply, sorted: their order in the reply depends on slots.
fn sorted(bodies: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut records = vec![];
    for body in bodies {
        let mut rest = &body[..];
        while let [_, length, ..] = rest {
            let (record, others) = rest.split_at((*length).into());
            records.push(record.to_vec());
            rest = others;
        }
    }
    records.sort();
    records
}

#[test]
fn changed_bytes_are_a_message_or_one_error() {
    let codec = Bench::new(Engine::default()).codec;
    let mut random = Random(7);
    let mut kinds = std::collections::BTreeSet::new();
    for (text, bytes) in vectors() {
        for _ in 0..3000 {
            let mut bytes = bytes.clone();
            for _ in 0..=random.below(3) {
                let at = 8 + random.below(bytes.len() as u64 - 8) as usize;
                bytes[at] =
                    [0, 1, 7, 0x40, 0xff, random.below(256) as u8][random.below(6) as usize];
            }
            if random.below(3) == 0 {
                let length = 8 + random.below(bytes.len() as u64 - 7) as usize;
                bytes.truncate(length);
            }
            let [high, low] = (bytes.len() as u16).to_be_bytes();
            (bytes[2], bytes[3]) = (high, low);
            match codec.decode(&bytes) {
                Ok((xid, message)) => {
                    let mut again = Vec::new();
                    codec
                        .encode(xid, &message, &mut again)
                        .expect("it is short enough");
                    let (_, same): (u32, Message) = codec.decode(&again).expect(&text);
                    assert_eq!(same, message, "{text}");
                    let _ = message.to_string();
                }
                Err(error) => {
                    let ErrorCode { ty, code, .. } = error.error;
                    kinds.insert((ty, code));
                }
            }
        }
    }
    for code in [1, 5, 6, 7, 8, 9] {
        assert!(kinds.contains(&(0xffff, code)), "{code} of {kinds:?}");
    }
}
