//! State tables are compared with a plain model, under random operations at random times.

use std::collections::BTreeMap;

use bofuss_datapath::Time;
use bofuss_ext::openstate::extractor::FlowKey;
use bofuss_ext::openstate::table::{Behaviour, StateTable, Timers, Transition, after_increment};
use bofuss_oflib::PortNo;

/// A port that has room for more flows.
const PLACE: (PortNo, bool) = (PortNo(1), true);
/// Nanoseconds of a microsecond.
const MICRO: u64 = 1000;

/// A flow of the model, with the times at which its timers run out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Flow {
    state: u32,
    since: u64,
    timers: Timers,
    hard_at: u64,
    idle_at: u64,
}

/// A table in which each timer takes effect when it runs out.
struct Model {
    /// True if a flow in state 0 without timers is removed at once, as in OpenState.
    forgets: bool,
    flows: BTreeMap<u8, Flow>,
}

impl Model {
    /// Advances the clock to `now`: the timers that ran out before take effect.
    fn advance(&mut self, now: u64) {
        for flow in self.flows.values_mut() {
            let (hard, idle) = (flow.timers.hard_timeout > 0, flow.timers.idle_timeout > 0);
            let hard_due = hard && now > flow.hard_at;
            let idle_due = idle && now > flow.idle_at;
            let hard_first = hard_due && (!idle || flow.hard_at <= flow.idle_at);
            if hard_first {
                flow.state = flow.timers.hard_rollback;
            } else if idle_due {
                flow.state = flow.timers.idle_rollback;
            }
            if hard_due || idle_due {
                flow.timers = Timers::default();
            }
        }
        self.clean();
    }

    fn clean(&mut self) {
        if self.forgets {
            self.flows
                .retain(|_, flow| flow.state != 0 || flow.timers != Timers::default());
        }
    }

    fn look_up(&mut self, now: u64, key: u8) -> u32 {
        let Some(flow) = self.flows.get_mut(&key) else {
            return 0;
        };
        flow.idle_at = now + u64::from(flow.timers.idle_timeout) * MICRO;
        flow.state
    }

    fn transition(&mut self, now: u64, key: u8, wanted: &Transition) {
        let old = self.flows.get(&key).map_or(0, |flow| flow.state);
        let state = old & !wanted.mask | wanted.state & wanted.mask;
        let mut timers = wanted.timers;
        if timers.hard_timeout == 0 || timers.hard_rollback == state {
            (timers.hard_timeout, timers.hard_rollback) = (0, 0);
        }
        if timers.idle_timeout == 0 || timers.idle_rollback == state {
            (timers.idle_timeout, timers.idle_rollback) = (0, 0);
        }
        let is_nothing = state == 0 && timers == Timers::default();
        if is_nothing && !self.flows.contains_key(&key) {
            return;
        }
        let flow = Flow {
            state,
            since: now,
            timers,
            hard_at: now + u64::from(timers.hard_timeout) * MICRO,
            idle_at: now + u64::from(timers.idle_timeout) * MICRO,
        };
        self.flows.insert(key, flow);
        self.clean();
    }

    fn increment(&mut self, now: u64, key: u8) {
        let fresh = Flow {
            since: now,
            ..Flow::default()
        };
        let flow = self.flows.entry(key).or_insert(fresh);
        flow.state = flow.state.wrapping_add(1);
        self.clean();
    }
}

/// Pseudo-random numbers, by xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn timers(&mut self) -> Timers {
        let mut micros = || [0, 1, 2, 5, 1000][self.below(5) as usize];
        let (hard_timeout, idle_timeout) = (micros(), micros());
        Timers {
            hard_timeout,
            idle_timeout,
            hard_rollback: self.below(4) as u32,
            idle_rollback: self.below(4) as u32,
        }
    }
}

fn key(number: u8) -> FlowKey {
    FlowKey::new(&[number, 7, 0, number])
}

/// Does one random operation on the table and the model.
fn operate(random: &mut Random, now: u64, table: &mut StateTable, model: &mut Model) {
    let number = random.below(12) as u8;
    let (at, key) = (Time(now), key(number));
    let before = table.get(at, &key);
    match random.below(10) {
        0..=3 => {
            assert_eq!(
                table.look_up(at, &table.seek(key)),
                model.look_up(now, number)
            );
        }
        4..=7 => {
            let transition = Transition {
                state: random.below(4) as u32,
                mask: [u32::MAX, 1, 2][random.below(3) as usize],
                timers: random.timers(),
            };
            let after = table.behaviour.after_transition(at, before, &transition);
            // By `update` or by `set`.
            let change =
                |behaviour: Behaviour, before| behaviour.after_transition(at, before, &transition);
            if random.below(2) == 0 || table.update(at, &table.seek(key), change).is_none() {
                table.set(at, &key, after, PLACE).expect("there is room");
            }
            model.transition(now, number, &transition);
        }
        8 => {
            let after = after_increment(at, before);
            table
                .set(at, &key, Some(after), PLACE)
                .expect("there is room");
            model.increment(now, number);
        }
        _ => {
            let was_there = table.remove(at, &key);
            assert_eq!(was_there, model.flows.remove(&number).is_some());
        }
    }
}

