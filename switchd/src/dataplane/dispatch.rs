//! How frames are divided among workers: the rule of each port's sockets, and which inputs need the
//! states of all flows in one worker.

use bofuss_agent::ConnId;
use bofuss_datapath::{
    DispatchBy, DispatchFields, Division, HashedWord, TakenStates, Time, last_factor,
    may_use_states, replica_of_port,
};
use bofuss_oflib::field::Header;
use bofuss_oflib::message::bundle::BundleControlType;
use bofuss_oflib::message::multipart::RequestBody;
use bofuss_oflib::{Message, PortNo};
use bofuss_packet::{Layout, survey};
use bofuss_ports::{FanoutHeader, FanoutRule, FanoutWord};
use serde_json::{Value, json};

/// The part of the time that is spent on moving states for messages at most: one in so many.
const MOST_SHARE: u64 = 20;
/// How long the first worker keeps all states at least, in nanoseconds.
const LEAST_PAUSE_NS: u64 = 100_000_000;
/// The most time that counts of what workers waited for room, in nanoseconds: that of moving flows
/// to the first worker and away.
const MOST_WAITED_NS: u64 = 200_000_000;

/// How frames are divided among workers.
pub(super) struct DispatchNow {
    /// By what. Errors: why all frames are with the first worker.
    pub(super) standing: Result<Division, String>,
    /// The secret of the hash of fields.
    pub(super) secret: u64,
    /// What was asked for.
    pub(super) by: DispatchBy,
    /// True if packets have states, which are in the worker of their packets.
    pub(super) has_states: bool,
    /// True if each worker has the states of its packets; otherwise the first has all.
    pub(super) are_apart: bool,
    /// Connections that have begun to read states.
    pub(super) readers: Vec<ConnId>,
    /// When the first worker got the states of all last, for a message,
    gathered: Time,
    /// and how long that took, in nanoseconds.
    gathering_ns: u64,
    /// How long workers have waited since then for room at ports, because flows moved.
    waited_ns: u64,
    /// Until when the first worker keeps all, because messages that need them follow each other.
    kept_until: Option<Time>,
    /// True if something has to see all frames.
    pub(super) is_watched: bool,
}

/// The states of flows that the first worker had, to be divided.
pub(super) struct GivenStates {
    pub(super) division: Division,
    pub(super) states: Vec<TakenStates>,
}

impl DispatchNow {
    /// That of workers that begin.
    pub(super) fn new(by: DispatchBy) -> Self {
        Self {
            standing: Err("workers begin".into()),
            secret: 0,
            by,
            has_states: false,
            are_apart: false,
            readers: Vec::new(),
            gathered: Time(0),
            gathering_ns: 0,
            waited_ns: 0,
            kept_until: None,
            is_watched: false,
        }
    }

    /// The rule by which the sockets of a port share its frames among so many workers.
    pub(super) fn rule(&self, port: PortNo, workers: usize) -> FanoutRule {
        match self.standing {
            Err(_) => FanoutRule::Only(0),
            Ok(Division::Flows) => FanoutRule::Flows,
            Ok(Division::Port) => FanoutRule::Only(replica_of_port(port.0, workers)),
            Ok(Division::Fields(fields)) => FanoutRule::Words {
                words: fields.words(self.secret).map(word).collect(),
                last_factor: last_factor(self.secret),
            },
        }
    }

    /// Notes that a message needed the states of all, and between which times they were moved if
    /// they were apart. If that would take a good part of the time, they stay together for a while.
    pub(super) fn note_need(&mut self, were_apart: bool, (begin, end): (Time, Time)) {
        let moving_ns = self.gathering_ns + self.waited_ns;
        let is_often = begin.since(self.gathered) < MOST_SHARE * moving_ns;
        if were_apart {
            (self.gathered, self.gathering_ns) = (end, end.since(begin) + self.waited_ns);
            self.waited_ns = 0;
        }
        if self.kept_until.is_some() || were_apart && is_often {
            let pause_ns = LEAST_PAUSE_NS.max(MOST_SHARE * self.gathering_ns);
            self.kept_until = Some(end.after(pause_ns));
        }
    }

    /// Notes between which times workers waited for room at ports, because flows moved: then no
    /// worker forwards, so it counts as the time of moving states.
    pub(super) fn note_wait(&mut self, (begin, end): (Time, Time)) {
        self.waited_ns = MOST_WAITED_NS.min(self.waited_ns + end.since(begin));
    }

    /// Until when the first worker keeps all states, if that is later than now.
    pub(super) fn kept_until(&self) -> Option<Time> {
        self.kept_until
    }

    /// Lets states be divided again if it is time.
    pub(super) fn end_pause(&mut self, now: Time) {
        self.kept_until = self.kept_until.filter(|until| *until > now);
    }

