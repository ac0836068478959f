//! UDP as a stream of messages: each datagram holds whole messages, as many as fit.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bofuss_oflib::HEADER_BYTES;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UdpSocket;

use crate::stream::{AddressPair, Duplex};

/// Bytes of messages that share a datagram, so that networks need not cut it; a longer message has
/// one of its own.
const SHARED_BYTES: usize = 1400;
/// The longest datagram that can be sent, over IPv4.
const MAX_SENT_BYTES: usize = 65_507;
/// The longest that could be received.
const MAX_BYTES: usize = 65_535;

/// A connected socket, with what was received and not read yet.
pub(crate) struct Datagrams {
    socket: UdpSocket,
    received: Vec<u8>,
    /// The offset in it of what was not read.
    start: usize,
}

impl Datagrams {
    pub(crate) fn new(socket: UdpSocket) -> Self {
        Self {
            socket,
            received: Vec::new(),
            start: 0,
        }
    }
}

impl Duplex for Datagrams {
    fn ends(&self) -> Option<AddressPair> {
        Some(AddressPair {
            local: self.socket.local_addr().ok()?,
            peer: self.socket.peer_addr().ok()?,
        })
    }
}

/// Returns how many of these bytes are whole messages: at most `most`, but at least one message.
fn whole(bytes: &[u8], most: usize) -> usize {
    let mut end = 0;
    while let Some(header) = bytes[end..].first_chunk::<HEADER_BYTES>() {
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let next = end + length;
        if length < HEADER_BYTES || next > bytes.len() || (end > 0 && next > most) {
            break;
        }
        end = next;
    }
    end
}

impl AsyncRead for Datagrams {
    /// Reads what is left of a datagram, or the next datagram. What is no whole message is dropped.
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.start == this.received.len() {
            this.start = 0;
            this.received.resize(MAX_BYTES, 0);
            let mut space = ReadBuf::new(&mut this.received);
            let polled = this.socket.poll_recv(context, &mut space);
            let length = space.filled().len();
            this.received.truncate(length);
            if !matches!(polled, Poll::Ready(Ok(()))) {
                this.received.clear();
            }
            ready!(polled)?;
            let messages = whole(&this.received, MAX_BYTES);
            this.received.truncate(messages);
        }
        let rest = &this.received[this.start..];
        let taken = &rest[..rest.len().min(into.remaining())];
        into.put_slice(taken);
        this.start += taken.len();
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Datagrams {
    /// Sends the first messages of `bytes`, which begin with one. One that no datagram can hold is
    /// lost, as any may be.
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let messages = whole(bytes, SHARED_BYTES);
        match ready!(self.socket.poll_send(context, &bytes[..messages])) {
            Err(error) if messages <= MAX_SENT_BYTES => Poll::Ready(Err(error)),
            Ok(_) | Err(_) => Poll::Ready(Ok(messages)),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
