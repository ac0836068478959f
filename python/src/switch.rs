//! `bofuss.Switch`: a switch in a Python program, which passes in the time.

use std::sync::Arc;

use bofuss_embed::{ConnId, EmbeddedConfig, EmbeddedSwitch, FailMode, Time};
use bofuss_frame::{HEADROOM_BYTES, MAX_FRAME_BYTES, Pool};
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::{PortNo, Version};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::buffer::Buffer;
use crate::codecs::codec;
use crate::effects::{MODULE, Taken};
use crate::errors;
use crate::form::{PyForm, To};
use crate::locked::{Call, Calls, Held, Locked, noted, refused};
use crate::message::Headed;

/// The most ports that a switch is made with.
const MAX_PORTS: u32 = 65_535;
/// The most bytes of a record, unless another number is given.
pub(crate) const MAX_RECORD_BYTES: usize = 64 << 20;

/// A switch without threads, sockets and clock. Each method is an input with its time, and `drain`
/// returns the effects. Times are nanoseconds of any clock that does not go back; without one, an
/// input has the time of the one before. Any thread may call a switch; the calls are made one after
/// the other. With `recorded`, it can be copied and pickled.
#[pyclass(module = "bofuss.switch", name = "Switch", frozen)]
pub(crate) struct PySwitch {
    locked: Locked,
    /// What it was made with.
    made_with: Py<PyDict>,
    is_recorded: bool,
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
        "pool_bytes" => {
            let bytes: usize = value.extract()?;
            if bytes < MIN_POOL_BYTES {
                let what = format!("{bytes} bytes: at least {MIN_POOL_BYTES}");
                return Err(PyValueError::new_err(what));
            }
            config.pool = Pool::new(bytes);
        }
        _ => {
            let text = format!("a switch has no option '{name}'");
            return Err(PyTypeError::new_err(text));
        }
    }
    Ok(())
}

/// The smallest pool: of one frame of the longest kind.
const MIN_POOL_BYTES: usize = MAX_FRAME_BYTES + HEADROOM_BYTES;

/// The same exception, with the name of the option that it is about.
fn within(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    let text = error.value(py).to_string();
    if text.contains(name) {
        return error;
    }
    PyErr::from_type(error.get_type(py), format!("{name}: {text}"))
}

