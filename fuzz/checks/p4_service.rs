//! Any bytes in requests of P4Runtime get an answer in time, and the switch goes on.
//!
//! An input is up to eight requests: a byte that says which, two bytes of length, and the message.
//! Device, role and election id are appended, so that they pass arbitration.

use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use bofuss_p4::{Digest, Program, Sent, Sink, Switch};
use bofuss_p4runtime::wire::entities::{Entity, EntityKind, TableEntry};
use bofuss_p4runtime::wire::messages::{
    ForwardingPipelineConfig, MasterArbitrationUpdate, ReadRequest, ReadResponse,
    SetForwardingPipelineConfigRequest, SetForwardingPipelineConfigRequestAction,
    Status as Details, StreamMessageRequest, StreamMessageRequestUpdate, Uint128, Update,
    UpdateType, WriteRequest,
};
use bofuss_p4runtime::{Job, Pipeline, Reports, Server, Settings};
use prost::Message;
use prost::bytes::{Buf, BufMut};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};

const PROGRAM: &[u8] = include_bytes!("../../testdata/p4/controlled/controlled.json");
const P4INFO: &str = include_str!("../../testdata/p4/controlled/controlled.p4info.txt");
const CPU_PORT: u32 = 510;
/// The requests of one input.
const MOST: usize = 8;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The highest that there is, so that no other controller becomes the primary.
const ELECTION: Uint128 = Uint128 {
    high: u64::MAX,
    low: u64::MAX,
};

/// Messages as the bytes that they are.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, bytes: Vec<u8>, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put_slice(&bytes);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining()).into()))
    }
}

/// Reports what is for the CPU port, and drops what leaves elsewhere.
struct Outlet(Reports);

impl Sink for Outlet {
    fn transmit(&mut self, sent: Sent) {
        if sent.port == CPU_PORT {
            self.0.packet(sent.frame);
        }
    }

    fn digest(&mut self, digest: Digest) {
        self.0.digest(digest);
    }
}

/// A server and its primary.
struct Running {
    runtime: Runtime,
    grpc: Grpc<Channel>,
    /// The stream of the primary: it is open as long as these are there.
    _requests: mpsc::Sender<Vec<u8>>,
    _responses: Streaming<Vec<u8>>,
}

/// Panics: if a request gets no answer in time, or the switch is not there afterwards.
pub fn run(bytes: &[u8]) {
    static RUNNING: OnceLock<Mutex<Running>> = OnceLock::new();
    let running = RUNNING.get_or_init(|| Mutex::new(start()));
    let mut running = running.lock().expect("no input has failed");
    let Running { runtime, grpc, .. } = &mut *running;
    runtime.block_on(async {
        let played = tokio::time::timeout(PATIENCE, play(grpc, bytes));
        played.await.expect("each request is answered in time");
    });
}