    /// By what states are divided; `None` if the first worker is to have all.
    pub(super) fn of_states(&self) -> Option<Division> {
        let division = self.standing.as_ref().ok().copied();
        division.filter(|division| *division != Division::Flows)
    }

    /// The fields by which frames are divided, if they are.
    pub(super) fn fields(&self) -> Option<DispatchFields> {
        match self.standing {
            Ok(Division::Fields(fields)) => Some(fields),
            Ok(Division::Flows | Division::Port) | Err(_) => None,
        }
    }

    /// The worker of `workers` that has the states of a frame that the kernel may have given to the
    /// first because it has many VLAN tags; `None` if it has at most one.
    pub(super) fn owner(&self, frame: &[u8], workers: usize) -> Option<usize> {
        let fields = self.fields()?;
        let is_tag = |at: usize| {
            let number = frame.get(at..at + 2);
            matches!(number, Some([0x81, 0] | [0x88, 0xa8] | [0x91, 0]))
        };
        if !is_tag(12) || !is_tag(16) {
            return None;
        }
        let mut layout = Layout::EMPTY;
        survey(frame, &mut layout);
        Some(fields.replica_of_frame((&layout, frame), (workers, self.secret)))
    }

    /// Says how frames are divided.
    pub(super) fn sentence(&self) -> String {
        let with_states = if self.has_states {
            ", which has the states of its packets"
        } else {
            ""
        };
        match &self.standing {
            Ok(Division::Flows) => "each flow in one of all workers".into(),
            Ok(Division::Port) => format!("each port in one of all workers{with_states}"),
            Ok(Division::Fields(fields)) => {
                format!("each {fields} in one of all workers{with_states}")
            }
            Err(why) => format!("all flows in worker 0, because {why}"),
        }
    }

    /// The same for programs: by what, and why not by more.
    pub(super) fn values(&self) -> (Value, Option<&str>) {
        match &self.standing {
            Ok(Division::Flows) => (json!("flows"), None),
            Ok(Division::Port) => (json!("port"), None),
            Ok(Division::Fields(fields)) => (json!(format!("fields={fields}")), None),
            Err(why) => (json!("one"), Some(why)),
        }
    }
}

/// A word of the hash, for the program of the kernel.
fn word(word: HashedWord) -> FanoutWord {
    let headers = [
        (Header::Eth, FanoutHeader::Ethernet),
        (Header::Ipv4, FanoutHeader::Ipv4),
        (Header::Ipv6, FanoutHeader::Ipv6),
    ];
    let mut headers = headers.into_iter();
    let found = headers.find(|(header, _)| *header == word.header);
    let (_, header) = found.expect("addresses are in these headers");
    FanoutWord {
        header,
        at: word.at as u32,
        bytes: word.bytes as u8,
        factor: word.factor,
    }
}

/// Returns true if a message may read or change states of flows, which then are in one worker. With
/// egress tables, each packet-out may.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "states are only in what extensions have, and in what sends packets through tables"
)]
pub(super) fn needs_states(message: &Message, has_egress: bool) -> bool {
    match message {
        Message::Experimenter(_) => true,
        Message::BundleControl(control) => control.ty == BundleControlType::COMMIT_REQUEST,
        Message::PacketOut(out) => has_egress || may_use_states(&out.actions),
        _ => reads_states(message),
    }
}

/// Returns true if a message asks for what may be states.
pub(super) fn reads_states(message: &Message) -> bool {
    let Message::MultipartRequest(request) = message else {
        return false;
    };
    matches!(request.body, RequestBody::Experimenter(_))
}

#[cfg(test)]
mod tests {
    use bofuss_oflib::message::PacketOut;
    use bofuss_oflib::{Action, Mac};
    use bofuss_packet::craft;

    use super::*;

    const WORKERS: usize = 3;

    fn by(fields: DispatchFields) -> DispatchNow {
        DispatchNow {
            standing: Ok(Division::Fields(fields)),
            secret: 0x5ec2_e700_0bad_cafe,
            ..DispatchNow::new(DispatchBy::Auto)
        }
    }

    fn named(names: &[&str]) -> DispatchFields {
        let fields = names.iter().map(|name| DispatchFields::named(name));
        fields.fold(DispatchFields::default(), |all, one| all.or(one.unwrap()))
    }

    /// The socket that the program of the kernel chooses for a frame of IPv4 with so many tags.
    fn socket(rule: &FanoutRule, frame: &[u8], tags: usize) -> usize {
        let FanoutRule::Words { words, last_factor } = rule else {
            panic!("{rule:?}");
        };
        let sum = words.iter().fold(0_u32, |sum, word| {
            let start = match word.header {
                FanoutHeader::Ethernet => 0,
                FanoutHeader::Ipv4 => 14 + 4 * tags,
                FanoutHeader::Ipv6 => return sum,
            };
            let at = start + word.at as usize;
            let bytes = frame[at..at + usize::from(word.bytes)].iter();
            let number = bytes.fold(0, |number, byte| number << 8 | u32::from(*byte));
            sum.wrapping_add(number.wrapping_mul(word.factor))
        });
        let mixed = (sum ^ sum >> 16).wrapping_mul(*last_factor) >> 16;
        (mixed as usize * WORKERS) >> 16
    }

