//! `bofuss.Switch`: a switch in a Python program, which passes in the time.

use std::collections::BTreeMap;
use std::sync::Arc;

use bofuss_embed::{ConnId, Effect, EmbedError, EmbeddedConfig, EmbeddedSwitch, FailMode, Time};
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::{ErrorCode, Message, PortNo, Version};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::codecs::codec;
use crate::errors;
use crate::form::{PyForm, To};
use crate::message::Headed;

/// The Python module that has the classes of effects and traces.
const MODULE: &str = "bofuss.switch";

/// A switch without threads, sockets and clock. Each method is an input with its time, and `drain`
/// returns the effects. Times are nanoseconds of any clock that does not go back; without one, an
/// input has the time of the one before. Only the thread that made a switch may use it.
#[pyclass(module = "bofuss", name = "Switch", unsendable)]
pub(crate) struct PySwitch {
    embedded: EmbeddedSwitch,
    now: Time,
    /// The versions of the connections of messages.
    versions: BTreeMap<ConnId, Version>,
}

/// The exception for a call that was refused and changed nothing.
fn refused(error: EmbedError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The version with this number on the wire. Errors: there is none.
fn version_of(number: u8) -> PyResult<Version> {
    match Version::of_number(number) {
        Some(version) => Ok(version),
        None => Err(PyValueError::new_err(format!(
            "version {number} is not spoken"
        ))),
    }
}

/// Sets an option of a switch. Errors: there is none of this name, or its value does not fit.
fn set_option(config: &mut EmbeddedConfig, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let tables = &mut config.tables;
    match name {
        "max_entries" => tables.max_entries = value.extract()?,
        "max_total_entries" => tables.max_total_entries = value.extract()?,
        "max_groups" => tables.max_groups = value.extract()?,
        "max_buckets" => tables.max_buckets = value.extract()?,
        "max_meters" => tables.max_meters = value.extract()?,
        "max_bands" => tables.max_bands = value.extract()?,
        "select" => {
            let named: String = value.extract()?;
            tables.select = named.parse().map_err(errors::of_text)?;
        }
        "links_fixed" => config.links_fixed = value.extract()?,
        _ => {
            let text = format!("a switch has no option '{name}'");
            return Err(PyTypeError::new_err(text));
        }
    }
    Ok(())
}

#[pymethods]
impl PySwitch {
    /// Makes a switch with ports 1 to `ports`, whose links are up. `fail_mode` is what it does
    /// without a controller: `secure`, `standalone` or `arp-path`. Limits are `max_entries` (of a
    /// table), `max_total_entries`, `max_groups`, `max_buckets` (of all groups), `max_meters` and
    /// `max_bands` (of a meter). `select` is how select groups choose a bucket: `hash`,
    /// `round-robin` or `random`. With `links_fixed`, controllers may not set links up and down.
    #[new]
    #[pyo3(signature = (
        *, datapath_id = 1, ports = 0, tables = 64, fail_mode = "secure", now = 0, **options
    ))]
    fn new(
        datapath_id: u64,
        ports: u32,
        tables: u8,
        fail_mode: &str,
        now: u64,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let catalogue = Arc::clone(&codec(Version::USUAL.number()).catalogue);
        let mut config = EmbeddedConfig::with_catalogue(catalogue);
        config.datapath_id = datapath_id;
        config.tables.n_tables = tables;
        config.fail_mode = match fail_mode {
            "secure" => FailMode::Secure,
            "standalone" => FailMode::Standalone,
            "arp-path" => FailMode::ArpPath,
            other => return Err(PyValueError::new_err(format!("no fail mode is '{other}'"))),
        };
        for (name, value) in options.into_iter().flatten() {
            set_option(&mut config, &name.extract::<String>()?, &value)?;
        }
        let now = Time(now);
        let embedded = EmbeddedSwitch::new(now, config).map_err(refused)?;
        let mut this = Self {
            embedded,
            now,
            versions: BTreeMap::new(),
        };
        for number in 1..=ports {
            this.add_port(number, None, None)?;
        }
        Ok(this)
    }

    /// The time of the last input.
    #[getter]
    fn now(&self) -> u64 {
        self.now.0
    }

    /// Adds a port, or changes the one with this number; `desc` is its description.
    #[pyo3(signature = (number, desc = None, now = None))]
    fn add_port(
        &mut self,
        number: u32,
        desc: Option<&Bound<'_, PyAny>>,
        now: Option<u64>,
    ) -> PyResult<()> {
        let desc = match desc {
            Some(desc) => PortDesc {
                port_no: PortNo(number),
                ..PortDesc::from_python(desc)?
            },
            None => bofuss_embed::port(number),
        };
        let now = self.at(now)?;
        let added = self.embedded.add_port(now, desc, Default::default());
        added.map_err(refused)
    }

    /// Removes a port.
    #[pyo3(signature = (number, now = None))]
    fn remove_port(&mut self, number: u32, now: Option<u64>) -> PyResult<()> {
        let now = self.at(now)?;
        let removed = self.embedded.remove_port(now, PortNo(number));
        removed.map_err(refused)
    }

    /// Says that the link of a port came up or went down.
    #[pyo3(signature = (number, up, now = None))]
    fn set_link(&mut self, number: u32, up: bool, now: Option<u64>) -> PyResult<()> {
        let now = self.at(now)?;
        let set = self.embedded.set_link(now, PortNo(number), up);
        set.map_err(refused)
    }

    /// Passes a frame that arrived on a port: from the destination address on, without FCS.
    #[pyo3(signature = (port, frame, now = None))]
    fn receive(&mut self, port: u32, frame: &[u8], now: Option<u64>) -> PyResult<()> {
        let now = self.at(now)?;
        let Some(copied) = self.embedded.frame(frame) else {
            let what = format!("no room for {} bytes", frame.len());
            return Err(PyValueError::new_err(what));
        };
        let received = self.embedded.receive(now, PortNo(port), &mut vec![copied]);
        received.map_err(refused)
    }

    /// Explains what would happen to a frame on a port, as a `Trace`, and changes nothing.
    #[pyo3(signature = (port, frame, now = None))]
    fn explain<'py>(
        &mut self,
        py: Python<'py>,
        port: u32,
        frame: &[u8],
        now: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let now = self.at(now)?;
        let explained = self.embedded.explain(now, PortNo(port), frame);
        let trace = explained.map_err(refused)?;
        let class = py.import(MODULE)?.getattr("Trace")?;
        class.call1((trace.to_string(), trace.svg()))
    }

    /// Opens a connection of a controller, or of a tool, that carries bytes; returns its number.
    /// The switch's HELLO is the first effect.
    #[pyo3(signature = (is_controller = true))]
    fn connect(&mut self, is_controller: bool) -> u64 {
        self.embedded.connect(is_controller).0
    }

    /// Passes bytes that arrived on a connection, cut anywhere; returns how many were taken. Pass
    /// the rest again after `work`, when the peer has read.
    #[pyo3(signature = (connection, data, now = None))]
    fn feed(&mut self, connection: u64, data: &[u8], now: Option<u64>) -> PyResult<usize> {
        let now = self.at(now)?;
        let taken = self.embedded.feed(now, ConnId(connection), data);
        taken.map_err(refused)
    }

    /// Opens a connection of a controller that carries messages instead of bytes; returns its
    /// number.
    #[pyo3(signature = (version = 4, now = None))]
    fn connect_messages(&mut self, version: u8, now: Option<u64>) -> PyResult<u64> {
        let version = version_of(version)?;
        let now = self.at(now)?;
        let conn = self.embedded.connect_typed(now, version);
        self.versions.insert(conn, version);
        Ok(conn.0)
    }

    /// Passes a message that arrived on a connection of messages. Returns False if it was not
    /// taken, because a reply is unfinished: pass it again after `work`.
    #[pyo3(signature = (connection, message, now = None))]
    fn message(
        &mut self,
        connection: u64,
        message: &Bound<'_, PyAny>,
        now: Option<u64>,
    ) -> PyResult<bool> {
        let Headed { xid, message, .. } = Headed::from_python(message)?;
        let now = self.at(now)?;
        let taken = self.embedded.message(now, ConnId(connection), xid, message);
        taken.map_err(refused)
    }

    /// Removes a connection that was closed.
    #[pyo3(signature = (connection, now = None))]
    fn disconnect(&mut self, connection: u64, now: Option<u64>) -> PyResult<()> {
        let now = self.at(now)?;
        let gone = self.embedded.disconnect(now, ConnId(connection));
        self.versions.remove(&ConnId(connection));
        gone.map_err(refused)
    }

    /// Expires entries, and serves other timers that are due.
    fn tick(&mut self, now: u64) -> PyResult<()> {
        let now = self.at(Some(now))?;
        self.embedded.tick(now);
        Ok(())
    }

    /// The time at which to call `tick` next; None if nothing waits for a time.
    #[getter]
    fn next_tick(&self) -> Option<u64> {
        self.embedded.next_tick().map(|time| time.0)
    }

    /// Continues replies that waited for their reader.
    #[pyo3(signature = (now = None))]
    fn work(&mut self, now: Option<u64>) -> PyResult<()> {
        let now = self.at(now)?;
        self.embedded.work(now);
        Ok(())
    }

    /// True if something waits for `work`.
    #[getter]
    fn has_work(&self) -> bool {
        self.embedded.has_work()
    }

    /// Takes the effects of the inputs, in order: `Transmit`, `Send` and others of `bofuss.switch`.
    fn drain<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut effects = Vec::new();
        while let Some(effect) = self.embedded.next_effect() {
            effects.push(self.effect(py, effect)?);
        }
        Ok(effects)
    }
}