#[pymethods]
impl PySwitch {
    /// Makes a switch with ports 1 to `ports`, whose links are up. `fail_mode` is what it does
    /// without a controller: `secure`, `standalone` or `arp-path`. Limits are `max_entries` (of a
    /// table), `max_total_entries`, `max_groups`, `max_buckets` (of all groups), `max_meters` and
    /// `max_bands` (of a meter). `select` is how select groups choose a bucket: `hash`,
    /// `round-robin` or `random`. With `links_fixed`, controllers may not set links up and down.
    /// `pool_bytes` is the room for frames until `drain`.
    ///
    /// With `recorded`, the calls are kept, in at most `max_record_bytes`: `copy.copy` and `pickle`
    /// make the same calls on a new switch.
    #[new]
    #[pyo3(signature = (
        *, datapath_id = 1, ports = 0, tables = 64, fail_mode = "secure", now = 0,
        recorded = false, max_record_bytes = MAX_RECORD_BYTES, **options
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        datapath_id: u64,
        ports: u32,
        tables: u8,
        fail_mode: &str,
        now: u64,
        recorded: bool,
        max_record_bytes: usize,
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
            let name = name.extract::<String>()?;
            set_option(&mut config, &name, &value).map_err(|error| within(py, &name, error))?;
        }
        if ports > MAX_PORTS {
            let what = format!("ports: {ports} are more than {MAX_PORTS}");
            return Err(PyValueError::new_err(what));
        }
        let made_with = PyDict::new(py);
        if let Some(options) = options {
            made_with.update(options.as_mapping())?;
        }
        made_with.set_item("datapath_id", datapath_id)?;
        made_with.set_item("ports", ports)?;
        made_with.set_item("tables", tables)?;
        made_with.set_item("fail_mode", fail_mode)?;
        made_with.set_item("now", now)?;
        made_with.set_item("recorded", recorded)?;
        made_with.set_item("max_record_bytes", max_record_bytes)?;
        let now = Time(now);
        let mut embedded = EmbeddedSwitch::new(now, config).map_err(refused)?;
        for number in 1..=ports {
            let added = embedded.add_port(now, bofuss_embed::port(number), Default::default());
            added.map_err(refused)?;
        }
        let record = recorded.then(|| Calls::new(max_record_bytes));
        Ok(Self {
            locked: Locked::new(Held::new(embedded, now, record)),
            made_with: made_with.unbind(),
            is_recorded: recorded,
        })
    }

    /// The time of the last input.
    #[getter]
    fn now(&self, py: Python<'_>) -> PyResult<u64> {
        self.locked.call(py, |held| Ok(held.now.0))
    }

    /// Adds a port, or changes the one with this number; `desc` is its description.
    #[pyo3(signature = (number, desc = None, now = None))]
    fn add_port(
        &self,
        py: Python<'_>,
        number: u32,
        desc: Option<&Bound<'_, PyAny>>,
        now: Option<u64>,
    ) -> PyResult<()> {
        let port = match desc {
            Some(desc) => PortDesc {
                port_no: PortNo(number),
                ..PortDesc::from_python(desc)?
            },
            None => bofuss_embed::port(number),
        };
        let known = port.to_python(To { py, plain: false })?;
        let call = noted(self.is_recorded, "add_port", (number, known, now), py)?;
        self.locked.call(py, |held| {
            let at = held.at(now)?;
            let added = held.switch().add_port(at, port, Default::default());
            added.map_err(refused)?;
            done(held, at, call, 0)
        })
    }

    /// Removes a port.
    #[pyo3(signature = (number, now = None))]
    fn remove_port(&self, py: Python<'_>, number: u32, now: Option<u64>) -> PyResult<()> {
        let call = noted(self.is_recorded, "remove_port", (number, now), py)?;
        self.locked.call(py, |held| {
            let at = held.at(now)?;
            let removed = held.switch().remove_port(at, PortNo(number));
            removed.map_err(refused)?;
            done(held, at, call, 0)
        })
    }

    /// Says that the link of a port came up or went down.
    #[pyo3(signature = (number, up, now = None))]
    fn set_link(&self, py: Python<'_>, number: u32, up: bool, now: Option<u64>) -> PyResult<()> {
        let call = noted(self.is_recorded, "set_link", (number, up, now), py)?;
        self.locked.call(py, |held| {
            let at = held.at(now)?;
            let set = held.switch().set_link(at, PortNo(number), up);
            set.map_err(refused)?;
            done(held, at, call, 0)
        })
    }

    /// Passes a frame that arrived on a port, as any object with a buffer: from the destination
    /// address on, without FCS.
    #[pyo3(signature = (port, frame, now = None))]
    fn receive(
        &self,
        py: Python<'_>,
        port: u32,
        frame: Buffer<'_>,
        now: Option<u64>,
    ) -> PyResult<()> {
        let frame = frame.named("frame")?;
        let call = noted(self.is_recorded, "receive", (port, &frame, now), py)?;
        let bytes = frame.as_bytes();
        self.locked.call(py, |held| {
            let at = held.at(now)?;
            let Some(copied) = held.switch().frame(bytes) else {
                return Err(PyValueError::new_err(no_room(bytes.len())));
            };
            let received = held.switch().receive(at, PortNo(port), &mut vec![copied]);
            received.map_err(refused)?;
            done(held, at, call, bytes.len())
        })
    }

    /// Explains what would happen to a frame on a port, as a `Trace`, and changes nothing.
    #[pyo3(signature = (port, frame, now = None))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        port: u32,
        frame: Buffer<'py>,
        now: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let frame = frame.named("frame")?;
        let bytes = frame.as_bytes();
        let explained = self.locked.call_long(py, |held| {
            let at = held.at(now)?;
            let explained = held.switch().explain(at, PortNo(port), 0, bytes);
            let trace = explained.map_err(refused)?;
            Ok((trace.to_string(), trace.svg()))
        })?;
        py.import(MODULE)?.getattr("Trace")?.call1(explained)
    }

    /// Opens a connection of a controller, or of a tool, that carries bytes; returns its number.
    /// The switch's HELLO is the first effect.
    #[pyo3(signature = (is_controller = true))]
    fn connect(&self, py: Python<'_>, is_controller: bool) -> PyResult<u64> {
        let call = noted(self.is_recorded, "connect", (is_controller,), py)?;
        self.locked.call(py, |held| {
            let conn = held.switch().connect(is_controller);
            held.note(call, 0);
            Ok(conn.0)
        })
    }

    /// Passes bytes that arrived on a connection, cut anywhere; returns how many were taken. Pass
    /// the rest again after `work`, when the peer has read.
    #[pyo3(signature = (connection, data, now = None))]
    fn feed(
        &self,
        py: Python<'_>,
        connection: u64,
        data: Buffer<'_>,
        now: Option<u64>,
    ) -> PyResult<usize> {
        let data = data.named("data")?;
        let call = noted(self.is_recorded, "feed", (connection, &data, now), py)?;
        let bytes = data.as_bytes();
        self.locked.call_long(py, |held| {
            let at = held.at(now)?;
            let fed = held.switch().feed(at, ConnId(connection), bytes);
            let taken = fed.map_err(refused)?;
            done(held, at, call, bytes.len())?;
            Ok(taken)
        })
    }

    /// Opens a connection of a controller that carries messages instead of bytes; returns its
    /// number.
    #[pyo3(signature = (version = 4, now = None))]
    fn connect_messages(&self, py: Python<'_>, version: u8, now: Option<u64>) -> PyResult<u64> {
        let call = noted(self.is_recorded, "connect_messages", (version, now), py)?;
        let version = version_of(version)?;
        self.locked.call(py, |held| {
            let at = held.at(now)?;
            let conn = held.switch().connect_typed(at, version);
            held.versions.insert(conn, version);
            done(held, at, call, 0)?;
            Ok(conn.0)
        })
    }

    /// Passes a message that arrived on a connection of messages. Returns False if it was not
    /// taken, because a reply is unfinished: pass it again after `work`.
    #[pyo3(signature = (connection, message, now = None))]
    fn message(
        &self,
        py: Python<'_>,
        connection: u64,
        message: &Bound<'_, PyAny>,
        now: Option<u64>,
    ) -> PyResult<bool> {
        let headed = Headed::from_python(message)?;
        // The object may be changed later, so the record has one of its own.
        let (mut call, mut bytes) = (None, 0);
        if self.is_recorded {
            bytes = recorded_bytes(&headed);
            let copy = headed.to_python(To { py, plain: false })?;
            call = noted(self.is_recorded, "message", (connection, copy, now), py)?;
        }
        let Headed { xid, message, .. } = headed;
        self.locked.call_long(py, |held| {
            let at = held.at(now)?;
            let conn = ConnId(connection);
            let given = held.switch().message(at, conn, xid, message);
            let taken = given.map_err(refused)?;
            done(held, at, call, bytes)?;
            Ok(taken)
        })
    }

    /// Removes a connection that was closed.
    #[pyo3(signature = (connection, now = None))]
    fn disconnect(&self, py: Python<'_>, connection: u64, now: Option<u64>) -> PyResult<()> {
        let call = noted(self.is_recorded, "disconnect", (connection, now), py)?;
        self.locked.call(py, |held| {
            let at = held.at(now)?;
            let gone = held.switch().disconnect(at, ConnId(connection));
            gone.map_err(refused)?;
            held.versions.remove(&ConnId(connection));
            done(held, at, call, 0)
        })
    }

    /// Expires entries, and serves other timers that are due.
    fn tick(&self, py: Python<'_>, now: u64) -> PyResult<()> {
        let call = noted(self.is_recorded, "tick", (now,), py)?;
        self.locked.call_long(py, |held| {
            let at = held.at(Some(now))?;
            held.switch().tick(at);
            done(held, at, call, 0)
        })
    }

    /// The time at which to call `tick` next; None if nothing waits for a time.
    #[getter]
    fn next_tick(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.locked
            .call(py, |held| Ok(held.switch().next_tick().map(|time| time.0)))
    }

    /// Continues replies that waited for their reader.
    #[pyo3(signature = (now = None))]
    fn work(&self, py: Python<'_>, now: Option<u64>) -> PyResult<()> {
        let call = noted(self.is_recorded, "work", (now,), py)?;
        self.locked.call_long(py, |held| {
            let at = held.at(now)?;
            held.switch().work(at);
            done(held, at, call, 0)
        })
    }

    /// True if something waits for `work`.
    #[getter]
    fn has_work(&self, py: Python<'_>) -> PyResult<bool> {
        self.locked.call(py, |held| Ok(held.switch().has_work()))
    }

    /// Takes the effects of the inputs, in order: `Transmit`, `Send` and others of `bofuss.switch`.
    fn drain<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let call = noted(self.is_recorded, "drain", (), py)?;
        let taken = self.locked.call(py, |held| {
            let taken = Taken::all(held);
            // Without effects, the call changed nothing.
            held.note(call.filter(|_| !taken.is_empty()), 0);
            Ok(taken)
        })?;
        let mut effects = Vec::new();
        for effect in taken {
            effects.push(effect.into_python(py)?);
        }
        Ok(effects)
    }

    /// For `pickle` and `copy`: a function, what the switch was made with, and its calls. Raises
    /// TypeError without `recorded`, and ValueError if the calls took more than
    /// `max_record_bytes`.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Reduced<'py>)> {
        let calls: Vec<Call> = self.locked.call(py, |held| {
            let record = held.record()?.iter();
            Ok(record
                .map(|(name, one)| (*name, one.clone_ref(py)))
                .collect())
        })?;
        let again = py.import(MODULE)?.getattr("_again")?;
        let made_with = self.made_with.bind(py).copy()?;
        Ok((again, (made_with, PyList::new(py, calls)?)))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.locked.call(py, |held| {
            let now = held.now.0;
            let datapath = held.switch().switch().datapath();
            Ok(format!(
                "<Switch of datapath {:#x} with {} ports, at {now} ns>",
                datapath.config().datapath_id,
                datapath.ports().len(),
            ))
        })
    }
}

