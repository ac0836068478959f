//! Effects of a switch as objects of the classes in `bofuss.switch`.

use bofuss_embed::{ConnId, Effect};
use bofuss_oflib::{ErrorCode, Message, Version};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::form::{PyForm, To};
use crate::locked::Held;
use crate::message::Headed;

/// The Python module that has the classes of effects and traces.
pub(crate) const MODULE: &str = "bofuss.switch";

/// An effect that holds nothing of its switch.
pub(crate) enum Taken {
    Transmit(u32, Vec<u8>, u32),
    Send(ConnId, Vec<u8>),
    Message(ConnId, Headed),
    Close(ConnId, String),
    SetLink(u32, bool),
    Advertise(u32, u32),
    Unsent(ConnId, u32, &'static str, String),
    Refused(ConnId, u32, ErrorCode),
    /// An effect that has no class.
    Other(String),
}

impl Taken {
    /// Takes the effects of a switch.
    pub(crate) fn all(held: &mut Held) -> Vec<Self> {
        let mut taken = Vec::new();
        while let Some(effect) = held.switch().next_effect() {
            taken.push(Self::of(effect, held));
        }
        taken
    }

    fn of(effect: Effect, held: &mut Held) -> Self {
        match effect {
            Effect::Transmit { port, queue, frame } => {
                Self::Transmit(port.0, frame.bytes().into(), queue.0)
            }
            Effect::Send { conn, bytes } => Self::Send(conn, bytes),
            Effect::Message { conn, xid, message } => {
                let version = held.versions.get(&conn).copied();
                Self::Message(conn, headed(version, xid, message))
            }
            Effect::Close { conn, why } => {
                held.versions.remove(&conn);
                Self::Close(conn, why.to_string())
            }
            Effect::SetLink { port, up } => Self::SetLink(port.0, up),
            Effect::Advertise { port, features } => Self::Advertise(port.0, features.0),
            Effect::Unsent {
                conn,
                xid,
                name,
                cause,
            } => Self::Unsent(conn, xid, name, cause.to_string()),
            Effect::Refused { conn, xid, error } => Self::Refused(conn, xid, error),
            other => Self::Other(format!("{other:?}")),
        }
    }

    /// The object of its class.
    pub(crate) fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let (class, members) = match self {
            Self::Transmit(port, bytes, queue) => {
                let members = (port, PyBytes::new(py, &bytes), queue);
                ("Transmit", members.into_pyobject(py)?.into_any())
            }
            Self::Send(conn, bytes) => {
                let members = (conn.0, PyBytes::new(py, &bytes));
                ("Send", members.into_pyobject(py)?.into_any())
            }
            Self::Message(conn, headed) => {
                let message = headed.to_python(To { py, plain: false })?;
                ("Deliver", (conn.0, message).into_pyobject(py)?.into_any())
            }
            Self::Close(conn, why) => ("Close", (conn.0, why).into_pyobject(py)?.into_any()),
            Self::SetLink(port, up) => ("SetLink", (port, up).into_pyobject(py)?.into_any()),
            Self::Advertise(port, features) => {
                ("Advertise", (port, features).into_pyobject(py)?.into_any())
            }
            Self::Unsent(conn, xid, name, cause) => {
                let members = (conn.0, xid, name, cause);
                ("Unsent", members.into_pyobject(py)?.into_any())
            }
            Self::Refused(conn, xid, error) => {
                let members = (conn.0, xid, error.ty, error.code, error.experimenter);
                ("Refused", members.into_pyobject(py)?.into_any())
            }
            Self::Other(what) => return Err(PyValueError::new_err(what)),
        };
        let class = py.import(MODULE)?.getattr(class)?;
        class.call1(members.cast_into::<PyTuple>()?)
    }
}

/// A message on a connection of this version.
fn headed(version: Option<Version>, xid: u32, message: Message) -> Headed {
    Headed {
        version: version.unwrap_or(Version::USUAL).number(),
        xid,
        message,
    }
}
