//! OpenFlow connections: addresses, framing, hello, echo, reconnect; as a switch and as a client.
//!
//! A switch makes a [`Hub`], gives it addresses, and takes [`Event`]s from one bounded queue; a
//! tool makes a [`Client`]. Nothing here knows what a message means, beyond HELLO, our own echo
//! probe and the parts of a multipart message.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use std::time::Duration;
//! use bofuss_channel::{ActiveAddress, Client, Event, Hub, Settings};
//! use bofuss_oflib::message::Empty;
//! use bofuss_oflib::{Message, Version};
//! use tokio::sync::mpsc;
//!
//! let (sender, mut events) = mpsc::channel(64);
//! let settings = Settings { is_switch: true, ..Settings::new(Arc::default()) };
//! let hub = Hub::new(settings, sender);
//! let listener = hub.listen(&"ptcp:0:127.0.0.1".parse()?).await?;
//!
//! let address = ActiveAddress(listener.address().0.clone());
//! let (versions, limit) = ([Version::V1_3], Duration::from_secs(5));
//! let mut tool = Client::connect(&address, &versions, &Arc::default(), None, limit).await?;
//! tool.send(&Message::BarrierRequest(Empty)).await?;
//!
//! let Some(Event::Up { sender, .. }) = events.recv().await else {
//!     panic!("a connection comes up first");
//! };
//! let Some(Event::Message { xid, message, .. }) = events.recv().await else {
//!     panic!("then its messages arrive");
//! };
//! assert_eq!(message, Message::BarrierRequest(Empty));
//! sender.send(xid, Message::BarrierReply(Empty));
//! assert_eq!(tool.next().await?, (xid, Message::BarrierReply(Empty)));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

mod address;
mod auxiliary;
mod client;
mod connection;
mod datagrams;
mod event;
mod frame;
mod handshake;
mod hub;
mod identity;
mod newcomers;
mod outbox;
mod pace;
mod places;
mod queue_place;
mod reading;
mod reason;
mod regular_file;
mod run_dir;
mod settings;
mod socket;
mod stream;
mod timeouts;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;
#[cfg(feature = "tls")]
mod tls_faults;

#[cfg(test)]
mod tests;

pub use address::{ActiveAddress, AddressError, DEFAULT_PORT, Endpoint, PassiveAddress};
pub use auxiliary::{Auxiliary, MAX_AUXILIARIES, Transport};
pub use client::{Client, ClientError, CommitTime};
pub use connection::MAX_MULTIPART_REQUEST_BYTES;
pub use event::{ConnId, Event, Head, Origin};
pub use hub::{FIRST_BACKOFF, Hub, Listener, Pursuit, STABLE_AFTER, Target};
pub use identity::{TlsError, TlsFiles};
pub use newcomers::{MAX_NEWCOMERS, MAX_NEWCOMERS_PER_SOURCE, Newcomer, Newcomers, PeerSource};
pub use outbox::{MAX_PENDING_BYTES, MAX_TOTAL_PENDING_BYTES, PAUSE_BYTES, ROOM_BYTES, Sender};
pub use pace::RateLimit;
pub use places::{ListenerPlace, MAX_CONNECTIONS_PER_LISTENER, Places};
pub use queue_place::{MAX_WAITING, QueuePlace};
pub use reading::{Reading, ReadingError};
pub use reason::Reason;
pub use regular_file::{
    MAX_FILE_BYTES, open_input, read_file, read_input, read_standard_input, read_text, shortened,
};
pub use run_dir::{
    NotPermitted, RunSocket, SYSTEM_RUN_DIRECTORY, is_own, is_user, permitted, run_directories,
    run_sockets, user_run_directory,
};
pub use settings::{Settings, Watch, WatchFn};
pub use stream::AddressPair;
pub use timeouts::HELLO_TIMEOUT;
#[cfg(not(feature = "tls"))]
pub use tls::NoTls as Tls;
#[cfg(feature = "tls")]
pub use tls::Tls;