/// What a copy is made of: what the switch was made with, and its calls.
pub(crate) type Reduced<'py> = (Bound<'py, PyDict>, Bound<'py, PyList>);

/// Bytes that the object of a message takes in a record, roughly, besides its content.
const MESSAGE_BYTES: usize = 1024;

/// Bytes that a message takes in a record, roughly.
fn recorded_bytes(headed: &Headed) -> usize {
    let mut bytes = Vec::new();
    let written = codec(headed.version).encode(headed.xid, &headed.message, &mut bytes);
    let content = match written {
        Ok(()) => bytes.len(),
        // It is too long, or its version cannot say it.
        Err(_) => format!("{:?}", headed.message).len(),
    };
    MESSAGE_BYTES + content
}

/// Sets the time to that of a call that was made, and notes the call.
fn done(held: &mut Held, at: Time, call: Option<Call>, bytes: usize) -> PyResult<()> {
    held.now = at;
    held.note(call, bytes);
    Ok(())
}

/// Why a frame of this length gets no buffer.
fn no_room(bytes: usize) -> String {
    if bytes > MAX_FRAME_BYTES {
        return format!("no room for {bytes} bytes: a frame has at most {MAX_FRAME_BYTES}");
    }
    format!("no room for {bytes} bytes: call drain, as frames that wait there fill the pool")
}
