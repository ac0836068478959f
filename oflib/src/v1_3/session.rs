//! Messages about a connection: HELLO, ERROR, features, configuration, roles, tables.

use super::{V1_3, layout};
use crate::error::{BadRequest, DecodeError, EXPERIMENTER_ERROR_TYPE, ErrorCode};
use crate::forms::Form;
use crate::message::async_config::AsyncConfig;
use crate::message::config::{ConfigFlags, SwitchConfig};
use crate::message::features::{Capabilities, Features};
use crate::message::role::Role;
use crate::message::{ErrorMsg, Hello, TableMod};
use crate::wire::{Reader, Writer};

layout! {
    V1_3;
    // `data` goes up to the end of the message: at least 64 bytes of the message at fault, or less
    // if it is shorter; for HELLO_FAILED a text.
    ErrorMsg { error, data }
    // `n_buffers` is how many packets the switch can hold. The ports are a multipart since 1.3, so
    // that the last word is reserved.
    Features {
        datapath_id, n_buffers, n_tables, auxiliary_id => 2, capabilities, reserved;
        ..default
    }
    // `miss_send_len` is in bytes, and limits packets that go to the controller without an output
    // action.
    SwitchConfig { flags, miss_send_len }
    TableMod { table_id => 3, config; ..default [eviction, vacancy, experimenters, miss] }
    Role { role => 4, generation_id; ..default [short_id] }
    // Of each pair, the first mask is for a master or equal, the second for a slave. Bit N of a
    // mask is the reason with number N.
    AsyncConfig {
        packet_in, packet_in_slave, port_status, port_status_slave, flow_removed,
        flow_removed_slave;
        ..default [
            role_status, role_status_slave, table_status, table_status_slave, request_forward,
            request_forward_slave, flow_stats, flow_stats_slave, controller_status,
            controller_status_slave, omitted, experimenters, experimenters_slave
        ]
    }
}

/// The bits of the model that have a place here; the bits above them are other versions'.
macro_rules! low_bits {
    ($($T:ident as $wire:ty;)*) => { $(
        impl Form<V1_3> for $T {
            fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(Self(r.get::<$wire>()?.into()))
            }
            fn write(&self, w: &mut Writer<'_>) {
                w.put(&(self.0 as $wire));
            }
        }
    )* };
}
pub(super) use low_bits;

low_bits! {
    Capabilities as u32;
    ConfigFlags as u16;
}

/// The element type of the version bitmap.
const VERSION_BITMAP: u16 = 1;

/// Elements of type, length and contents, each padded to 8 bytes. The only type there is gives the
/// versions as a bitmap of 32-bit words, bit N of the first for version number N. Spec: OpenFlow
/// 1.3.5 section 7.5.1.
impl Form<V1_3> for Hello {
    /// Unknown elements are skipped. Choice: a malformed one ends the list, and what came before
    /// counts: the version in the header is one that the peer speaks.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut hello = Self::default();
        while let Ok((_, ty, mut element)) = r.at("hello element").property(BadRequest::BAD_LEN) {
            if ty == VERSION_BITMAP {
                match element.at("version bitmap").get() {
                    Ok(bitmap) => hello.bitmap = bitmap,
                    Err(_) => break,
                }
            }
        }
        // What follows a malformed element is taken as read, so that the message ends where it
        // should.
        r.rest();
        Ok(hello)
    }

    fn write(&self, w: &mut Writer<'_>) {
        // Without a bitmap the version in the header alone counts, as for peers before 1.3.1.
        if !self.bitmap.is_empty() {
            w.property(VERSION_BITMAP, |w| {
                w.put(&self.bitmap);
            });
        }
    }
}

/// Reads type and code of an error, and its experimenter if it has one.
///
/// Type and code have 16 bits each. An experimenter's error has its type of error in place of the
/// code, then the experimenter's id of 32 bits. Spec: OpenFlow 1.3.5 section 7.4.4.
pub(crate) fn read_code(r: &mut Reader<'_>) -> Result<ErrorCode, DecodeError> {
    let mut error = ErrorCode::new(r.at("type").get()?, r.at("code").get()?);
    if error.ty == EXPERIMENTER_ERROR_TYPE {
        error.experimenter = r.at("experimenter").get()?;
    }
    Ok(error)
}

/// Appends what [`read_code`] reads.
pub(crate) fn write_code(error: ErrorCode, w: &mut Writer<'_>) {
    w.put(&error.ty).put(&error.code);
    if error.ty == EXPERIMENTER_ERROR_TYPE {
        w.put(&error.experimenter);
    }
}
