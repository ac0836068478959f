//! A packet between the parser and its end.

use alloc::sync::Arc;

use super::phv::Phv;
use super::sink::DropReason;
use crate::program::{Data, Program};

/// `instance_type`, as the documentation of simple_switch numbers it.
#[derive(Clone, Copy)]
pub(super) enum Instance {
    Normal = 0,
    IngressClone = 1,
    EgressClone = 2,
    Recirculated = 4,
    Replication = 5,
    Resubmitted = 6,
}

/// The bytes of a frame.
#[derive(Clone, Debug)]
pub enum Frame<'a> {
    /// As the caller has it.
    Arrived(&'a [u8]),
    /// Of a packet that begins again.
    Made(Arc<[u8]>),
}

impl core::ops::Deref for Frame<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Arrived(bytes) => bytes,
            Self::Made(bytes) => bytes,
        }
    }
}

/// A packet.
#[derive(Clone, Debug)]
pub struct Packet<'a> {
    pub(super) phv: Phv,
    pub(super) frame: Frame<'a>,
    /// Where it arrived, also after the program has written another port to its metadata.
    pub(super) port: u32,
    /// The bytes of the frame that the parser took.
    pub(super) parsed: usize,
    /// The bytes that it would have if it left now.
    pub(super) length: usize,
    pub(super) truncate: Option<usize>,
    /// The session of the last clone, and the fields that it keeps.
    pub(super) clone: Option<(u32, Option<usize>)>,
    pub(super) resubmit: Option<usize>,
    pub(super) recirculate: Option<usize>,
    pub(super) digest: Option<usize>,
    pub(super) exit: bool,
    pub(super) dead: Option<DropReason>,
    pub(super) passes: u32,
}

impl<'a> Packet<'a> {
    pub(super) fn new(phv: Phv, frame: Frame<'a>, port: u32, passes: u32) -> Self {
        Self {
            phv,
            length: frame.len(),
            frame,
            port,
            parsed: 0,
            truncate: None,
            clone: None,
            resubmit: None,
            recirculate: None,
            digest: None,
            exit: false,
            dead: None,
            passes,
        }
    }

    /// A copy with the same headers, for which nothing is asked.
    pub(super) fn copy(&self) -> Self {
        Self {
            parsed: self.parsed,
            length: self.length,
            truncate: self.truncate,
            ..Self::new(self.phv.clone(), self.frame.clone(), self.port, self.passes)
        }
    }

    /// The same with bytes of its own, to wait for longer than the caller's are there.
    pub(super) fn into_owned(self) -> Packet<'static> {
        let bytes = match self.frame {
            Frame::Arrived(bytes) => bytes.into(),
            Frame::Made(bytes) => bytes,
        };
        Packet {
            phv: self.phv,
            frame: Frame::Made(bytes),
            port: self.port,
            parsed: self.parsed,
            length: self.length,
            truncate: self.truncate,
            clone: self.clone,
            resubmit: self.resubmit,
            recirculate: self.recirculate,
            digest: self.digest,
            exit: self.exit,
            dead: self.dead,
            passes: self.passes,
        }
    }

    /// About the memory that it takes, in bytes.
    pub fn held_bytes(&self) -> usize {
        size_of::<Self>() + self.frame.len() + self.phv.held_bytes()
    }

    /// What the parser has not taken of the packet.
    pub(super) fn ahead(&self) -> &[u8] {
        &self.frame[self.parsed..]
    }

    /// Sets all metadata of a copy, whose headers are `phv`, to 0 but the fields that it keeps of
    /// this packet, and its type.
    pub(super) fn keep_fields(
        &self,
        program: &Program,
        phv: &mut Phv,
        list: Option<usize>,
        instance: Instance,
    ) {
        phv.reset_metadata(program);
        let elements = list.map_or(&[][..], |list| &program.field_lists[list].elements);
        for element in elements {
            if let Data::Field(field) = element {
                phv.set(program, *field, &self.phv.get(program, *field));
            }
        }
        phv.set_some(program, program.standard.instance_type, instance as u64);
    }

    /// Ends the packet, for a reason.
    pub(super) fn kill(&mut self, reason: DropReason) {
        self.dead = Some(reason);
        self.exit = true;
    }
}
