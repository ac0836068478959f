//! A random extended machine and what it comes to under packets, as one would say it plainly.

use std::collections::BTreeMap;

/// Hosts, entries, and steps at most.
pub const HOSTS: u8 = 3;
pub const ENTRIES: usize = 8;
pub const STEPS: usize = 96;
/// Variables that are used, of a flow and of the table.
pub const VARIABLES: u8 = 3;
/// The functions, by their names on paper.
const FUNCTIONS: [(&str, usize); 8] = [
    ("sum", 2),
    ("sub", 2),
    ("mul", 2),
    ("div", 2),
    ("avg", 2),
    ("var", 3),
    ("ewma", 3),
    ("poly_sum", 4),
];
pub const COMPARISONS: [&str; 6] = ["gt", "lt", "gte", "lte", "eq", "neq"];
pub const PORTS: [u16; 3] = [80, 7, 0xffff];

/// The bytes that are left.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    pub fn below(&mut self, end: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        usize::from(*first) % end
    }

    fn timer(&mut self) -> (u64, u32) {
        (self.below(6) as u64, self.below(3) as u32)
    }

    /// A small number, or one near the ends of 32 bits.
    pub fn number(&mut self) -> u32 {
        let low = self.below(256) as u32;
        match low {
            0..250 => low,
            _ => u32::MAX - (255 - low),
        }
    }
}

#[derive(Clone, Copy)]
pub enum Operand {
    Flow(u8),
    Table(u8),
    /// 0: the UDP destination; 1: the IPv4 source; 2: the TCP source, which no packet has.
    Header(u8),
    Number(u8),
}

impl Operand {
    pub fn chosen(from: &mut Choices<'_>, allows_number: bool) -> Self {
        let id = from.below(VARIABLES.into()) as u8;
        match from.below(if allows_number { 8 } else { 6 }) {
            0..3 => Self::Flow(id),
            3..5 => Self::Table(id),
            5 => Self::Header(id),
            _ => Self::Number(id + 1),
        }
    }

    pub fn text(self) -> String {
        match self {
            Self::Flow(id) => format!("fd{id}"),
            Self::Table(id) => format!("gd{id}"),
            Self::Header(id) => format!("hf{id}"),
            Self::Number(number) => number.to_string(),
        }
    }
}

pub struct Function {
    number: usize,
    output: Operand,
    operands: Vec<Operand>,
    coefficients: [i8; 4],
}

pub struct Transition {
    state: u32,
    mask: u32,
    /// Microseconds and rollback, of the hard and the idle timer.
    timers: [(u64, u32); 2],
}

pub struct Entry {
    state: Option<u32>,
    condition: Option<(u8, u8)>,
    port: Option<u16>,
    functions: Vec<Function>,
    transition: Option<Transition>,
    output: u32,
}

pub struct Condition {
    pub comparison: usize,
    pub operands: [Operand; 2],
}

#[derive(Clone, Copy)]
pub struct Flow {
    pub state: u32,
    timers: [(u64, u32); 2],
    since: u64,
    used: u64,
    pub variables: [u32; 6],
}

/// The machine and what it has come to, as one would tell it.
pub struct Model {
    pub entries: Vec<Entry>,
    pub conditions: Vec<Condition>,
    pub updates_destination: bool,
    pub flows: BTreeMap<u8, Flow>,
    pub globals: [u32; 8],
}

/// A packet: from which host to which, the port there, and when it came.
pub struct Packet {
    pub from: u8,
    pub to: u8,
    pub port: u16,
    pub now: u64,
}

impl Flow {
    fn new(now: u64) -> Self {
        Self {
            state: 0,
            timers: [(0, 0); 2],
            since: now,
            used: now,
            variables: [0; 6],
        }
    }

    /// After the timers that ran out: of two the earlier one, of two at once the hard one.
    pub fn at(mut self, now: u64) -> Self {
        let [hard, idle] = self.timers;
        let hard_end = self.since + hard.0 * 1000;
        let idle_end = self.used + idle.0 * 1000;
        let hard_is_over = hard.0 != 0 && now > hard_end;
        let idle_is_over = idle.0 != 0 && now > idle_end;
        if hard_is_over && (!idle_is_over || hard_end <= idle_end) {
            self.state = hard.1;
        } else if idle_is_over {
            self.state = idle.1;
        } else {
            return self;
        }
        self.timers = [(0, 0); 2];
        self
    }
}

