//! Hosts without the key play back every signed frame of a network, on every port of hosts.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use bofuss_datapath::Time;
use bofuss_ext::arppath::{NeighbourKind, PathPortRecord, PathRecord};
use bofuss_frame::Frame;
use bofuss_oflib::{Mac, PortNo};
use bofuss_sim::host::{Host, HostOutput};
use bofuss_sim::{EventKind, LinkState, LogEvent, NodeId, Observer};

use crate::net::{KEY, Lab, MS, PATH_TYPE, Plan, Trail};
use crate::{ring, slow_stream};

const SWITCHES: usize = 4;
/// When hosts ask, the first link fails, a host moves, and frames are first played back, and
/// when hosts stop to send; in milliseconds.
const FIRST: u64 = 4_000;
const FAILED: u64 = 5_000;
const MOVED: u64 = 10_000;
const PLAYED: u64 = 13_000;
const END: u64 = 60_000;
/// The least time after which frames are played back. Who passes frames on between two switches
/// without such a delay is a cable, and cannot be told from one.
const LATER: u64 = 1_000;
/// The number of frames that a host plays back in a millisecond.
const PACE: usize = 8;

/// The frames that hosts have yet to play back.
type Queue = Arc<Mutex<VecDeque<Vec<u8>>>>;

/// A host that plays back what it is given.
struct Player {
    queue: Queue,
    next: Time,
    /// Frames to one other host that came here.
    stolen: u32,
}

impl Host for Player {
    fn receive(&mut self, _: Time, frame: Frame, _: &mut HostOutput<'_>) {
        let bytes = frame.bytes();
        let is_to_one = bytes[0] & 1 == 0;
        self.stolen += u32::from(is_to_one && bytes[12..14] != PATH_TYPE);
    }

    fn tick(&mut self, now: Time, out: &mut HostOutput<'_>) {
        let mut queue = self.queue.lock().expect("nobody panics");
        for bytes in queue.drain(..).collect::<Vec<_>>() {
            assert!(out.send_bytes(&bytes), "the pool is large enough");
        }
        self.next = now.after(MS);
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.next)
    }
}

/// Everything that was sent in the network, by those who may sign.
#[derive(Default)]
struct Recorder {
    /// Signed frames, each with the switch at whose port of hosts it was seen; `None` if it was
    /// seen between switches.
    frames: Vec<(Option<usize>, Vec<u8>)>,
    /// Those who may sign, and the players, each with its switch.
    switches: Vec<NodeId>,
    players: BTreeMap<NodeId, usize>,
}

/// The observers of a network.
struct Both<'a>(&'a mut Trail, &'a mut Recorder);

impl Observer for Both<'_> {
    fn event(&mut self, event: &LogEvent<'_>) {
        let Self(trail, recorder) = self;
        let EventKind::Sent(direction, frame) = event.kind else {
            return;
        };
        let bytes = frame.bytes();
        let (first, second) = trail.ends[&direction.link];
        let (from, to) = if direction.back {
            (second, first)
        } else {
            (first, second)
        };
        trail.event(event);
        if bytes[12..14] == PATH_TYPE && recorder.switches.contains(&from) {
            let at = recorder.players.get(&to).copied();
            recorder.frames.push((at, bytes.to_vec()));
        }
    }
}

/// A network whose hosts 1 and 2 send each other datagrams all the time, with a player at each
/// switch, and one at the port of host 1.
struct Stage {
    lab: Lab,
    recorder: Recorder,
    /// The number of ports of each switch that lead to others.
    neighbours: u32,
    /// The frames that each player has yet to send, and its switch.
    players: Vec<(NodeId, Queue, usize)>,
    /// The players that are not on a hub.
    alone: Vec<NodeId>,
    /// The time in milliseconds.
    now: u64,
}

