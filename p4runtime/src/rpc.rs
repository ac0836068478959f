//! The calls of the service, each with its checks.

use std::sync::Arc;
use std::time::Duration;

use bofuss_channel::PeerSource;
use prost::Message;
use prost::bytes::Bytes;
use tokio::sync::{Mutex, mpsc};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Response, Status, Streaming};

use crate::arbitration::StreamId;
use crate::device::Device;
use crate::entities::steps;
use crate::error::{Refusal, Result, batch};
use crate::pipeline::Pipeline;
use crate::room::{Peer, Share};
use crate::streams::Outgoing;
use crate::wire::entities::Entity;
use crate::wire::messages::{
    CapabilitiesRequest, CapabilitiesResponse, ForwardingPipelineConfig,
    GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigRequestResponseType as Wanted,
    GetForwardingPipelineConfigResponse, ReadRequest, ReadResponse,
    SetForwardingPipelineConfigRequest, SetForwardingPipelineConfigResponse, StreamError,
    StreamErrorDetails, StreamMessageRequest, StreamMessageRequestUpdate,
    StreamMessageResponseUpdate, Uint128, Update, WriteRequest, WriteRequestAtomicity,
    WriteRequestSender, WriteResponse,
};
use crate::wire::messages::{DigestListAckError, PacketOutError, StreamOtherError};

/// The version of P4Runtime that is spoken.
const VERSION: &str = "1.4.0";
/// Responses of a read that wait for a slow reader.
const READ_ROOM: usize = 2;
/// The most entities that a request to read may have.
const MAX_ASKED: usize = 4096;
/// How long a response may wait for a reader that does not read.
const PATIENCE: Duration = Duration::from_secs(60);
/// Up to this length, in bytes, a request to write is decoded at once.
const SHORT: usize = 64 << 10;
/// How long a stream has for its first message.
const FIRST_MESSAGE: Duration = Duration::from_secs(10);

/// Takes the responses of a read.
type Answers = mpsc::Sender<Result<ReadResponse, Status>>;

/// The service. Clones share it.
#[derive(Clone)]
pub struct Calls {
    pub device_id: u64,
    pub device: Device,
    /// Who may decode a long request.
    pub long_requests: Arc<Mutex<()>>,
}

impl Calls {
    fn check_device(&self, id: u64) -> Result<()> {
        if id == self.device_id {
            return Ok(());
        }
        let what = format!("there is no device {id}, only {}", self.device_id);
        Err(Refusal::not_found(what))
    }

    pub async fn capabilities(
        self,
        _: Request<CapabilitiesRequest>,
    ) -> Result<Response<CapabilitiesResponse>, Status> {
        let p4runtime_api_version = VERSION.into();
        Ok(Response::new(CapabilitiesResponse {
            p4runtime_api_version,
        }))
    }

    pub async fn set_pipeline(
        self,
        request: Request<SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<SetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        self.check_device(request.device_id)?;
        let action = request.action();
        let may = self.writer(request.role_id, request.role, request.election_id);
        may()?;
        self.device.configure(action, request.config, may).await?;
        Ok(Response::new(SetForwardingPipelineConfigResponse {}))
    }

    pub async fn get_pipeline(
        self,
        request: Request<GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<GetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        self.check_device(request.device_id)?;
        let wanted = request.response_type();
        let part = |bytes: &Vec<u8>, only| match wanted {
            Wanted::All => bytes.clone(),
            wanted if wanted == only => bytes.clone(),
            _ => Vec::new(),
        };
        let config = self.device.config().map(|config| ForwardingPipelineConfig {
            p4info: part(&config.p4info, Wanted::P4infoAndCookie),
            p4_device_config: part(&config.p4_device_config, Wanted::DeviceConfigAndCookie),
            cookie: config.cookie,
        });
        Ok(Response::new(GetForwardingPipelineConfigResponse {
            config,
        }))
    }