fn start() -> Running {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("threads can be made");
    let (grpc, requests, responses) = runtime.block_on(async {
        let (jobs, mut waiting) = mpsc::channel::<Job>(64);
        let settings = Settings {
            device_id: 1,
            cpu_port: Some(CPU_PORT),
            tls: None,
        };
        let pipeline = Pipeline::new(P4INFO, PROGRAM.into()).expect("p4c wrote both");
        let (server, reports) = Server::new(settings, jobs, Some(pipeline));
        tokio::spawn(async move {
            let program = Program::load(PROGRAM).expect("p4c wrote it");
            let mut switch = Switch::new(program, 0);
            let mut outlet = Outlet(reports);
            while let Some(job) = waiting.recv().await {
                job.run(&mut switch, 0, &mut outlet);
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        tokio::spawn(server.serve(listener, std::future::pending()));
        let endpoint = Endpoint::from_shared(format!("http://{address}"));
        let channel = endpoint.expect("an address").connect().await;
        primary(Grpc::new(channel.expect("it listens"))).await
    });
    Running {
        runtime,
        grpc,
        _requests: requests,
        _responses: responses,
    }
}

type Stream = (Grpc<Channel>, mpsc::Sender<Vec<u8>>, Streaming<Vec<u8>>);

/// Opens a stream, and becomes the primary.
async fn primary(mut grpc: Grpc<Channel>) -> Stream {
    let (requests, waiting) = mpsc::channel(1);
    let update = StreamMessageRequestUpdate::Arbitration(MasterArbitrationUpdate {
        device_id: 1,
        election_id: Some(ELECTION),
        ..MasterArbitrationUpdate::default()
    });
    let update = Some(update);
    let first = StreamMessageRequest { update }.encode_to_vec();
    requests.send(first).await.expect("the stream is up");
    let request = Request::new(ReceiverStream::new(waiting));
    grpc.ready().await.expect("it is up");
    let answer = grpc.streaming(request, path("StreamChannel"), Raw).await;
    let mut responses = answer.expect("there is room").into_inner();
    let answer = responses.message().await.expect("the stream is up");
    assert!(answer.is_some(), "arbitration is answered");
    (grpc, requests, responses)
}

fn path(name: &str) -> http::uri::PathAndQuery {
    let path = format!("/p4.v1.P4Runtime/{name}").parse();
    path.expect("a path")
}

/// A call with the bytes of its messages. Returns those of all answers.
async fn call(
    grpc: &mut Grpc<Channel>,
    name: &str,
    messages: Vec<Vec<u8>>,
) -> Result<Vec<Vec<u8>>, Status> {
    grpc.ready().await.expect("the server is there");
    let request = Request::new(tokio_stream::iter(messages));
    let mut answers = grpc.streaming(request, path(name), Raw).await?.into_inner();
    let mut all = Vec::new();
    while let Some(answer) = answers.message().await? {
        all.push(answer);
    }
    Ok(all)
}

/// Begins with the program, plays the requests of an input, and looks whether the switch is there,
/// and gives entries that can be written.
async fn play(grpc: &mut Grpc<Channel>, mut bytes: &[u8]) {
    let begin = SetForwardingPipelineConfigRequest {
        device_id: 1,
        election_id: Some(ELECTION),
        action: SetForwardingPipelineConfigRequestAction::VerifyAndCommit as i32,
        config: Some(ForwardingPipelineConfig {
            p4info: p4info().to_vec(),
            p4_device_config: PROGRAM.into(),
            cookie: None,
        }),
        ..SetForwardingPipelineConfigRequest::default()
    };
    let begun = call(
        grpc,
        "SetForwardingPipelineConfig",
        vec![begin.encode_to_vec()],
    )
    .await;
    begun.expect("it is the program");
    for _ in 0..MOST {
        let [kind, high, low, rest @ ..] = bytes else {
            break;
        };
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let (message, rest) = rest.split_at(length);
        bytes = rest;
        request(grpc, *kind, message).await;
    }
    let all = EntityKind::TableEntry(TableEntry::default());
    let read = ReadRequest {
        device_id: 1,
        role: String::new(),
        entities: vec![Entity { entity: Some(all) }],
    };
    let read = call(grpc, "Read", vec![read.encode_to_vec()]).await;
    write_again(grpc, read.expect("the switch is there")).await;
}

/// Writes the entries of tables that were read: they are as controllers write them.
async fn write_again(grpc: &mut Grpc<Channel>, answers: Vec<Vec<u8>>) {
    let answers = answers.iter().map(|answer| ReadResponse::decode(&**answer));
    let entities = answers.flat_map(|answer| answer.expect("it is a response").entities);
    let updates = entities.filter_map(|entity| match &entity.entity {
        // Those that the program has are not to be changed.
        Some(EntityKind::TableEntry(entry)) if !entry.is_const => Some(Update {
            r#type: UpdateType::Modify as i32,
            entity: Some(Box::new(entity)),
        }),
        _ => None,
    });
    let write = WriteRequest {
        device_id: 1,
        election_id: Some(ELECTION),
        updates: updates.collect(),
        ..WriteRequest::default()
    };
    let written = call(grpc, "Write", vec![write.encode_to_vec()]).await;
    written.expect("what is read can be written");
}

/// The P4Info of the program, encoded: what the server gives.
fn p4info() -> &'static [u8] {
    static ENCODED: OnceLock<Vec<u8>> = OnceLock::new();
    ENCODED.get_or_init(|| {
        let pipeline = Pipeline::new(P4INFO, PROGRAM.into()).expect("p4c wrote both");
        pipeline.p4info().to_vec()
    })
}

/// Sends a request, whose answer may be any.
async fn request(grpc: &mut Grpc<Channel>, kind: u8, message: &[u8]) {
    let device = [8, 1];
    let with = |more: &[u8]| [message, &device, more].concat();
    let election = ELECTION.encode_to_vec();
    let election = |tag: u8| [&[tag, election.len() as u8], &election[..]].concat();
    match kind % 6 {
        0 => {
            // The role is that of all of the program.
            let request = with(&[&[16, 0, 26, 0], &election(34)[..]].concat());
            let updates = WriteRequest::decode(&*request).map(|request| request.updates.len());
            let answer = call(grpc, "Write", vec![request]).await;
            if let (Ok(count), Err(status)) = (updates, answer)
                && status.code() == Code::Unknown
            {
                let details = Details::decode(status.details()).expect("a batch has details");
                assert_eq!(details.details.len(), count, "one for each update");
            }
        }
        1 => drop(call(grpc, "Read", vec![with(&[18, 0])]).await),
        2 => {
            let more = [&[16, 0, 50, 0], &election(26)[..]].concat();
            drop(call(grpc, "SetForwardingPipelineConfig", vec![with(&more)]).await);
        }
        3 => drop(call(grpc, "GetForwardingPipelineConfig", vec![with(&[])]).await),
        4 => drop(call(grpc, "Capabilities", vec![message.to_vec()]).await),
        _ => {
            // Halves are two messages of one stream.
            let (one, other) = message.split_at(message.len() / 2);
            let messages = vec![message.to_vec(), one.to_vec(), other.to_vec()];
            drop(call(grpc, "StreamChannel", messages).await);
        }
    }
}
