//! State tables go on with their states, timers, variables and shares; what does not fit is left
//! out.

use bofuss_ext::SAVED;
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::message::multipart::ExtBody;
use bofuss_oflib::{Codec, ExtValue};

use super::*;

/// Random machines that are saved.
const MACHINES: u64 = 12;
/// Changes of each.
const STEPS: u64 = 150;
/// Bytes of the first line, of a record before its payload, and of the checksum.
const LINE_BYTES: usize = 15;
const HEAD_BYTES: usize = 5;
const SUM_BYTES: usize = 4;

/// Pseudo-random numbers, by xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

impl Lab {
    /// Gives an extension a message, which it accepts.
    pub(super) fn tell(&mut self, name: &str, text: &str) {
        let catalogue = self.switch.datapath().catalogue().clone();
        let mut rows = catalogue.values(ExtKind::Message);
        let row = rows.find(|row| row.name == name).unwrap();
        let value = ExtValue::parse(row, text, &catalogue).expect(text);
        self.io.messages.clear();
        self.message(Message::Experimenter(value));
        let mut replies = self.io.messages.iter();
        let refused = replies.any(|reply| matches!(reply, Message::Error(_)));
        assert!(!refused, "{text}: {:?}", self.io.messages);
    }

    /// All that extensions would have saved, sorted.
    pub(super) fn known(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        for saved in &SAVED {
            let request = ExtBody((saved.request)());
            for body in self.asked(RequestBody::Experimenter(request)) {
                let ReplyBody::Experimenter(reply) = body else {
                    panic!("{body:?}");
                };
                let messages = (saved.messages)(&reply.0);
                all.extend(messages.iter().map(|message| format!("{message:?}")));
            }
        }
        all.sort();
        all
    }
}

/// A switch with random states in three tables, of which the last is off, and a pinned host.
fn random_machine(seed: u64) -> Lab {
    let mut random = Random(seed * 0x9e37_79b9);
    let mut lab = Lab::new(Time(0), bofuss_disciplines::config(), 3);
    lab.connect();
    for table in 0..3 {
        for text in [
            format!("table_config,table={table},stateful=1"),
            format!("set_lookup_extractor,table={table},fields=eth_src"),
            format!("set_update_extractor,table={table},fields=eth_src"),
        ] {
            lab.tell("state_mod", &text);
        }
    }
    lab.tell(
        "state_mod",
        "set_condition,table=0,id=0,condition=fd0+lt+gd0",
    );
    lab.tell(
        "arp_path_mod",
        "pin,mac=02:00:00:00:00:77,port=2,vlan=0x1007",
    );
    let adds = "set_data_var(table=0,output=fd0,function=sum,operands=fd0+1)";
    let globally = "set_data_var(table=0,output=gd1,function=sum,operands=gd1+1)";
    for port in 1..=3 {
        let (state, idle, hard) = (random.below(4), random.below(9), random.below(9));
        let timers = format!(
            "idle_timeout={}000000,idle_rollback=1,hard_timeout={}000000,hard_rollback=2",
            idle + 1,
            hard + 1
        );
        let set = format!("set_state(table=0,state={state},{timers})");
        let set_1 = format!("set_state(table=1,state={port},{timers})");
        let actions = format!("{set},{set_1},{adds},{globally}");
        lab.flow(&format!("priority=1,in_port={port},actions={actions}"));
    }
    for _ in 0..STEPS {
        let now = lab.now.0 + random.below(SEC / 2);
        lab.at(now);
        let (table, host) = (random.below(3), random.below(30) as u8);
        let key = format!("key=(eth_src=02:00:00:00:00:{host:02x})");
        match random.below(4) {
            0 => {
                let timer = format!("idle_timeout={}000000,idle_rollback=7", 1 + host);
                let set = format!("set_flow_state,table={table},{key},state=5,{timer}");
                lab.tell("state_mod", &set);
            }
            1 => {
                let set = format!("set_flow_variable,table=0,id=3,{key},value={host}");
                lab.tell("state_mod", &set);
            }
            _ => drop(lab.send(1 + u32::from(host) % 3, host, 99)),
        }
    }
    lab.tell("state_mod", "set_global_state,global_state=41");
    lab.tell("state_mod", "table_config,table=2,stateful=0");
    lab
}

#[test]
fn random_state_tables_go_on_with_their_timers_variables_and_shares() {
    for seed in 1..=MACHINES {
        let mut before = random_machine(seed);
        let state = before.saved();
        let (mut after, restored) = resumed(&state, 0, bofuss_disciplines::config(), 3);
        assert_eq!(restored.left_out, 0, "{restored:?}");
        assert!(restored.states > 20, "{restored:?}");
        after.connect();
        assert_eq!(after.known(), before.known(), "seed {seed}");
        // Timers go on as they would have, while it runs and while it is away.
        for seconds in [1, 3, 7, 40] {
            let now = before.now.0 + seconds * SEC;
            for lab in [&mut before, &mut after] {
                lab.at(now);
                lab.send(1, seed as u8, 99);
            }
            assert_eq!(after.known(), before.known(), "seed {seed}");
        }
        let (mut away, _) = resumed(&state, 4, bofuss_disciplines::config(), 3);
        let (mut there, _) = resumed(&state, 0, bofuss_disciplines::config(), 3);
        let now = there.now.0 + 4 * SEC;
        there.at(now);
        away.connect();
        there.connect();
        assert_eq!(away.known(), there.known(), "seed {seed}");
    }
}

