//! The headers of packet-ins and packet-outs: from metadata to bits and back.

use bofuss_p4::Int;

use crate::error::{Refusal, Result};
use crate::value::{canonical, parse, width};
use crate::wire::config::ControllerPacketMetadata;
use crate::wire::messages::{PacketIn, PacketMetadata, PacketOut};

/// The widest header, in bits.
const MAX_BITS: u64 = 1 << 16;

#[derive(Debug)]
struct Field {
    id: u32,
    name: String,
    width: u32,
    padding: bool,
}

/// The fields of a header with the annotation `controller_header`, in order.
#[derive(Debug, Default)]
pub struct Layout {
    fields: Vec<Field>,
}

impl Layout {
    /// Errors: a field without a width, a header of no whole bytes.
    pub fn new(row: &ControllerPacketMetadata) -> Result<Self> {
        let fields = row.metadata.iter().map(|field| {
            Ok(Field {
                id: field.id,
                name: field.name.clone(),
                width: width(field.bitwidth, &field.name)?,
                padding: field.annotations.iter().any(|text| text == "@padding"),
            })
        });
        let fields: Vec<Field> = fields.collect::<Result<_>>()?;
        let bits: u64 = fields.iter().map(|field| u64::from(field.width)).sum();
        if !bits.is_multiple_of(8) || bits > MAX_BITS {
            let what = format!("a controller header of {bits} bits is not there");
            return Err(Refusal::invalid(what));
        }
        Ok(Self { fields })
    }

    fn bits(&self) -> u32 {
        self.fields.iter().map(|field| field.width).sum()
    }

    /// The packet-in of a frame with this header in front; `None` if the frame is shorter.
    pub fn packet_in(&self, frame: &[u8]) -> Option<PacketIn> {
        let (header, payload) = frame.split_at_checked(self.bits() as usize / 8)?;
        let mut value = Int::from_bytes(header);
        let mut metadata = Vec::new();
        for field in self.fields.iter().rev() {
            if !field.padding {
                metadata.push(PacketMetadata {
                    metadata_id: field.id,
                    value: canonical(&value.wrapped(field.width), field.width),
                });
            }
            value = value.shr(&Int::Small(field.width.into()));
        }
        metadata.reverse();
        let payload = payload.to_vec();
        Some(PacketIn { payload, metadata })
    }

    /// The frame of a packet-out. Errors: metadata that is missing, twice, unknown or too wide.
    pub fn frame(&self, packet: &PacketOut) -> Result<Vec<u8>> {
        let mut header = Int::ZERO;
        for field in &self.fields {
            let mut given = packet.metadata.iter();
            let value = match given.find(|row| row.metadata_id == field.id) {
                Some(row) => parse(&row.value, field.width, &field.name)?,
                None if field.padding => Int::ZERO,
                None => {
                    let what = format!("the packet-out has no metadata {}", field.name);
                    return Err(Refusal::invalid(what));
                }
            };
            header = header.shl(&Int::Small(field.width.into())).or(&value);
        }
        let known = |id| self.fields.iter().any(|field| field.id == id);
        for (place, row) in packet.metadata.iter().enumerate() {
            let id = row.metadata_id;
            if !known(id) {
                let what = format!("packet-outs have no metadata {id}");
                return Err(Refusal::invalid(what));
            }
            let before = &packet.metadata[..place];
            if before.iter().any(|other| other.metadata_id == id) {
                return Err(Refusal::invalid(format!("metadata {id} is there twice")));
            }
        }
        let mut frame = Vec::new();
        if self.bits() > 0 {
            header.append_to(self.bits(), &mut frame);
        }
        frame.extend_from_slice(&packet.payload);
        Ok(frame)
    }
}
