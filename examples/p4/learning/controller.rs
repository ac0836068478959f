//! A controller of P4Runtime: it writes entries for the addresses of which digests tell it.
//!
//! `cargo run -p bofuss-p4runtime --example learning -- ADDRESS:PORT P4INFO`

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::time::Duration;

use bofuss_p4runtime::wire::entities::{
    Action, ActionParam, DigestEntry, DigestEntryConfig, Entity, EntityKind, FieldMatch,
    FieldMatchExact, FieldMatchFieldMatchType, P4Data, P4DataData, TableAction, TableActionType,
    TableEntry,
};
use bofuss_p4runtime::wire::messages::{
    DigestList, DigestListAck, MasterArbitrationUpdate, StreamMessageRequest,
    StreamMessageRequestUpdate, StreamMessageResponse, StreamMessageResponseUpdate, Uint128,
    Update, UpdateType, WriteRequest, WriteResponse,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Request;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

type Outcome<T> = Result<T, Box<dyn Error>>;

const DEVICE: u64 = 1;
const ELECTION: Uint128 = Uint128 { high: 0, low: 1 };
/// The switch waits so long for further digests, and for an answer to those that it sends.
const DIGESTS: DigestEntryConfig = DigestEntryConfig {
    max_timeout_ns: 10_000_000,
    max_list_size: 64,
    ack_timeout_ns: 1_000_000_000,
};
/// How often the switch is tried, and how long apart.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// The numbers of what the program has, as its P4Info says.
struct Ids(String);

impl Ids {
    /// The number of a table, an action or a digest. Errors: P4Info has none of this name.
    fn of(&self, name: &str) -> Outcome<u32> {
        let before = self.0.split_once(&format!("name: \"{name}\""));
        let (before, _) = before.ok_or_else(|| format!("P4Info has no {name}"))?;
        let (_, after) = before.rsplit_once("id: ").ok_or("P4Info has no id")?;
        Ok(after.split_whitespace().next().unwrap_or("").parse()?)
    }
}

/// The controller: what it has learned, and its connection.
struct Learner {
    grpc: Grpc<Channel>,
    ids: Ids,
    /// The port of each address.
    places: HashMap<Vec<u8>, Vec<u8>>,
}

/// An entry with exact matches, and an action.
fn entry(table: u32, keys: &[&[u8]], action: u32, params: &[&[u8]]) -> EntityKind {
    let matches = keys.iter().zip(1..).map(|(value, field_id)| FieldMatch {
        field_id,
        field_match_type: Some(FieldMatchFieldMatchType::Exact(FieldMatchExact {
            value: value.to_vec(),
        })),
    });
    let params = params.iter().zip(1..).map(|(value, param_id)| ActionParam {
        param_id,
        value: value.to_vec(),
    });
    let action = TableActionType::Action(Action {
        action_id: action,
        params: params.collect(),
    });
    EntityKind::TableEntry(TableEntry {
        table_id: table,
        r#match: matches.collect(),
        action: Some(TableAction {
            r#type: Some(action),
        }),
        ..TableEntry::default()
    })
}

/// The members of a digest: an address and a port.
fn members(data: P4Data) -> Option<[Vec<u8>; 2]> {
    let Some(P4DataData::Struct(data)) = data.data else {
        return None;
    };
    let values = data.members.into_iter().map(|member| match member.data {
        Some(P4DataData::Bitstring(value)) => Some(value),
        _ => None,
    });
    values.collect::<Option<Vec<_>>>()?.try_into().ok()
}

impl Learner {
    /// Writes one update. Errors: what the switch refuses.
    async fn write(&mut self, kind: UpdateType, entity: EntityKind) -> Outcome<()> {
        self.grpc.ready().await?;
        let entity = Entity {
            entity: Some(entity),
        };
        let request = WriteRequest {
            device_id: DEVICE,
            election_id: Some(ELECTION),
            updates: vec![Update {
                r#type: kind as i32,
                entity: Some(Box::new(entity)),
            }],
            ..WriteRequest::default()
        };
        let codec = ProstCodec::<WriteRequest, WriteResponse>::default();
        let path = "/p4.v1.P4Runtime/Write".parse()?;
        self.grpc.unary(Request::new(request), path, codec).await?;
        Ok(())
    }

    /// Writes where an address is: its frames are no news any more, and those for it go there.
    async fn learn(&mut self, mac: Vec<u8>, port: Vec<u8>) -> Outcome<()> {
        let sources = self.ids.of("LearnIngress.sources")?;
        let destinations = self.ids.of("LearnIngress.destinations")?;
        let known = self.ids.of("NoAction")?;
        let forward = self.ids.of("LearnIngress.forward")?;
        let before = self.places.insert(mac.clone(), port.clone());
        if before.as_ref() == Some(&port) {
            return Ok(());
        }
        let to = entry(destinations, &[&mac], forward, &[&port]);
        let kind = match before {
            None => UpdateType::Insert,
            Some(_) => UpdateType::Modify,
        };
        self.write(kind, to).await?;
        if let Some(before) = before {
            let source = entry(sources, &[&mac, &before], known, &[]);
            self.write(UpdateType::Delete, source).await?;
        }
        let source = entry(sources, &[&mac, &port], known, &[]);
        self.write(UpdateType::Insert, source).await?;
        let number = port.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
        // Leading zeros are left out of values.
        let mac = [vec![0; 6_usize.saturating_sub(mac.len())], mac].concat();
        let digits: Vec<String> = mac.iter().map(|byte| format!("{byte:02x}")).collect();
        println!("{} is at port {number}", digits.join(":"));
        Ok(())
    }

    /// Learns from a list of digests.
    async fn learn_all(&mut self, list: DigestList) -> Outcome<()> {
        for data in list.data {
            let [mac, port] = members(data).ok_or("a digest is an address and a port")?;
            self.learn(mac, port).await?;
        }
        Ok(())
    }
}

/// Connects, once the switch is there. Errors: it is not, after some seconds.
async fn connect(address: &str) -> Outcome<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?;
    for _ in 1..TRIES {
        if let Ok(channel) = endpoint.connect().await {
            return Ok(channel);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(endpoint.connect().await?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [address, p4info] = &words[..] else {
        return Err("usage: learning ADDRESS:PORT P4INFO".into());
    };
    let mut learner = Learner {
        grpc: Grpc::new(connect(address).await?),
        ids: Ids(fs::read_to_string(p4info)?),
        places: HashMap::new(),
    };
    let (requests, waiting) = mpsc::channel(16);
    let send = async |update| {
        let update = Some(update);
        requests.send(StreamMessageRequest { update }).await
    };
    learner.grpc.ready().await?;
    let codec = ProstCodec::<StreamMessageRequest, StreamMessageResponse>::default();
    let path = "/p4.v1.P4Runtime/StreamChannel".parse()?;
    let stream = Request::new(ReceiverStream::new(waiting));
    let answer = learner.grpc.streaming(stream, path, codec).await?;
    let mut responses = answer.into_inner();
    let primary = MasterArbitrationUpdate {
        device_id: DEVICE,
        election_id: Some(ELECTION),
        ..MasterArbitrationUpdate::default()
    };
    send(StreamMessageRequestUpdate::Arbitration(primary)).await?;
    let mut is_ready = false;
    while let Some(message) = responses.message().await? {
        match message.update {
            // Others follow whenever another controller comes or goes.
            Some(StreamMessageResponseUpdate::Arbitration(_)) if !is_ready => {
                is_ready = true;
                let digest = EntityKind::DigestEntry(DigestEntry {
                    digest_id: learner.ids.of("learned_t")?,
                    config: Some(DIGESTS),
                });
                learner.write(UpdateType::Insert, digest).await?;
                println!("READY");
            }
            Some(StreamMessageResponseUpdate::Digest(list)) => {
                let (digest_id, list_id) = (list.digest_id, list.list_id);
                learner.learn_all(list).await?;
                let ack = DigestListAck { digest_id, list_id };
                send(StreamMessageRequestUpdate::DigestAck(ack)).await?;
            }
            other => println!("{other:?}"),
        }
    }
    Ok(())
}