/// Checks that the flows of the table are those of the model, except flows in state 0 without
/// timers, which may be removed at any time.
fn compare(now: u64, table: &StateTable, model: &Model) {
    let mut listed = BTreeMap::new();
    let mut from = 0;
    while let Some((slot, key, flow)) = table.next(Time(now), from) {
        listed.insert(key.bytes()[0], (flow.state, flow.timers, flow.since));
        from = slot + 1;
    }
    let default = |state: u32, timers: Timers| state == 0 && timers == Timers::default();
    listed.retain(|_, flow| !default(flow.0, flow.1));
    let flows = model
        .flows
        .iter()
        .filter(|(_, flow)| !default(flow.state, flow.timers));
    let wanted = flows.map(|(key, flow)| (*key, (flow.state, flow.timers, Time(flow.since))));
    assert_eq!(listed, wanted.collect(), "at {now}");
}

#[test]
fn a_table_is_as_if_timers_ran_out_at_their_times() {
    for (behaviour, forgets) in [(Behaviour::OpenState, true), (Behaviour::Beba, false)] {
        for seed in 1..200_u64 {
            let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
            let mut table = StateTable::default();
            table.behaviour = behaviour;
            let flows = BTreeMap::new();
            let mut model = Model { forgets, flows };
            let mut now = 1;
            for _ in 0..300 {
                // Deadlines are whole microseconds after transitions: these steps hit them, and the
                // nanosecond after.
                now += [0, 1, MICRO - 1, MICRO, MICRO + 1, 700 * MICRO][random.below(6) as usize];
                model.advance(now);
                operate(&mut random, now, &mut table, &mut model);
                if random.below(8) == 0 && forgets {
                    table.expire(Time(now), 4);
                }
                compare(now, &table, &model);
            }
        }
    }
}

#[test]
fn a_state_is_never_read_past_its_expiry() {
    let mut table = StateTable::default();
    let timers = Timers {
        idle_timeout: 1_000_000,
        idle_rollback: 8,
        hard_timeout: 3_000_000,
        hard_rollback: 9,
    };
    let transition = Transition {
        state: 5,
        mask: u32::MAX,
        timers,
    };
    let set = |table: &mut StateTable| {
        let after = table.behaviour.after_transition(Time(0), None, &transition);
        table
            .set(Time(0), &key(1), after, PLACE)
            .expect("there is room");
    };
    set(&mut table);
    let second = Time::SEC;
    assert_eq!(
        table.look_up(Time(second), &table.seek(key(1))),
        5,
        "at the deadline"
    );
    assert_eq!(
        table.look_up(Time(2 * second), &table.seek(key(1))),
        5,
        "it was not idle"
    );
    assert_eq!(table.look_up(Time(3 * second), &table.seek(key(1))), 5);
    assert_eq!(
        table.look_up(Time(3 * second + 1), &table.seek(key(1))),
        9,
        "hard"
    );
    assert_eq!(
        table.look_up(Time(90 * second), &table.seek(key(1))),
        9,
        "it does not chain"
    );
    // No packet came when the idle timer ran out, but it stopped the hard one all the same.
    set(&mut table);
    let flow = table
        .get(Time(5 * second), &key(1))
        .expect("it has a state");
    assert_eq!((flow.state, flow.timers), (8, Timers::default()));
}

#[test]
fn a_million_flows_are_kept_and_forgotten_in_slices() {
    const FLOWS: u32 = 1 << 20;
    let mut table = StateTable::default();
    let flow = |number: u32| FlowKey::new(&number.to_be_bytes());
    let transition = Transition {
        state: 1,
        mask: u32::MAX,
        timers: Timers {
            hard_timeout: 10,
            ..Timers::default()
        },
    };
    for number in 0..FLOWS {
        let after = table.behaviour.after_transition(Time(0), None, &transition);
        table
            .set(Time(0), &flow(number), after, PLACE)
            .expect("there is room");
    }
    assert_eq!(table.len(), FLOWS as usize);
    assert_eq!(
        table.look_up(Time(10 * MICRO), &table.seek(flow(FLOWS / 2))),
        1
    );
    let later = Time(10 * MICRO + 1);
    assert_eq!(table.look_up(later, &table.seek(flow(FLOWS / 2))), 0);
    let mut slices = 0;
    while !table.expire(later, 1024) {
        slices += 1;
    }
    assert_eq!((table.len(), slices), (0, FLOWS / 1024 - 1));
}