impl PySwitch {
    /// Sets the time to that of an input. Errors: it is before that of the last input.
    fn at(&mut self, now: Option<u64>) -> PyResult<Time> {
        let now = now.map_or(self.now, Time);
        if now < self.now {
            let what = format!(
                "{} is before {}, when the last input came",
                now.0, self.now.0
            );
            return Err(PyValueError::new_err(what));
        }
        self.now = now;
        Ok(now)
    }

    /// An effect as an object of its Python class.
    fn effect<'py>(&mut self, py: Python<'py>, effect: Effect) -> PyResult<Bound<'py, PyAny>> {
        let (class, members) = match effect {
            Effect::Transmit { port, queue, frame } => {
                let bytes = PyBytes::new(py, frame.bytes());
                (
                    "Transmit",
                    (port.0, bytes, queue.0).into_pyobject(py)?.into_any(),
                )
            }
            Effect::Send { conn, bytes } => {
                let bytes = PyBytes::new(py, &bytes);
                ("Send", (conn.0, bytes).into_pyobject(py)?.into_any())
            }
            Effect::Message { conn, xid, message } => {
                let message = self.sent(py, conn, xid, message)?;
                ("Deliver", (conn.0, message).into_pyobject(py)?.into_any())
            }
            Effect::Close { conn, why } => {
                self.versions.remove(&conn);
                (
                    "Close",
                    (conn.0, why.to_string()).into_pyobject(py)?.into_any(),
                )
            }
            Effect::SetLink { port, up } => ("SetLink", (port.0, up).into_pyobject(py)?.into_any()),
            Effect::Advertise { port, features } => (
                "Advertise",
                (port.0, features.0).into_pyobject(py)?.into_any(),
            ),
            Effect::Unsent {
                conn,
                xid,
                name,
                cause,
            } => {
                let members = (conn.0, xid, name, cause.to_string());
                ("Unsent", members.into_pyobject(py)?.into_any())
            }
            Effect::Refused { conn, xid, error } => {
                let ErrorCode {
                    ty,
                    code,
                    experimenter,
                } = error;
                let members = (conn.0, xid, ty, code, experimenter);
                ("Refused", members.into_pyobject(py)?.into_any())
            }
            other => return Err(PyValueError::new_err(format!("{other:?}"))),
        };
        let class = py.import(MODULE)?.getattr(class)?;
        class.call1(members.cast_into::<PyTuple>()?)
    }

    /// The object of a message that the switch sends on a connection of messages.
    fn sent<'py>(
        &self,
        py: Python<'py>,
        conn: ConnId,
        xid: u32,
        message: Message,
    ) -> PyResult<Bound<'py, PyAny>> {
        let version = self.versions.get(&conn);
        let headed = Headed {
            version: version.map_or(Version::USUAL.number(), |version| version.number()),
            xid,
            message,
        };
        headed.to_python(To { py, plain: false })
    }
}