    pub async fn write(self, request: Request<Bytes>) -> Result<Response<WriteResponse>, Status> {
        let share = request.extensions().get::<Share>().cloned();
        let bytes = request.into_inner();
        let sender: WriteRequestSender = decoded(&bytes)?;
        self.check_device(sender.device_id)?;
        let may = self.writer(sender.role_id, sender.role, sender.election_id);
        may()?;
        let request = self.request_to_write(bytes).await?;
        take::<Update>(share.as_ref(), request.updates.len())?;
        if request.atomicity() != WriteRequestAtomicity::ContinueOnError {
            let what = "batches that are made whole or not at all are not there";
            return Err(Refusal::missing(what).into());
        }
        batch("updates", &self.device.write(request.updates, may).await?)?;
        Ok(Response::new(WriteResponse {}))
    }

    /// Refuses a controller that is not the primary at the time of the call: another may be elected
    /// while a request waits for its turn.
    fn writer(
        &self,
        role_id: u64,
        role: String,
        election: Option<Uint128>,
    ) -> impl Fn() -> Result<()> + Send + 'static + use<> {
        let streams = self.device.streams.clone();
        move || streams.check(role_id, &role, election.as_ref())
    }

    /// Decodes a request; a long one on a thread of its own, and one of these at a time.
    async fn request_to_write(&self, bytes: Bytes) -> Result<WriteRequest> {
        if bytes.len() <= SHORT {
            return decoded(&bytes);
        }
        let _turn = self.long_requests.lock().await;
        let decoding = spawn_blocking(move || decoded(&bytes));
        let ended = |_| Refusal::unavailable("the switch is ending");
        decoding.await.map_err(ended)?
    }

    pub async fn read(
        self,
        request: Request<ReadRequest>,
    ) -> Result<Response<ReceiverStream<Result<ReadResponse, Status>>>, Status> {
        let share = request.extensions().get::<Share>().cloned();
        let request = request.into_inner();
        self.check_device(request.device_id)?;
        let asked = request.entities;
        if asked.len() > MAX_ASKED {
            let what = format!("a read has at most {MAX_ASKED} entities");
            return Err(Refusal::new(Code::ResourceExhausted, what).into());
        }
        take::<Entity>(share.as_ref(), asked.len())?;
        let pipeline = self.device.running()?;
        let (queue, answers) = mpsc::channel(READ_ROOM);
        tokio::spawn(async move {
            // What the request took is given back when all is read.
            let _share = share;
            let status = match self.read_all(&pipeline, &asked, &queue).await {
                Ok(results) => batch("requests", &results).err(),
                Err(end) => end.map(Status::from),
            };
            if let Some(status) = status {
                // The reader learns why its stream ends here, if it still reads.
                let _ = timeout(PATIENCE, queue.send(Err(status))).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(answers)))
    }

    /// Reads what all entities of a request ask for, one after the other. Returns what became of
    /// each. Errors: why no further one is read; `None` if nobody takes it.
    async fn read_all(
        &self,
        pipeline: &Pipeline,
        asked: &[Entity],
        queue: &Answers,
    ) -> Result<Vec<Result<()>>, Option<Refusal>> {
        let mut results = Vec::with_capacity(asked.len());
        for entity in asked {
            results.push(self.read_one(pipeline, entity, queue).await?);
        }
        Ok(results)
    }

    /// Reads what one entity asks for. Returns what became of it. Errors: as for
    /// [`Self::read_all`].
    async fn read_one(
        &self,
        pipeline: &Pipeline,
        asked: &Entity,
        queue: &Answers,
    ) -> Result<Result<()>, Option<Refusal>> {
        let steps = match steps(&pipeline.info, asked) {
            Ok(steps) => steps,
            Err(refusal) => return Ok(Err(refusal)),
        };
        for step in steps {
            let mut next = Some(step);
            while let Some(step) = next {
                let read = self.device.read(pipeline, step).await.map_err(Some)?;
                let (entities, rest) = match read {
                    Ok(read) => read,
                    Err(refusal) => return Ok(Err(refusal)),
                };
                next = rest;
                if entities.is_empty() {
                    continue;
                }
                let answer = Ok(ReadResponse { entities });
                if !matches!(timeout(PATIENCE, queue.send(answer)).await, Ok(Ok(()))) {
                    return Err(None);
                }
            }
        }
        Ok(Ok(()))
    }

    pub async fn stream(
        self,
        request: Request<Streaming<StreamMessageRequest>>,
    ) -> Result<Response<ReceiverStream<Outgoing>>, Status> {
        let peer = Peer::of(request.extensions());
        let source = peer.map_or(PeerSource::User(None), |peer| peer.source);
        let opened = self.device.streams.open(source)?;
        let waiting = opened.waiting;
        tokio::spawn(async move {
            let _place = opened.place;
            self.follow(opened.stream, request.into_inner()).await;
        });
        Ok(Response::new(ReceiverStream::new(waiting)))
    }

    /// Serves a stream until it ends.
    async fn follow(self, stream: StreamId, mut requests: Streaming<StreamMessageRequest>) {
        let mut reason = None;
        let mut within = FIRST_MESSAGE;
        loop {
            let handled = match timeout(within, requests.message()).await {
                Ok(Ok(Some(request))) => self.handle(stream, request).await,
                // An error of the stream is its end, too.
                Ok(Ok(None) | Err(_)) => break,
                Err(_) => {
                    let what = "the first message did not come in time";
                    Err(Refusal::new(Code::DeadlineExceeded, what))
                }
            };
            if let Err(refusal) = handled {
                reason = Some(refusal);
                break;
            }
            within = Duration::MAX;
        }
        self.device.streams.close(stream, reason);
    }

    /// Handles a message of a stream. Errors: the stream is to end.
    async fn handle(&self, stream: StreamId, request: StreamMessageRequest) -> Result<()> {
        let streams = &self.device.streams;
        let Some(update) = request.update else {
            return Err(Refusal::invalid("the message has no update"));
        };
        let (result, details) = match update {
            StreamMessageRequestUpdate::Arbitration(update) => {
                if let Err(refusal) = self.check_device(update.device_id) {
                    let is_known = streams.has_role(stream);
                    let other = || Refusal::precondition("a stream cannot change its device");
                    return Err(if is_known { other() } else { refusal });
                }
                return streams.arbitrate(stream, &update);
            }
            StreamMessageRequestUpdate::Packet(packet) => {
                let sent = match streams.check_stream(stream) {
                    Ok(()) => self.device.packet_out(&packet).await,
                    Err(refusal) => Err(refusal),
                };
                let packet_out = Some(packet);
                let details = PacketOutError { packet_out };
                (sent, StreamErrorDetails::PacketOut(details))
            }
            StreamMessageRequestUpdate::DigestAck(ack) => {
                let done = streams.check_stream(stream);
                let done = done.and_then(|()| self.device.acknowledge(&ack));
                let digest_list_ack = Some(ack);
                let details = DigestListAckError { digest_list_ack };
                (done, StreamErrorDetails::DigestListAck(details))
            }
            StreamMessageRequestUpdate::Other(other) => {
                let refusal = Refusal::missing("there are no other messages");
                let details = StreamOtherError { other: Some(other) };
                (Err(refusal), StreamErrorDetails::Other(details))
            }
        };
        let Err(refusal) = result else {
            return Ok(());
        };
        let error = StreamError {
            canonical_code: refusal.code as i32,
            message: refusal.message,
            details: Some(details),
            ..StreamError::default()
        };
        if streams.answer(stream, StreamMessageResponseUpdate::Error(error)) {
            return Ok(());
        }
        let what = "the controller does not read its stream";
        Err(Refusal::new(Code::ResourceExhausted, what))
    }
}

/// A message. Errors: bytes that are none.
fn decoded<M: Message + Default>(bytes: &Bytes) -> Result<M> {
    M::decode(&**bytes).map_err(|error| Refusal::invalid(error.to_string()))
}

/// Takes what `count` values of a request need. Errors: there is no room.
fn take<T>(share: Option<&Share>, count: usize) -> Result<()> {
    share.map_or(Ok(()), |share| share.take(count * size_of::<T>()))
}
