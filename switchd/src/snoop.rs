//! The snoop socket: repeats the OpenFlow messages of controllers to whoever connects.

use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard};
use std::{fmt, io};

use bofuss_channel::{Endpoint, HELLO_TIMEOUT, Newcomer, Newcomers, Origin, Source};
use bofuss_oflib::message::Hello;
use bofuss_oflib::{Codec, HEADER_BYTES, Message, Version};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::control::{ACCEPT_PAUSE, Socket};

/// Readers at a time.
const MAX_READERS: usize = 8;
/// Bytes of messages that wait for one reader at most; what comes then is lost to it, and counted.
const MAX_WAITING_BYTES: usize = 1 << 20;

/// Where a reader's messages wait.
struct Reader {
    queue: mpsc::UnboundedSender<Vec<u8>>,
    /// Bytes in the queue and in the write that goes on.
    waiting: Arc<AtomicUsize>,
    messages: u64,
    bytes: u64,
    lost: u64,
}

impl Reader {
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
    fn tell(&mut self, message: &[u8]) {
        if self.waiting.load(Relaxed) + message.len() > MAX_WAITING_BYTES {
            self.lost += 1;
            return;
        }
        self.waiting.fetch_add(message.len(), Relaxed);
        self.messages += 1;
        self.bytes += message.len() as u64;
        // One that goes away is forgotten soon.
        let _ = self.queue.send(message.into());
    }
}

/// All readers of a switch's messages.
#[derive(Clone, Default)]
pub struct Readers(Arc<Mutex<Vec<Reader>>>);

impl Readers {
    fn list(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.0.lock().expect("nobody panics who has it")
    }

    /// Repeats messages of a connection that is a controller's: one or several whole ones.
    pub fn see(&self, origin: &Origin, mut bytes: &[u8]) {
        let mut list = self.list();
        if list.is_empty() || is_tool(origin) {
            return;
        }
        while bytes.len() >= HEADER_BYTES {
            let length = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
            let (message, rest) = bytes.split_at(length.clamp(HEADER_BYTES, bytes.len()));
            for reader in list.iter_mut() {
                reader.tell(message);
            }
            bytes = rest;
        }
    }

    /// Takes a reader in; whether there was room for it.
    fn add(&self, reader: Reader) -> bool {
        let mut list = self.list();
        let has_room = list.len() < MAX_READERS;
        if has_room {
            list.push(reader);
        }
        has_room
    }

    /// Forgets readers that went away.
    fn forget_gone(&self) {
        self.list().retain(|reader| !reader.queue.is_closed());
    }
}

impl fmt::Display for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list().iter().try_for_each(|one| {
            let (messages, bytes, lost) = (one.messages, one.bytes, one.lost);
            writeln!(
                f,
                "openflow snoop packets={messages} bytes={bytes} lost={lost}"
            )
        })
    }
}

/// Whether a connection is a local tool's: it came through a unix socket.
fn is_tool(origin: &Origin) -> bool {
    match origin {
        Origin::Passive { listener, .. } => matches!(listener.0, Endpoint::Unix(_)),
        Origin::Active(_) | Origin::Auxiliary { .. } => false,
    }
}

/// Listens at `path`, in place of what is there. Errors: the socket's.
pub fn listen(path: &Path, readers: Readers) -> io::Result<Socket> {
    Socket::open(path, |listener| accept(listener, readers))
}

async fn accept(listener: UnixListener, readers: Readers) {
    let newcomers = Newcomers::default();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let user = stream.peer_cred().ok().map(|cred| cred.uid());
        let newcomer = newcomers.admit(Source::User(user));
        let readers = readers.clone();
        tokio::spawn(async move {
            // A reader that goes away has nobody to be told.
            let _ = serve(stream, newcomer, &readers).await;
            readers.forget_gone();
        });
    }
}

/// Exchanges HELLOs, then repeats messages until the reader goes away.
async fn serve(mut stream: UnixStream, newcomer: Newcomer, readers: &Readers) -> io::Result<()> {
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
    let reader = Reader::new(queue);
    let waiting = reader.waiting.clone();
    if !readers.add(reader) {
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
    fn a_reader_that_does_not_read_loses_what_has_no_room() {
        let (queue, mut messages) = mpsc::unbounded_channel();
        let mut reader = Reader::new(queue);
        let message = [0; 1 << 10];
        for _ in 0..1 << 10 {
            reader.tell(&message);
        }
        assert_eq!((reader.messages, reader.lost), (1 << 10, 0));
        reader.tell(&[0]);
        assert_eq!(reader.lost, 1);
        let read = messages.try_recv().expect("it is there");
        reader.waiting.fetch_sub(read.len(), Relaxed);
        reader.tell(&message);
        assert_eq!((reader.messages, reader.lost), ((1 << 10) + 1, 1));
    }
}
