//! A controller of P4Runtime, and entities of the program `controlled`.
#![allow(dead_code, reason = "each test program uses some of it")]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use bofuss_p4runtime::Pipeline;
use bofuss_p4runtime::wire::entities::{
    Action, ActionParam, ActionProfileAction, ActionProfileActionSet, Entity, EntityKind,
    FieldMatch, FieldMatchExact, FieldMatchFieldMatchType, TableAction, TableActionType,
    TableEntry,
};
use bofuss_p4runtime::wire::messages::{
    CapabilitiesRequest, CapabilitiesResponse, Error, ForwardingPipelineConfig,
    MasterArbitrationUpdate, ReadRequest, ReadResponse, SetForwardingPipelineConfigRequest,
    SetForwardingPipelineConfigRequestAction, SetForwardingPipelineConfigResponse,
    Status as RpcStatus, StreamMessageRequest, StreamMessageRequestUpdate, StreamMessageResponse,
    StreamMessageResponseUpdate, Uint128, Update, UpdateType, WriteRequest, WriteResponse,
};
use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

/// A file of the program `controlled`.
pub fn file(end: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/p4/controlled");
    fs::read(folder.join(format!("controlled.{end}"))).expect("the file is there")
}

/// A controller.
pub struct Controller {
    grpc: Grpc<Channel>,
    pub election: u64,
    pub requests: mpsc::Sender<StreamMessageRequest>,
    pub responses: Streaming<StreamMessageResponse>,
}

impl Controller {
    /// Connects and opens a stream.
    pub async fn connect(address: &str) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
        Self::over(endpoint.connect().await.expect("it listens")).await
    }

    /// Whether a switch answers over a connection at all.
    pub async fn is_served(channel: Channel) -> bool {
        let mut grpc = Grpc::new(channel);
        if grpc.ready().await.is_err() {
            return false;
        }
        let path = "/p4.v1.P4Runtime/Capabilities".parse().expect("a path");
        let codec = ProstCodec::<CapabilitiesRequest, CapabilitiesResponse>::default();
        let request = Request::new(CapabilitiesRequest { device_id: 1 });
        grpc.unary(request, path, codec).await.is_ok()
    }

    /// Opens a stream over a connection.
    pub async fn over(channel: Channel) -> Self {
        Self::opened(channel).await.expect("there is room")
    }

    /// Opens a stream over a connection, or learns why not.
    pub async fn opened(channel: Channel) -> Result<Self, Status> {
        let mut grpc = Grpc::new(channel);
        let (requests, waiting) = mpsc::channel(16);
        grpc.ready().await.expect("it is up");
        let request = Request::new(ReceiverStream::new(waiting));
        let codec = ProstCodec::<StreamMessageRequest, StreamMessageResponse>::default();
        let path = "/p4.v1.P4Runtime/StreamChannel".parse().expect("a path");
        let response = grpc.streaming(request, path, codec).await?;
        let responses = response.into_inner();
        Ok(Self {
            grpc,
            election: 0,
            requests,
            responses,
        })
    }

    /// Connects as the primary.
    pub async fn primary(address: &str, election: u64) -> Self {
        let mut this = Self::connect(address).await;
        assert_eq!(this.arbitrate(election).await, 0);
        this
    }

    /// Sets the program `controlled`.
    pub async fn set_program(&mut self) {
        let action = SetForwardingPipelineConfigRequestAction::VerifyAndCommit;
        self.configure(action).await;
    }

    /// Does this with the program `controlled`.
    pub async fn configure(&mut self, action: SetForwardingPipelineConfigRequestAction) {
        let p4info = String::from_utf8(file("p4info.txt")).expect("it is text");
        let pipeline = Pipeline::new(&p4info, file("json")).expect("p4c wrote it");
        let request = SetForwardingPipelineConfigRequest {
            device_id: 1,
            election_id: self.id(),
            action: action as i32,
            config: Some(ForwardingPipelineConfig {
                p4info: pipeline.p4info().to_vec(),
                p4_device_config: file("json"),
                cookie: None,
            }),
            ..SetForwardingPipelineConfigRequest::default()
        };
        let name = "SetForwardingPipelineConfig";
        let set = self.call::<_, SetForwardingPipelineConfigResponse>(name, request);
        set.await.expect("the program is right");
    }

    /// Sends an election id. Returns the code of the answer.
    pub async fn arbitrate(&mut self, election: u64) -> i32 {
        self.election = election;
        let update = MasterArbitrationUpdate {
            device_id: 1,
            role: None,
            election_id: self.id(),
            status: None,
        };
        self.send(StreamMessageRequestUpdate::Arbitration(update))
            .await;
        self.standing().await
    }

    /// The code of the next message, which is one of arbitration.
    pub async fn standing(&mut self) -> i32 {
        match self.next().await {
            StreamMessageResponseUpdate::Arbitration(update) => {
                update.status.expect("it has a status").code
            }
            other => panic!("{other:?}"),
        }
    }

    pub async fn send(&self, update: StreamMessageRequestUpdate) {
        let update = Some(update);
        let sent = self.requests.send(StreamMessageRequest { update }).await;
        sent.expect("the stream is up");
    }

    /// The next message of the stream.
    pub async fn next(&mut self) -> StreamMessageResponseUpdate {
        let next = tokio::time::timeout(Duration::from_secs(5), self.responses.message());
        let message = next.await.expect("in time").expect("no error");
        message.and_then(|m| m.update).expect("not the end")
    }

    fn id(&self) -> Option<Uint128> {
        let low = self.election;
        Some(Uint128 { high: 0, low })
    }

    /// A call with one answer.
    pub async fn call<A, R>(&mut self, name: &str, request: A) -> Result<R, Status>
    where
        A: Message + Send + Sync + 'static,
        R: Message + Default + Send + Sync + 'static,
    {
        self.grpc.ready().await.expect("it is up");
        let path = format!("/p4.v1.P4Runtime/{name}").parse().expect("a path");
        let codec = ProstCodec::<A, R>::default();
        let response = self.grpc.unary(Request::new(request), path, codec).await;
        response.map(tonic::Response::into_inner)
    }

    /// Writes updates.
    pub async fn write(
        &mut self,
        kind: UpdateType,
        entities: Vec<EntityKind>,
    ) -> Result<(), Status> {
        let updates = entities.into_iter().map(|kind_of| Update {
            r#type: kind as i32,
            entity: Some(Box::new(entity(kind_of))),
        });
        let request = WriteRequest {
            device_id: 1,
            election_id: self.id(),
            updates: updates.collect(),
            ..WriteRequest::default()
        };
        self.call::<_, WriteResponse>("Write", request)
            .await
            .map(drop)
    }

    /// Reads what an entity asks for.
    pub async fn read(&mut self, asked: EntityKind) -> Result<Vec<EntityKind>, Status> {
        let (all, end) = self.read_all(vec![asked]).await;
        end.map(|()| all)
    }

    /// Reads what entities ask for. Returns what came, and how the stream ended.
    pub async fn read_all(
        &mut self,
        asked: Vec<EntityKind>,
    ) -> (Vec<EntityKind>, Result<(), Status>) {
        self.grpc.ready().await.expect("it is up");
        let request = Request::new(ReadRequest {
            device_id: 1,
            role: String::new(),
            entities: asked.into_iter().map(entity).collect(),
        });
        let path = "/p4.v1.P4Runtime/Read".parse().expect("a path");
        let codec = ProstCodec::<ReadRequest, ReadResponse>::default();
        let mut all = Vec::new();
        let mut answers = match self.grpc.server_streaming(request, path, codec).await {
            Ok(answer) => answer.into_inner(),
            Err(status) => return (all, Err(status)),
        };
        loop {
            match answers.message().await {
                Ok(Some(answer)) => {
                    all.extend(answer.entities.into_iter().filter_map(|e| e.entity));
                }
                Ok(None) => return (all, Ok(())),
                Err(status) => return (all, Err(status)),
            }
        }
    }
}