impl Stage {
    /// The network. By [`PLAYED`], frames of all kinds have been sent: hosts were found, links have
    /// failed, and a host has moved.
    fn new() -> Self {
        let mut lab = Lab::new(SWITCHES, &ring(SWITCHES, 10_000), &KEY);
        let hub = lab.add_bridge(&[0], &["actions=flood"], 1_000);
        let shared = lab.with_hosts(hub, 1);
        let mut this = Self::of(lab, [shared, 2], SWITCHES, 2);
        for (at, switch) in [(0, 0), (1, 1), (2, 2), (3, 3), (shared, 0)] {
            this.add_player(at, switch);
        }
        let (_, old) = this.lab.add_host(3, 1, &[(FIRST, Plan::Ask(1))]);
        let (_, new) = this.lab.add_host(3, 3, &[(MOVED + 10, Plan::Data(1))]);
        this.lab.plan_link(0, new, LinkState::Down);
        this.lab.plan_link(MOVED, old, LinkState::Down);
        this.lab.plan_link(MOVED, new, LinkState::Up);
        for link in [0, 1, 3] {
            let failing = this.lab.links[link].3;
            let at = FAILED + link as u64 * 1_000;
            this.lab.plan_link(at, failing, LinkState::Down);
            this.lab.plan_link(at + 900, failing, LinkState::Up);
        }
        this
    }

    /// Two switches with a hub between them, and a player at the hub.
    fn on_a_hub() -> Self {
        let mut lab = Lab::new(2, &[], &KEY);
        let hub = lab.add_bridge(&[0, 1], &["actions=flood"], 1_000);
        let shared = lab.with_hosts(hub, 2);
        let mut this = Self::of(lab, [0, 1], 2, 1);
        this.add_player(shared, 0);
        this
    }

    /// A network with hosts 1 and 2 at `homes`, of switches whose first ports lead to others.
    fn of(mut lab: Lab, homes: [usize; 2], switches: usize, neighbours: u32) -> Self {
        for (number, at) in [(1, homes[0]), (2, homes[1])] {
            let other = 3 - number;
            let mut plan = vec![(FIRST, Plan::Ask(other))];
            plan.extend(slow_stream(other, FIRST + 100..END));
            lab.add_host(number, at, &plan);
        }
        let recorder = Recorder {
            switches: lab.switches[..switches].to_vec(),
            ..Recorder::default()
        };
        Self {
            lab,
            recorder,
            neighbours,
            players: Vec::new(),
            alone: Vec::new(),
            now: 0,
        }
    }

    fn add_player(&mut self, at: usize, switch: usize) {
        let queue = Queue::default();
        let player = Player {
            queue: Arc::clone(&queue),
            next: Time(0),
            stolen: 0,
        };
        let (node, _) = self.lab.attach(at, Box::new(player));
        self.recorder.players.insert(node, switch);
        self.players.push((node, queue, switch));
        if at == switch {
            self.alone.push(node);
        }
    }

    fn run(&mut self, ms: u64) {
        self.now += ms;
        let mut both = Both(&mut self.lab.trail, &mut self.recorder);
        let ran = self.lab.network.run_until(Time(self.now * MS), &mut both);
        ran.expect("there is no storm");
    }

    /// Checks that no switch has a neighbour at a port of hosts.
    fn has_no_new_neighbour(&mut self) {
        for at in 0..self.recorder.switches.len() {
            let ports: Vec<PathPortRecord> = self.lab.list(at, "arp_path_ports");
            for port in ports.iter().filter(|port| port.port.0 > self.neighbours) {
                let is_of_hosts = match port.kind {
                    NeighbourKind::New | NeighbourKind::Hosts | NeighbourKind::Loop => true,
                    NeighbourKind::Switch
                    | NeighbourKind::Shared
                    | NeighbourKind::Unidirectional => false,
                };
                assert!(is_of_hosts, "switch {at}: {ports:?}");
            }
        }
    }

    /// Checks that the ports between switches have neighbours, and only these.
    fn has_its_neighbours(&mut self) {
        for at in 0..self.recorder.switches.len() {
            let ports: Vec<PathPortRecord> = self.lab.list(at, "arp_path_ports");
            let between = ports
                .iter()
                .filter(|port| port.kind == NeighbourKind::Switch);
            let between: Vec<u32> = between.map(|port| port.port.0).collect();
            let wanted: Vec<u32> = (1..=self.neighbours).collect();
            assert_eq!(between, wanted, "switch {at}: {ports:?}");
        }
    }

