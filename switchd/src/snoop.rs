//! The snoop socket: copies the OpenFlow messages of controllers to its clients.

use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard};
use std::{fmt, io};

use bofuss_channel::{Endpoint, HELLO_TIMEOUT, Newcomer, Newcomers, Origin};
use bofuss_oflib::message::Hello;
use bofuss_oflib::{Codec, HEADER_BYTES, Message, Version};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::control::Socket;

/// Most clients at a time.
const MAX_CLIENTS: usize = 8;
/// Most bytes of messages that wait for one client; it misses further messages, which are counted.
const MAX_WAITING_BYTES: usize = 1 << 20;

/// A client and its queue of messages.
struct SnoopClient {
    queue: mpsc::UnboundedSender<Vec<u8>>,
    /// Bytes in the queue and in the current write.
    waiting: Arc<AtomicUsize>,
    messages: u64,
    bytes: u64,
    lost: u64,
}

impl SnoopClient {
    fn new(queue: mpsc::UnboundedSender<Vec<u8>>) -> Self {
        Self {
            queue,
            waiting: Arc::default(),
            messages: 0,
            bytes: 0,
            lost: 0,
        }
    }

    /// Queues a message, if there is room.
    fn send(&mut self, message: &[u8]) {
        if self.waiting.load(Relaxed) + message.len() > MAX_WAITING_BYTES {
            self.lost += 1;
            return;
        }
        self.waiting.fetch_add(message.len(), Relaxed);
        self.messages += 1;
        self.bytes += message.len() as u64;
        // A client that has gone takes nothing, and is removed soon.
        let _ = self.queue.send(message.into());
    }
}

/// All clients of a switch's snoop socket.
#[derive(Clone, Default)]
pub struct SnoopClients(Arc<Mutex<Vec<SnoopClient>>>);

impl SnoopClients {
    fn list(&self) -> MutexGuard<'_, Vec<SnoopClient>> {
        self.0.lock().expect("no holder panics")
    }

    /// Copies messages of a controller's connection to the clients. `bytes` are one or several
    /// whole messages.
    pub fn see(&self, origin: &Origin, mut bytes: &[u8]) {
        let mut list = self.list();
        if list.is_empty() || is_tool(origin) {
            return;
        }
        while bytes.len() >= HEADER_BYTES {
            let length = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
            let (message, rest) = bytes.split_at(length.clamp(HEADER_BYTES, bytes.len()));
            for client in list.iter_mut() {
                client.send(message);
            }
            bytes = rest;
        }
    }

    /// Adds a client. Returns false if there are too many.
    fn add(&self, client: SnoopClient) -> bool {
        let mut list = self.list();
        let has_room = list.len() < MAX_CLIENTS;
        if has_room {
            list.push(client);
        }
        has_room
    }

    /// Removes clients that have gone.
    fn remove_closed(&self) {
        self.list().retain(|client| !client.queue.is_closed());
    }
}

impl fmt::Display for SnoopClients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list().iter().try_for_each(|client| {
            let messages = client.messages;
            let bytes = client.bytes;
            let lost = client.lost;
            writeln!(
                f,
                "openflow snoop packets={messages} bytes={bytes} lost={lost}"
            )
        })
    }
}

/// Returns true if the peer is a local tool: it connected through a unix socket.
pub fn is_tool(origin: &Origin) -> bool {
    match origin {
        Origin::Passive { listener, .. } => matches!(listener.0, Endpoint::Unix(_)),
        Origin::Active(_) | Origin::Auxiliary { .. } => false,
    }
}

/// Listens at `path` and replaces what is there. Errors: the socket's.
pub fn listen(path: &Path, snoop_clients: SnoopClients) -> io::Result<Socket> {
    Socket::open(path, |listener| accept(listener, snoop_clients))
}

async fn accept(listener: UnixListener, snoop_clients: SnoopClients) {
    let newcomers = Newcomers::default();
    loop {
        let (stream, newcomer) = newcomers.accept_user(&listener).await;
        let snoop_clients = snoop_clients.clone();
        tokio::spawn(async move {
            // If the client is gone, nobody reads the error.
            let _ = serve(stream, newcomer, &snoop_clients).await;
            snoop_clients.remove_closed();
        });
    }
}

/// Exchanges HELLOs, then sends messages until the client closes the connection.
async fn serve(
    mut stream: UnixStream,
    newcomer: Newcomer,
    snoop_clients: &SnoopClients,
) -> io::Result<()> {
    let mut hello = Vec::new();
    let codec = Codec::new(Version::NEWEST, Arc::default());
    let offer = Message::Hello(Hello::offering(Version::SPOKEN));
    codec
        .encode(0, &offer, &mut hello)
        .expect("a HELLO is short");
    let greeting = async {
        stream.write_all(&hello).await?;
        stream.read_exact(&mut [0; HEADER_BYTES]).await
    };
    match newcomer.finish(timeout(HELLO_TIMEOUT, greeting)).await {
        Some(greeted) => greeted??,
        None => return Ok(()),
    };
    let (queue, mut messages) = mpsc::unbounded_channel();
    let client = SnoopClient::new(queue);
    let waiting = client.waiting.clone();
    if !snoop_clients.add(client) {
        return Ok(());
    }
    let mut ignored = [0; 256];
    loop {
        tokio::select! {
            message = messages.recv() => {
                let Some(message) = message else {
                    return Ok(());
                };
                stream.write_all(&message).await?;
                waiting.fetch_sub(message.len(), Relaxed);
            }
            count = stream.read(&mut ignored) => {
                if count? == 0 {
                    return Ok(());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_does_not_read_loses_what_has_no_room() {
        let (queue, mut messages) = mpsc::unbounded_channel();
        let mut client = SnoopClient::new(queue);
        let message = [0; 1 << 10];
        for _ in 0..1 << 10 {
            client.send(&message);
        }
        assert_eq!((client.messages, client.lost), (1 << 10, 0));
        client.send(&[0]);
        assert_eq!(client.lost, 1);
        let read = messages.try_recv().expect("it is there");
        client.waiting.fetch_sub(read.len(), Relaxed);
        client.send(&message);
        assert_eq!((client.messages, client.lost), ((1 << 10) + 1, 1));
    }
}
