//! The service `p4.v1.P4Runtime` of gRPC: which path is which call.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use prost::Message;
use prost::bytes::{Buf, Bytes};
use tonic::body::Body;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder};
use tonic::server::{Grpc, ServerStreamingService, StreamingService, UnaryService};
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_prost::{ProstCodec, ProstEncoder};
use tower_service::Service;

use crate::room::{Metered, Peer, Room, Share};
use crate::rpc::Calls;
use crate::streams::Outgoing;
use crate::wire::messages::{
    ReadRequest, ReadResponse, StreamMessageRequest, StreamMessageResponse, WriteResponse,
};
use tokio_stream::wrappers::ReceiverStream;

/// The longest message, in bytes.
const MAX_MESSAGE: usize = 4 << 20;
/// The longest message of a stream and the longest request to read, in bytes.
const MAX_SHORT: usize = 256 << 10;
/// The longest message that has a program, in bytes.
const MAX_PIPELINE: usize = 40 << 20;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Answer<T> = Result<Response<T>, Status>;

/// Calls with one request and one answer, from a function.
struct Unary<F>(F);

impl<F, R, A, B> UnaryService<R> for Unary<F>
where
    F: FnMut(Request<R>) -> B,
    B: Future<Output = Answer<A>> + Send + 'static,
{
    type Response = A;
    type Future = Boxed<Answer<A>>;

    fn call(&mut self, request: Request<R>) -> Self::Future {
        Box::pin(self.0(request))
    }
}

struct Read(Calls);

impl ServerStreamingService<ReadRequest> for Read {
    type Response = ReadResponse;
    type ResponseStream = ReceiverStream<Result<ReadResponse, Status>>;
    type Future = Boxed<Answer<Self::ResponseStream>>;

    fn call(&mut self, request: Request<ReadRequest>) -> Self::Future {
        Box::pin(self.0.clone().read(request))
    }
}

struct Stream(Calls);

impl StreamingService<StreamMessageRequest> for Stream {
    type Response = StreamMessageResponse;
    type ResponseStream = ReceiverStream<Outgoing>;
    type Future = Boxed<Answer<Self::ResponseStream>>;

    fn call(&mut self, request: Request<Streaming<StreamMessageRequest>>) -> Self::Future {
        Box::pin(self.0.clone().stream(request))
    }
}

/// Requests to write as they come: their updates are decoded when it is known who may write.
struct WriteCodec;

impl Codec for WriteCodec {
    type Encode = WriteResponse;
    type Decode = Bytes;
    type Encoder = ProstEncoder<WriteResponse>;
    type Decoder = Self;

    fn encoder(&mut self) -> Self::Encoder {
        ProstEncoder::default()
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Decoder for WriteCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(message.copy_to_bytes(message.remaining())))
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}

/// The service. Clones share it.
#[derive(Clone)]
pub struct P4Runtime {
    pub calls: Calls,
    /// For the requests of all connections.
    pub room: Room,
}

impl P4Runtime {
    /// What a request may take.
    fn share(&self, request: &http::Request<Body>) -> Share {
        let own = Peer::of(request.extensions()).map(|peer| peer.room.clone());
        Share::new(own.into_iter().chain([self.room.clone()]).collect())
    }
}

fn grpc<A, R>(longest: usize) -> Grpc<ProstCodec<A, R>>
where
    A: Message + Send + 'static,
    R: Message + Default + Send + 'static,
{
    Grpc::new(ProstCodec::default()).apply_max_message_size_config(Some(longest), None)
}

impl Service<http::Request<Body>> for P4Runtime {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Boxed<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let calls = self.calls.clone();
        let share = self.share(&request);
        Box::pin(async move {
            let path = request.uri().path().to_owned();
            let name = path.strip_prefix("/p4.v1.P4Runtime/").unwrap_or("");
            if name == "StreamChannel" {
                let mut grpc = grpc(MAX_SHORT);
                return Ok(grpc.streaming(Stream(calls), request).await);
            }
            let (mut head, body) = request.into_parts();
            head.extensions.insert(share.clone());
            let body = Body::new(Metered::new(body, share));
            let request = http::Request::from_parts(head, body);
            let answer = match name {
                "Capabilities" => {
                    let call = Unary(|request| calls.clone().capabilities(request));
                    grpc(MAX_MESSAGE).unary(call, request).await
                }
                "SetForwardingPipelineConfig" => {
                    let call = Unary(|request| calls.clone().set_pipeline(request));
                    grpc(MAX_PIPELINE).unary(call, request).await
                }
                "GetForwardingPipelineConfig" => {
                    let call = Unary(|request| calls.clone().get_pipeline(request));
                    grpc(MAX_MESSAGE).unary(call, request).await
                }
                "Write" => {
                    let call = Unary(|request| calls.clone().write(request));
                    let grpc = Grpc::new(WriteCodec);
                    let mut grpc = grpc.max_decoding_message_size(MAX_MESSAGE);
                    grpc.unary(call, request).await
                }
                "Read" => {
                    let mut grpc = grpc(MAX_SHORT);
                    grpc.server_streaming(Read(calls), request).await
                }
                _ => Status::new(Code::Unimplemented, "there is no such call").into_http(),
            };
            Ok(answer)
        })
    }
}
