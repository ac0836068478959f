//! The messages of a record between its switch and controllers.

use std::collections::BTreeMap;

use bofuss_agent::ConnId;
use bofuss_datapath::Time;
use bofuss_embed::record::{RecordedConfig, RecordedInput, RecordedOutput};

use crate::past::{KeepMessage, PastMessage, system_time};

/// Passes messages on while a record is played; not those of tools of the machine.
pub(super) struct RecordedMessages<'a> {
    keep: KeepMessage<'a>,
    /// Nanoseconds since 1970 at the time 0 of the run.
    epoch_ns: u64,
    /// The controllers' addresses.
    peers: BTreeMap<ConnId, String>,
}

impl<'a> RecordedMessages<'a> {
    pub(super) fn new(keep: KeepMessage<'a>) -> Self {
        Self {
            keep,
            epoch_ns: 0,
            peers: BTreeMap::new(),
        }
    }

    /// Begins a run.
    pub(super) fn begin(&mut self, config: &RecordedConfig) {
        self.epoch_ns = config.epoch_ns;
        self.peers.clear();
    }

    /// Takes the messages of an input and of its outputs.
    pub(super) fn take(&mut self, at: Time, input: &RecordedInput, outputs: &[RecordedOutput]) {
        if let RecordedInput::Peer(conn, uri) = input
            && !uri.starts_with("unix:")
        {
            self.peers.insert(*conn, uri.clone());
        }
        if let RecordedInput::Message { conn, bytes, .. } = input {
            self.pass_on(at, *conn, true, bytes);
        }
        for output in outputs {
            if let RecordedOutput::Message(conn, bytes) = output {
                self.pass_on(at, *conn, false, bytes);
            }
        }
    }

    fn pass_on(&mut self, at: Time, conn: ConnId, is_received: bool, bytes: &[u8]) {
        if let Some(peer) = self.peers.get(&conn) {
            (self.keep)(PastMessage {
                at: system_time(self.epoch_ns, at),
                peer,
                is_received,
                bytes,
            });
        }
    }
}
