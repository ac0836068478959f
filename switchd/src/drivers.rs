//! The driver socket: passes lines between the drivers of ports and the switch.
//!
//! A driver is a connection of the switch like those of tools, so what bounds these, orders,
//! records and shares among threads what they send holds for it, too.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bofuss_channel::{
    Client, ClientError, Endpoint, HELLO_TIMEOUT, Hub, Newcomer, Newcomers, Origin, PassiveAddress,
};
use bofuss_ext::drivers::line::MAX_LINE_BYTES;
use bofuss_ext::drivers::{DRIVER_LINE, DriverLine, MAX_DRIVERS, ToldLine, VALUES};
use bofuss_oflib::message::AsyncConfig;
use bofuss_oflib::{ExtValue, Message, PortNo, Version};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::control::Socket;

/// The time that a driver may take to read what it is sent.
const PEER_TIMEOUT: Duration = Duration::from_secs(10);
/// The time between two drivers that are let in: who comes and goes again and again makes work for
/// the switch and for controllers that are told of connections.
const ENTRY_INTERVAL: Duration = Duration::from_millis(10);
/// The versions in the order in which a driver's connection speaks them: those first that can say
/// that no asynchronous messages are wanted, and that are not told of other connections.
const VERSIONS: [Version; 6] = [
    Version::V1_3,
    Version::V1_4,
    Version::V1_5,
    Version::V1_2,
    Version::V1_1,
    Version::V1_0,
];
/// The transaction id of what no line asked for.
const UNASKED: u32 = 0;

/// Listens at `path` for drivers, which become connections of `hub`. Replaces what is there.
///
/// Errors: the socket's.
pub fn listen(path: &Path, hub: Hub) -> io::Result<Socket> {
    let address = PassiveAddress(Endpoint::Unix(path.into()));
    Socket::open(path, |listener| accept(listener, hub, address))
}

async fn accept(listener: UnixListener, hub: Hub, address: PassiveAddress) {
    let newcomers = Newcomers::default();
    let places = Arc::new(Semaphore::new(MAX_DRIVERS));
    loop {
        let (stream, newcomer) = newcomers.accept_user(&listener).await;
        let process = stream.peer_cred().ok().and_then(|cred| cred.pid());
        let peer = process.map_or("driver".into(), |pid| format!("driver {pid}"));
        let origin = Origin::Passive {
            listener: address.clone(),
            peer,
        };
        let (hub, places) = (hub.clone(), places.clone());
        tokio::spawn(async move {
            // If the driver is gone, nobody reads the error.
            let _ = serve(stream, newcomer, &places, &hub, origin).await;
        });
        sleep(ENTRY_INTERVAL).await;
    }
}

/// Serves a driver to its end. Until its first line, it may be dropped for newer ones.
async fn serve(
    stream: UnixStream,
    newcomer: Newcomer,
    places: &Semaphore,
    hub: &Hub,
    origin: Origin,
) -> Result<(), ClientError> {
    let (reader, writer) = stream.into_split();
    let mut lines = Lines {
        reader,
        buffer: Vec::new(),
    };
    let first = timeout(HELLO_TIMEOUT, lines.next());
    let Some(Ok(first)) = newcomer.finish(first).await else {
        return Ok(());
    };
    let mut driver = Driver { writer, port: None };
    let Ok(_place) = places.try_acquire() else {
        return driver.refuse("too many drivers are connected").await;
    };
    let mut client = hub.connect_within(origin, &VERSIONS, PEER_TIMEOUT).await?;
    // A version that cannot say so sends what the driver ignores.
    let _ = client
        .send(&Message::SetAsync(AsyncConfig::default()))
        .await;
    let mut next = first?;
    loop {
        match next {
            Line::Whole(line) => send(&mut client, line).await?,
            Line::TooLong => {
                let sentence = format!("a line has at most {MAX_LINE_BYTES} bytes");
                return driver.refuse(&sentence).await;
            }
            Line::End => return Ok(()),
        }
        next = loop {
            tokio::select! {
                line = lines.next() => break line?,
                length = client.ready() => driver.answer(&mut client, length?).await?,
            }
        };
    }
}

/// Sends a line to the switch; one that is no text is sent as the nearest text, which is no JSON.
async fn send(client: &mut Client, line: Vec<u8>) -> Result<(), ClientError> {
    let line = DriverLine(String::from_utf8_lossy(&line).into());
    let value = ExtValue::typed(&VALUES[DRIVER_LINE], line);
    client.send(&Message::Experimenter(value)).await.map(|_| ())
}

/// The driver's side of what the switch sends.
struct Driver {
    writer: OwnedWriteHalf,
    /// Its port, once it has one.
    port: Option<PortNo>,
}

impl Driver {
    /// Takes a message of the switch that has so many bytes, and passes on what is for this driver.
    async fn answer(&mut self, client: &mut Client, length: usize) -> Result<(), ClientError> {
        let Some((xid, message)) = client.take(length)? else {
            return Ok(());
        };
        if let Message::EchoRequest(data) = message {
            return client.answer(xid, &Message::EchoReply(data)).await;
        }
        if let Message::Error(error) = message {
            return self.refuse(&error.error.to_string()).await;
        }
        let Message::Experimenter(value) = message else {
            return Ok(());
        };
        let Some(told) = value.body::<ToldLine>() else {
            return Ok(());
        };
        if xid != UNASKED && told.port != PortNo::ANY {
            self.port = Some(told.port);
        }
        // What is told to one driver reaches the connections of all.
        if xid == UNASKED && self.port != Some(told.port) {
            return Ok(());
        }
        self.write(&told.line.0).await
    }

    async fn refuse(&mut self, sentence: &str) -> Result<(), ClientError> {
        self.write(&json!({ "error": sentence }).to_string()).await
    }

    /// Writes a line. Errors: the driver has gone, or does not read in time.
    async fn write(&mut self, line: &str) -> Result<(), ClientError> {
        let line = format!("{line}\n");
        let written = timeout(PEER_TIMEOUT, self.writer.write_all(line.as_bytes())).await;
        Ok(written.map_err(|_| ClientError::Timeout(PEER_TIMEOUT))??)
    }
}

/// What comes next from a driver.
enum Line {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// More bytes than a line has.
    TooLong,
    /// The driver has closed the connection.
    End,
}

/// Reads a driver's lines.
struct Lines {
    reader: OwnedReadHalf,
    /// What was read of the next lines; at most one line and what one read takes.
    buffer: Vec<u8>,
}

impl Lines {
    /// Waits for a line. Nothing is lost when the future is dropped.
    async fn next(&mut self) -> io::Result<Line> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                if end > MAX_LINE_BYTES {
                    return Ok(Line::TooLong);
                }
                let rest = self.buffer.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                return Ok(Line::Whole(line));
            }
            if self.buffer.len() > MAX_LINE_BYTES {
                return Ok(Line::TooLong);
            }
            self.buffer.reserve(MAX_LINE_BYTES);
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                return Ok(Line::End);
            }
        }
    }
}