impl Model {
    fn value(&self, operand: Operand, flow: &[u32; 6], packet: &Packet) -> Option<u32> {
        match operand {
            Operand::Flow(id) => Some(flow[usize::from(id)]),
            Operand::Table(id) => Some(self.globals[usize::from(id)]),
            Operand::Header(0) => Some(packet.port.into()),
            // 10.0.0.HOST, its bytes read from the last one on.
            Operand::Header(1) => Some(u32::from(packet.from) << 24 | 10),
            Operand::Header(_) => None,
            Operand::Number(number) => Some(number.into()),
        }
    }

    /// Returns the outcome of a condition, and 255 if an operand of it has no value.
    fn outcome(&self, condition: &Condition, flow: &[u32; 6], packet: &Packet) -> u8 {
        let [a, b] = condition.operands.map(|one| self.value(one, flow, packet));
        let (Some(a), Some(b)) = (a, b) else {
            return 255;
        };
        u8::from(match condition.comparison {
            0 => a > b,
            1 => a < b,
            2 => a >= b,
            3 => a <= b,
            4 => a == b,
            _ => a != b,
        })
    }

    fn variables(&self, host: u8) -> [u32; 6] {
        self.flows.get(&host).map_or([0; 6], |flow| flow.variables)
    }

    pub fn set(&mut self, variable: Operand, value: u32, host: u8, now: u64) {
        match variable {
            Operand::Flow(id) if value != 0 || self.flows.contains_key(&host) => {
                let flow = self.flows.entry(host).or_insert(Flow::new(now));
                *flow = flow.at(now);
                flow.variables[usize::from(id)] = value;
            }
            Operand::Table(id) => self.globals[usize::from(id)] = value,
            Operand::Flow(_) | Operand::Header(_) | Operand::Number(_) => {}
        }
    }

    fn compute(&mut self, function: &Function, host: u8, packet: &Packet) {
        let flow = self.variables(host);
        let mut values = [0_u64; 4];
        for (value, operand) in values.iter_mut().zip(&function.operands) {
            match self.value(*operand, &flow, packet) {
                Some(found) => *value = found.into(),
                None => return,
            }
        }
        let output = self.value(function.output, &flow, packet);
        let n = u64::from(output.expect("it is a variable"));
        let [a, b, c, _] = values;
        // One more than n, unless that has overflowed; then 1 stands for it.
        let more = u64::from(modulo(n + 1)).max(1);
        let mean = u64::from(modulo(b.wrapping_mul(n).wrapping_add(a * 1000))) / more;
        let output = match function.number {
            0 => a + b,
            1 => a.wrapping_sub(b),
            2 => a.wrapping_mul(b),
            3 if a == 0 => 0,
            3 if b == 0 => u64::MAX,
            3 => a / b,
            4 | 5 => n + 1,
            6 => match b {
                1 => (a >> 2) + (c >> 2) * 3,
                3 => (a >> 1) + (c >> 1),
                5 => (a >> 2) * 3 + (c >> 2),
                0 | 2 | 4 | 6 => (a >> 3) * (b + 1) + (c >> 3) * (7 - b),
                _ => (a >> 1) + (c >> 1),
            },
            _ => {
                let terms = values.iter().zip(function.coefficients);
                let products = terms.map(|(value, by)| value.wrapping_mul(by as u64));
                products.reduce(u64::wrapping_add).unwrap_or(0)
            }
        };
        let now = packet.now;
        self.set(function.output, modulo(output), host, now);
        if matches!(function.number, 4 | 5) {
            self.set(function.operands[1], modulo(mean), host, now);
        }
        if function.number == 5 {
            let off =
                modulo(a.wrapping_sub(b / 1000)).wrapping_mul(modulo(a.wrapping_sub(mean / 1000)));
            let sum = u64::from(modulo(c.wrapping_mul(n).wrapping_add(off.into())));
            let variance = if n == 0 { 0 } else { sum / more };
            self.set(function.operands[2], modulo(variance), host, now);
        }
    }

    fn transit(&mut self, transition: &Transition, host: u8, now: u64) {
        let known = self.flows.get(&host).map(|flow| flow.at(now));
        let mut flow = known.unwrap_or(Flow::new(now));
        flow.state = flow.state & !transition.mask | transition.state & transition.mask;
        flow.since = now;
        flow.used = now;
        flow.timers = transition.timers;
        for (time, rollback) in &mut flow.timers {
            // A timer that leads to where the flow is does not run.
            if *time == 0 || *rollback == flow.state {
                (*time, *rollback) = (0, 0);
            }
        }
        if known.is_some() || flow.state != 0 || flow.timers != [(0, 0); 2] {
            self.flows.insert(host, flow);
        }
    }