    fn frame(source: u8, tags: usize) -> Vec<u8> {
        let udp = craft::udp(1000, 53, b"x");
        let ip = craft::ipv4([10, 0, 0, source].into(), [10, 0, 0, 9].into(), 64, udp);
        let mut frame = craft::ethernet(Mac([4; 6]), Mac([2, 0, 0, 0, 0, source]), ip);
        for _ in 0..tags {
            frame.splice(12..12, [0x81, 0, 0, 7]);
        }
        frame
    }

    #[test]
    fn the_kernel_gives_a_frame_to_the_worker_that_has_its_state() {
        let source = named(&["ipv4_src"]);
        let both = named(&["ipv4_src", "ipv4_dst"]);
        let all = [
            source,
            both,
            both.either_way(),
            named(&["eth_src", "ipv6_dst"]),
        ];
        for dispatch in all.map(by) {
            let rule = dispatch.rule(PortNo(1), WORKERS);
            let mut used = [0; WORKERS];
            for (number, tags) in (0..=255).flat_map(|number| [0, 1, 2, 30].map(|t| (number, t))) {
                let frame = frame(number, tags);
                let mut layout = Layout::EMPTY;
                survey(&frame, &mut layout);
                let fields = dispatch.fields().unwrap();
                let place = (WORKERS, dispatch.secret);
                let owner = fields.replica_of_frame((&layout, &frame), place);
                assert_eq!(socket(&rule, &frame, tags), owner);
                let said = dispatch.owner(&frame, WORKERS);
                assert_eq!(said, (tags > 1).then_some(owner));
                used[owner] += 1;
            }
            assert!(used.iter().all(|count| *count > 0), "{used:?}");
        }
    }

    #[test]
    fn a_packet_out_needs_states_where_it_passes_tables() {
        let out = |port| {
            Message::PacketOut(PacketOut {
                actions: vec![Action::output(port)],
                ..PacketOut::default()
            })
        };
        assert!(needs_states(&out(PortNo::TABLE), false));
        assert!(!needs_states(&out(PortNo(2)), false));
        assert!(needs_states(&out(PortNo(2)), true), "an egress table");
    }

    #[test]
    fn states_stay_together_while_messages_that_need_them_follow_each_other() {
        const MS: u64 = 1_000_000;
        let mut dispatch = by(named(&["ipv4_src"]));
        let mut need = |were_apart, at: u64| {
            dispatch.end_pause(Time(at * MS));
            dispatch.note_need(were_apart, (Time(at * MS), Time((at + 2) * MS)));
            dispatch.kept_until().map(|until| until.0 / MS)
        };
        assert_eq!(need(true, 1000), None);
        assert_eq!(need(true, 1100), None, "2 of 100 ms");
        assert_eq!(need(true, 1130), Some(1232), "2 of 30 ms");
        assert_eq!(need(false, 1200), Some(1302), "they are together");
        assert_eq!(need(true, 1400), None);
    }

    #[test]
    fn states_stay_together_longer_if_ports_have_no_room_when_flows_move() {
        const MS: u64 = 1_000_000;
        let mut dispatch = by(named(&["ipv4_src"]));
        let times = |begin: u64, end: u64| (Time(begin * MS), Time(end * MS));
        dispatch.note_need(true, times(1000, 1002));
        dispatch.note_wait(times(1002, 1052));
        dispatch.note_need(true, times(1500, 1502));
        let until = dispatch.kept_until();
        assert_eq!(until, Some(Time((1502 + 20 * 52) * MS)), "52 of 500 ms");
    }

    #[test]
    fn a_rule_and_a_sentence_say_by_what_frames_are_divided() {
        let mut dispatch = by(named(&["ipv4_src"]));
        dispatch.has_states = true;
        let said = dispatch.sentence();
        assert!(said.starts_with("each ipv4_src in one"), "{said}");
        assert_eq!(dispatch.values(), (json!("fields=ipv4_src"), None));
        dispatch.standing = Ok(Division::Port);
        let rules = [4, 5].map(|port| dispatch.rule(PortNo(port), WORKERS));
        assert_eq!(rules, [FanoutRule::Only(1), FanoutRule::Only(2)]);
        dispatch.standing = Ok(Division::Flows);
        assert_eq!(dispatch.of_states(), None);
        assert_eq!(dispatch.rule(PortNo(5), WORKERS), FanoutRule::Flows);
        dispatch.standing = Err("it rains".into());
        assert_eq!(dispatch.rule(PortNo(5), WORKERS), FanoutRule::Only(0));
        assert_eq!(dispatch.values(), (json!("one"), Some("it rains")));
    }
}
