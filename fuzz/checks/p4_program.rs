//! Any bytes are a program of P4 or an error, and any packets can be sent through a program.

use bofuss_p4::{Does, DropReason, Entry, Int, Match, Program, Sent, Sink, Switch};

/// Bytes of the packets that are sent through a program.
const MAX_PACKET: usize = 256;
/// Frames that one packet may become: the switch's own limit is as high.
const MAX_SENT: usize = 1 << 13;

#[derive(Default)]
struct Outside {
    sent: usize,
    drops: usize,
    steps: usize,
}

impl Sink for Outside {
    fn transmit(&mut self, _sent: Sent) {
        self.sent += 1;
    }

    fn dropped(&mut self, _reason: DropReason) {
        self.drops += 1;
    }

    fn traces(&self) -> bool {
        self.steps < 1000
    }

    fn step(&mut self, _depth: usize, text: String) {
        self.steps += 1;
        assert!(!text.is_empty());
    }
}

/// Panics: if the loader or the switch breaks its word.
pub fn run(bytes: &[u8]) {
    let Ok(program) = Program::load(bytes) else {
        return;
    };
    let mut switch = Switch::new(program, 1);
    fill(&mut switch);
    // The text of the program is as good as any packet.
    for (port, start) in (0..3).zip([0, bytes.len() / 2, bytes.len() / 3]) {
        let end = bytes.len().min(start + MAX_PACKET);
        let mut outside = Outside::default();
        switch.receive(port, &bytes[start..end], 5, &mut outside);
        switch.receive(port, &[port as u8; 40], 9, &mut outside);
        switch.receive(port, &[], 9, &mut outside);
        assert!(outside.sent + outside.drops <= 4 * MAX_SENT);
    }
}

/// Adds an entry to each table that takes one.
fn fill(switch: &mut Switch) {
    for table in 0..switch.program().tables.len() {
        let row = &switch.program().tables[table];
        let key = vec![Match::Any; row.key.len()];
        let exact = vec![Match::Exact(Int::ZERO); row.key.len()];
        let Some(action) = row.actions.last().copied() else {
            continue;
        };
        let count = switch.program().actions[action].parameters.len();
        let does = Does::Action(action, vec![Int::ZERO; count]);
        let _ = switch.insert(table, Entry::new(key, 1, does.clone()));
        let _ = switch.insert(table, Entry::new(exact, 2, does));
    }
}