    /// The port by which a packet leaves, if it does.
    pub fn receive(&mut self, packet: &Packet) -> Option<u32> {
        let mut state = 0;
        if let Some(flow) = self.flows.get_mut(&packet.from) {
            *flow = flow.at(packet.now);
            flow.used = packet.now;
            state = flow.state;
        }
        let flow = self.variables(packet.from);
        let conditions = self.conditions.iter();
        let outcomes: Vec<u8> = conditions
            .map(|one| self.outcome(one, &flow, packet))
            .collect();
        let hit = self.entries.iter().position(|entry| {
            entry.state.is_none_or(|wanted| wanted == state)
                && entry.port.is_none_or(|wanted| wanted == packet.port)
                && entry
                    .condition
                    .is_none_or(|(id, wanted)| outcomes[usize::from(id)] == wanted)
        })?;
        let host = if self.updates_destination {
            packet.to
        } else {
            packet.from
        };
        let entries = std::mem::take(&mut self.entries);
        for function in &entries[hit].functions {
            self.compute(function, host, packet);
        }
        if let Some(transition) = &entries[hit].transition {
            self.transit(transition, host, packet.now);
        }
        let output = entries[hit].output;
        self.entries = entries;
        Some(output)
    }
}

fn entry(from: &mut Choices<'_>) -> Entry {
    let mut functions = Vec::new();
    for _ in 0..from.below(4) {
        let number = from.below(FUNCTIONS.len());
        let output = match from.below(3) {
            0 => Operand::Table(from.below(VARIABLES.into()) as u8),
            _ => Operand::Flow(from.below(VARIABLES.into()) as u8),
        };
        let operands = 0..FUNCTIONS[number].1;
        functions.push(Function {
            number,
            output,
            operands: operands.map(|i| Operand::chosen(from, i == 1)).collect(),
            coefficients: [(); 4].map(|()| from.below(256) as u8 as i8),
        });
    }
    Entry {
        state: from.below(5).checked_sub(1).map(|state| state as u32),
        condition: match from.below(3) {
            0 => None,
            id => Some((id as u8 - 1, [0, 1, 1, 255][from.below(4)])),
        },
        port: from.below(5).checked_sub(2).map(|port| PORTS[port]),
        functions,
        transition: (from.below(3) > 0).then(|| Transition {
            state: from.below(4) as u32,
            mask: [u32::MAX, 1, 3][from.below(3)],
            timers: [from.timer(), from.timer()],
        }),
        output: 2 + from.below(2) as u32,
    }
}

impl Entry {
    pub fn text(&self, priority: usize) -> String {
        let mut text = format!("priority={priority},udp,");
        self.state
            .iter()
            .for_each(|state| text += &format!("state={state},"));
        if let Some((id, outcome)) = self.condition {
            text += &format!("condition{id}={outcome},");
        }
        self.port
            .iter()
            .for_each(|port| text += &format!("udp_dst={port},"));
        text += "actions=";
        for Function {
            number,
            output,
            operands,
            coefficients: [a, b, c, d],
        } in &self.functions
        {
            let operands: Vec<_> = operands.iter().map(|operand| operand.text()).collect();
            text += &format!(
                "set_data_var(output={},function={},operands={},coefficients={a}+{b}+{c}+{d}),",
                output.text(),
                FUNCTIONS[*number].0,
                operands.join("+")
            );
        }
        if let Some(Transition {
            state,
            mask,
            timers: [hard, idle],
        }) = &self.transition
        {
            text += &format!(
                "set_state(opp,state={state}/{mask},hard_timeout={},hard_rollback={},\
                 idle_timeout={},idle_rollback={}),",
                hard.0, hard.1, idle.0, idle.1
            );
        }
        text + &format!("output:{}", self.output)
    }
}

impl Model {
    /// A machine without flows.
    pub fn chosen(from: &mut Choices<'_>) -> Self {
        Self {
            updates_destination: from.below(4) == 3,
            conditions: vec![Condition::chosen(from), Condition::chosen(from)],
            entries: (0..1 + from.below(ENTRIES - 1))
                .map(|_| entry(from))
                .collect(),
            flows: BTreeMap::new(),
            globals: [0; 8],
        }
    }
}

impl Condition {
    fn chosen(from: &mut Choices<'_>) -> Self {
        Self {
            comparison: from.below(COMPARISONS.len()),
            operands: [Operand::chosen(from, false), Operand::chosen(from, false)],
        }
    }
}

/// A number modulo 2^32.
fn modulo(number: u64) -> u32 {
    number as u32
}
