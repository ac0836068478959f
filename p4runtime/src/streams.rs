//! The streams of controllers: who is there, and what waits for each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bofuss_channel::{ListenerPlace, PeerSource, Places};
use tokio::sync::mpsc;
use tonic::{Code, Status};

use crate::arbitration::{Arbitration, StreamId};
use crate::error::{Refusal, Result};
use crate::wire::messages::{
    MasterArbitrationUpdate, Role, Status as RpcStatus, StreamMessageResponse as Response,
    StreamMessageResponseUpdate as ResponseUpdate, Uint128,
};

/// What may wait for a controller, in messages.
const ROOM: usize = 256;
/// The room of these that only answers and arbitration may take.
const RESERVE: usize = 32;
/// The longest name of a role, in bytes.
const MAX_NAME: usize = 256;

/// What goes to a controller.
pub type Outgoing = std::result::Result<Response, Status>;

/// All streams. Clones share them.
#[derive(Clone)]
pub struct Streams(Arc<Mutex<State>>);

/// A new stream.
pub struct Opened {
    pub stream: StreamId,
    /// What waits for its controller.
    pub waiting: mpsc::Receiver<Outgoing>,
    /// To be kept as long as it is served.
    pub place: ListenerPlace,
}

struct State {
    device_id: u64,
    arbitration: Arbitration,
    queues: BTreeMap<StreamId, mpsc::Sender<Outgoing>>,
    places: Places,
    next: StreamId,
    ended: bool,
}

impl Streams {
    /// None yet, of a device.
    pub fn new(device_id: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            device_id,
            arbitration: Arbitration::default(),
            queues: BTreeMap::new(),
            places: Places::default(),
            next: 0,
            ended: false,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new stream of a source. Errors: there are too many, the server ends.
    pub fn open(&self, source: PeerSource) -> Result<Opened> {
        let mut state = self.state();
        if state.ended {
            return Err(Refusal::unavailable("the switch is ending"));
        }
        let Some(place) = state.places.take(source) else {
            let what = "there are too many controllers";
            return Err(Refusal::new(Code::ResourceExhausted, what));
        };
        let (queue, waiting) = mpsc::channel(ROOM);
        state.next += 1;
        let stream = state.next;
        state.queues.insert(stream, queue);
        Ok(Opened {
            stream,
            waiting,
            place,
        })
    }

    /// A stream ends; those of its role are told if it was the primary's.
    pub fn close(&self, stream: StreamId, reason: Option<Refusal>) {
        let mut state = self.state();
        let queue = state.queues.remove(&stream);
        if let (Some(queue), Some(reason)) = (queue, reason) {
            // A controller that does not read learns it from the end alone.
            let _ = queue.try_send(Err(reason.into()));
        }
        let others = state.arbitration.leave(stream);
        state.notify(&others);
    }

    /// All streams end.
    pub fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        state.queues.clear();
    }

    /// Returns true if the controller of a stream has said what role it has.
    pub fn has_role(&self, stream: StreamId) -> bool {
        self.state().arbitration.role(stream).is_some()
    }

    /// A controller says what role and election id it has. Errors: they are refused, and the stream
    /// is to end.
    pub fn arbitrate(&self, stream: StreamId, update: &MasterArbitrationUpdate) -> Result<()> {
        let role = update.role.clone().unwrap_or_default();
        if role.config.is_some() {
            return Err(Refusal::invalid("configurations of roles are not there"));
        }
        if role.name.len() > MAX_NAME {
            let what = format!("the name of a role has at most {MAX_NAME} bytes");
            return Err(Refusal::invalid(what));
        }
        let election = update.election_id.as_ref().map(number);
        let mut state = self.state();
        let notify = state
            .arbitration
            .update(stream, &role_name(role.id, &role.name), election)?;
        state.notify(&notify);
        if !state.queues.contains_key(&stream) {
            let what = "the controller does not read its stream";
            return Err(Refusal::new(Code::ResourceExhausted, what));
        }
        Ok(())
    }

    /// Errors: who has this election id may not write as this role.
    pub fn check(&self, role_id: u64, role: &str, election: Option<&Uint128>) -> Result<()> {
        let role = role_name(role_id, role);
        self.state().arbitration.check(&role, election.map(number))
    }

    /// Errors: the stream is not that of a primary.
    pub fn check_stream(&self, stream: StreamId) -> Result<()> {
        let state = self.state();
        match state.arbitration.standing(stream) {
            Some(standing) if standing.code == Code::Ok => Ok(()),
            _ => Err(Refusal::denied("only the primary controller may send this")),
        }
    }

    /// Answers a stream. Returns false if it has no room.
    pub fn answer(&self, stream: StreamId, update: ResponseUpdate) -> bool {
        let state = self.state();
        state.send(stream, update)
    }

    /// Tells the primary of every role. Returns how many had no room, or 1 if there is no primary.
    pub fn publish(&self, update: &ResponseUpdate) -> u64 {
        let state = self.state();
        let primaries = state.arbitration.primaries();
        if primaries.is_empty() {
            return 1;
        }
        let mut lost = 0;
        for stream in primaries {
            let has_room = |queue: &mpsc::Sender<_>| queue.capacity() > RESERVE;
            let has_room = state.queues.get(&stream).is_some_and(has_room);
            if !has_room || !state.send(stream, update.clone()) {
                lost += 1;
            }
        }
        lost
    }

    /// Whether a primary is there.
    pub fn has_primary(&self) -> bool {
        !self.state().arbitration.primaries().is_empty()
    }
}

impl State {
    fn send(&self, stream: StreamId, update: ResponseUpdate) -> bool {
        let update = Some(update);
        let queue = self.queues.get(&stream);
        queue.is_some_and(|queue| queue.try_send(Ok(Response { update })).is_ok())
    }

    /// Tells streams how they stand. One that has no room ends.
    fn notify(&mut self, streams: &[StreamId]) {
        let mut full = Vec::new();
        for stream in streams {
            let Some(standing) = self.arbitration.standing(*stream) else {
                continue;
            };
            let role = self.arbitration.role(*stream).unwrap_or("");
            let message = match standing.code {
                Code::Ok => "you are the primary",
                Code::AlreadyExists => "another controller is the primary",
                _ => "there is no primary",
            };
            let update = MasterArbitrationUpdate {
                device_id: self.device_id,
                role: wire_role(role),
                election_id: standing.highest.map(|highest| Uint128 {
                    high: (highest >> 64) as u64,
                    low: highest as u64,
                }),
                status: Some(RpcStatus {
                    code: standing.code as i32,
                    message: message.into(),
                    details: Vec::new(),
                }),
            };
            if !self.send(*stream, ResponseUpdate::Arbitration(update)) {
                full.push(*stream);
            }
        }
        for stream in full {
            // Its task notices that it may not go on.
            self.queues.remove(&stream);
        }
    }
}

/// The value of an election id.
fn number(id: &Uint128) -> u128 {
    u128::from(id.high) << 64 | u128::from(id.low)
}

/// Roles have names; the numbers of older controllers are names of their own.
fn role_name(id: u64, name: &str) -> String {
    match (id, name) {
        (0, name) => name.into(),
        (id, "") => format!("#{id}"),
        (_, name) => name.into(),
    }
}

fn wire_role(name: &str) -> Option<Role> {
    if name.is_empty() {
        return None;
    }
    let number = name
        .strip_prefix('#')
        .and_then(|digits| digits.parse().ok());
    Some(match number {
        Some(id) => Role {
            id,
            ..Role::default()
        },
        None => Role {
            name: name.into(),
            ..Role::default()
        },
    })
}