/// What becomes of one update.
pub async fn done(controller: &mut Controller, kind: UpdateType, entity: EntityKind) -> Code {
    match controller.write(kind, vec![entity]).await {
        Ok(()) => Code::Ok,
        Err(status) => codes(&status)[0],
    }
}

/// The codes of all updates or requests of a batch, of which some failed.
pub fn codes(status: &Status) -> Vec<Code> {
    let status = RpcStatus::decode(status.details()).expect("a google.rpc.Status");
    let codes = status.details.iter().map(|any| {
        let error = Error::decode(&*any.value).expect("a p4.v1.Error");
        Code::from(error.canonical_code)
    });
    codes.collect()
}

pub fn entity(kind: EntityKind) -> Entity {
    Entity { entity: Some(kind) }
}

/// The id of what `controlled` has under a name, as its P4Info says.
pub fn id(name: &str) -> u32 {
    let text = String::from_utf8(file("p4info.txt")).expect("it is text");
    let before = text.split(&format!("name: \"{name}\"")).next();
    let digits = before.and_then(|text| text.rsplit("id: ").next());
    let digits = digits.and_then(|text| text.split_whitespace().next());
    digits.and_then(|d| d.parse().ok()).expect("P4Info has it")
}

/// An action with one parameter.
pub fn action(name: &str, value: &[u8]) -> Action {
    Action {
        action_id: id(name),
        params: vec![ActionParam {
            param_id: 1,
            value: value.to_vec(),
        }],
    }
}

/// A set of one action, of weight 2.
pub fn action_set(action: Action) -> TableAction {
    let set = ActionProfileActionSet {
        action_profile_actions: vec![ActionProfileAction {
            action: Some(action),
            weight: 2,
            watch_kind: None,
        }],
        ..ActionProfileActionSet::default()
    };
    TableAction {
        r#type: Some(TableActionType::ActionProfileActionSet(set)),
    }
}

/// An entry of a table with one exact key.
pub fn exact(table: &str, key: u8, action: Action) -> TableEntry {
    let exact = FieldMatchExact { value: vec![key] };
    TableEntry {
        table_id: id(table),
        r#match: vec![FieldMatch {
            field_id: 1,
            field_match_type: Some(FieldMatchFieldMatchType::Exact(exact)),
        }],
        action: Some(TableAction {
            r#type: Some(TableActionType::Action(action)),
        }),
        ..TableEntry::default()
    }
}