#[test]
fn a_switch_that_takes_over_has_the_last_states_and_no_others() {
    for seed in 1..=MACHINES {
        let mut old = random_machine(seed);
        let first = old.saved();
        let state = SavedState::read(&first).unwrap();
        let mut new = Lab::new(old.now, bofuss_disciplines::config(), 3);
        let restored = state.restore_but_states(old.now, &mut new.switch);
        assert_eq!((restored.left_out, restored.states), (0, 0), "{restored:?}");
        let now = old.now.0 + 2 * SEC;
        old.at(now);
        for host in 0..40 {
            old.send(1 + u32::from(host) % 3, host, 99);
        }
        old.tell("state_mod", "set_global_state,global_state=0");
        let last = old.saved_states();
        new.at(now);
        let last = SavedState::read(&last).unwrap();
        let restored = last.restore_states(new.now, &mut new.switch);
        assert_eq!(restored.left_out, 0, "{restored:?}");
        new.connect();
        assert_eq!(new.known(), old.known(), "seed {seed}");
    }
}

/// The payloads of the messages to extensions in a state.
fn messages_in(state: &[u8]) -> Vec<&[u8]> {
    let mut rest = &state[LINE_BYTES..state.len() - SUM_BYTES];
    let mut found = Vec::new();
    while let [kind, a, b, c, d, ..] = *rest {
        let end = HEAD_BYTES + u32::from_be_bytes([a, b, c, d]) as usize;
        if kind == b'x' {
            found.push(&rest[HEAD_BYTES..end]);
        }
        rest = &rest[end..];
    }
    found
}

#[test]
fn states_that_do_not_fit_are_left_out_and_named() {
    let mut lab = random_machine(3);
    let state = lab.saved();
    let with = |kind: u8, payload: &[u8]| {
        let mut bytes = state[..state.len() - SUM_BYTES].to_vec();
        bytes.push(kind);
        bytes.extend((payload.len() as u32).to_be_bytes());
        bytes.extend(payload);
        seal(&mut bytes);
        resumed(&bytes, 0, bofuss_disciplines::config(), 3).1
    };
    let encoded = |message: &Message| {
        let catalogue = lab.switch.datapath().catalogue().clone();
        let mut bytes = Vec::new();
        let codec = Codec::new(Version::V1_5, catalogue);
        codec.encode(0, message, &mut bytes).unwrap();
        bytes
    };
    // Header, experimenter and type come before the table, 3 bytes and the key's length.
    let all = messages_in(&state);
    let flow = all.iter().find(|bytes| bytes[15] == 19).unwrap();
    let changed = |at: usize, value: u8| {
        let mut bytes = flow.to_vec();
        bytes[at] = value;
        bytes
    };
    let status = Message::Experimenter(bofuss_ext::status::request(""));
    for (kind, payload, why) in [
        (b'z', vec![], "record of kind z: it is wrong"),
        (
            b'x',
            vec![6, 2, 0, 8, 0, 0, 0, 0],
            "extension: it is no message of one",
        ),
        (
            b'x',
            encoded(&status),
            "extension: status_request is no state",
        ),
        (b'x', vec![], "extension: an unknown version"),
        (b'x', flow[..20].to_vec(), "extension: it is cut off"),
        (b'x', changed(16, 9), "extension: restore_flow: "),
        (b'x', changed(16, 200), "extension: "),
        (b'x', changed(23, 5), "extension: "),
    ] {
        let restored = with(kind, &payload);
        assert_eq!(restored.left_out, 1, "{why}: {restored:?}");
        assert!(restored.why[0].starts_with(why), "{why}: {restored:?}");
    }
    // A time that has not come is now.
    assert_eq!(with(b'x', &changed(48, 0xff)).left_out, 0);
    // The version before had no such records.
    let mut earlier = state[..state.len() - SUM_BYTES].to_vec();
    earlier[LINE_BYTES - 2] = b'1';
    seal(&mut earlier);
    assert!(SavedState::read(&earlier).is_ok());
    for at in (LINE_BYTES..state.len()).step_by(101) {
        let mut damaged = state[..state.len() - SUM_BYTES].to_vec();
        if let Some(byte) = damaged.get_mut(at) {
            *byte ^= 0x5a;
        }
        saved_state::run(&damaged);
    }
}