    /// The port towards each host, of each switch.
    fn entries(&mut self) -> Vec<Vec<(Mac, PortNo)>> {
        let mut all = Vec::new();
        for at in 0..self.recorder.switches.len() {
            let list: Vec<PathRecord> = self.lab.list(at, "arp_path_entries");
            all.push(list.iter().map(|entry| (entry.mac, entry.port)).collect());
        }
        all
    }

    /// Lets each player play back all frames, and checks that this has no effect.
    fn play(&mut self, what: &str) {
        let frames = self.recorder.frames.clone();
        self.run(LATER);
        let before = self.entries();
        let received = self.received();
        let since = self.now;
        for part in frames.chunks(PACE) {
            for (_, queue, _) in &self.players {
                let mut queue = queue.lock().expect("nobody panics");
                queue.extend(part.iter().map(|(_, bytes)| bytes.clone()));
            }
            self.run(1);
            self.has_no_new_neighbour();
        }
        self.run(100);
        self.has_no_new_neighbour();
        self.has_its_neighbours();
        assert_eq!(self.entries(), before, "{what}");
        let sent = (self.now - since) as usize / 10;
        for (was, is) in received.iter().zip(self.received()) {
            assert!(is + 1 - was >= sent, "{what}: {} of {sent}", is - was);
        }
        self.nothing_was_stolen(what);
    }

    /// Runs for a millisecond, in which each player plays back what it has just heard: all that
    /// passes between switches, and what is sent to the hosts of its own switch.
    fn echo(&mut self) {
        let heard = self.recorder.frames.len();
        self.run(1);
        for (seen_at, bytes) in &self.recorder.frames[heard..] {
            for (_, queue, switch) in &self.players {
                if seen_at.is_none_or(|at| at == *switch) {
                    queue
                        .lock()
                        .expect("nobody panics")
                        .push_back(bytes.clone());
                }
            }
        }
    }

    /// Checks that no player with a port of its own got a frame to another host.
    fn nothing_was_stolen(&self, what: &str) {
        for node in &self.alone {
            let player: &Player = self.lab.network.host_as(*node).expect("it is a player");
            assert_eq!(player.stolen, 0, "{what}");
        }
    }

    /// Returns how many datagrams hosts 1 and 2 have received.
    fn received(&self) -> [usize; 2] {
        [self.lab.arrived(0, 2), self.lab.arrived(1, 1)]
    }
}

#[test]
fn signed_frames_that_are_played_back_later_have_no_effect() {
    let mut stage = Stage::new();
    stage.run(PLAYED);
    let frames = &stage.recorder.frames;
    for kind in 1..=4 {
        let of_kind = frames.iter().filter(|(_, bytes)| bytes[15] == kind).count();
        assert!(
            of_kind >= 2,
            "{of_kind} frames of type {kind} were recorded"
        );
    }
    stage.play("later");
    for restarted in [&[0][..], &[1], &[0, 1]] {
        for at in restarted {
            stage.lab.restart(*at, &KEY);
        }
        stage.play(&format!("after a restart of {restarted:?}"));
    }
    assert!(stage.lab.metric("forged") > 100);
}

#[test]
fn signed_frames_that_are_played_back_on_a_hub_between_switches_have_no_effect() {
    let mut stage = Stage::on_a_hub();
    stage.run(PLAYED);
    stage.play("later");
    stage.lab.restart(1, &KEY);
    stage.play("after a restart");
    assert!(stage.lab.metric("replayed") > 100);
}

#[test]
fn signed_frames_that_are_played_back_at_once_have_no_effect() {
    let mut quiet = Stage::new();
    quiet.run(PLAYED);
    let mut stage = Stage::new();
    while stage.now < PLAYED {
        stage.echo();
        stage.has_no_new_neighbour();
    }
    assert_eq!(stage.entries(), quiet.entries());
    assert_eq!(stage.received(), quiet.received());
    stage.nothing_was_stolen("at once");
    assert!(stage.lab.metric("forged") > 100);
}
