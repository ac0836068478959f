//! The functions of `bofuss.oflib`, which convert bytes and texts to messages and back; its framer;
//! and the rows of its enumerations and stubs.

use bofuss_ext::trace::parse_packet;
use bofuss_oflib::error::ERRORS;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::flow_mod::FlowModCommand;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::text::{parse_flow, parse_group, parse_meter};
use bofuss_oflib::{Action, Instruction, Message, Version};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::buffer::Buffer;
use crate::class::Class;
use crate::codecs::{catalogue, codec};
use crate::experimenter::PyExtValue;
use crate::form::{PyForm, To};
use crate::matching::PyMatch;
use crate::members::Member;
use crate::message::{Headed, Held, read};
use crate::number::{Enumeration, FLAGS, NAMED};
use crate::record::Record;
use crate::{errors, structures};

/// `decode(data: Buffer) -> Message`
///
/// Reads one whole message, header included, in the version of its header. Raises DecodeError.
#[pyfunction]
fn decode<'py>(py: Python<'py>, data: Buffer<'py>) -> PyResult<Bound<'py, PyAny>> {
    decoded(py, data.named("data")?.as_bytes())
}

/// The message in the bytes of one.
fn decoded<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let version = data.first().copied().unwrap_or(0);
    let decoded = codec(version).decode(data);
    let (xid, message) = decoded.map_err(errors::of_decoding)?;
    let headed = Headed {
        version,
        xid,
        message,
    };
    headed.unread(py)
}

/// `encode(message: Message) -> bytes`
///
/// The bytes of a message, header included. A multipart whose list is too long for one message
/// becomes several.
///
/// Raises EncodeError, and ValueError for a member that does not fit.
#[pyfunction]
fn encode<'py>(py: Python<'py>, message: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let headed = Headed::from_python(message)?;
    let Some(version) = Version::of_number(headed.version) else {
        let what = format!("version {} is not spoken", headed.version);
        return Err(PyValueError::new_err(what));
    };
    let mut bytes = Vec::new();
    let encoded = codec(version.number()).encode(headed.xid, &headed.message, &mut bytes);
    encoded.map_err(errors::of_encoding)?;
    Ok(PyBytes::new(py, &bytes))
}

/// The Python object of a message of the usual version, with transaction id 0.
fn made(py: Python<'_>, message: Message) -> PyResult<Bound<'_, PyAny>> {
    let headed = Headed {
        version: Version::USUAL.number(),
        xid: 0,
        message,
    };
    headed.to_python(To { py, plain: false })
}

/// Reads a command, or returns the usual one if there is none. Errors: it is no command.
fn command<T: PyForm>(value: Option<&Bound<'_, PyAny>>, usual: T) -> PyResult<T> {
    let Some(value) = value else {
        return Ok(usual);
    };
    Ok(T::from_python(value).map_err(|fault| fault.within("command"))?)
}

/// `flow_from_text(text: str, command: int | str = "add") -> FlowMod`
///
/// Reads a flow: `priority=10,ip,nw_dst=10.0.0.0/8,actions=output:2`. Raises TextError.
#[pyfunction]
#[pyo3(signature = (text, command = None))]
fn flow_from_text<'py>(
    text: &str,
    command: Option<&Bound<'py, PyAny>>,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let command = self::command(command, FlowModCommand::ADD)?;
    let flow = parse_flow(text, command, catalogue()).map_err(errors::of_text)?;
    made(py, Message::FlowMod(flow))
}

/// `flow_to_text(flow: FlowMod) -> str`
///
/// The text that `flow_from_text` reads. It does not have the command.
#[pyfunction]
fn flow_to_text(flow: &Bound<'_, PyAny>) -> PyResult<String> {
    match Headed::from_python(flow)?.message {
        Message::FlowMod(flow) => Ok(flow.to_string()),
        other => {
            let what = format!("{} is no flow-mod", other.name());
            Err(PyValueError::new_err(what))
        }
    }
}

/// `group_from_text(text: str, command: int | str = "add") -> GroupMod`
///
/// Reads a group: `group_id=1,type=select,bucket=weight:2,output:1`. Raises TextError.
#[pyfunction]
#[pyo3(signature = (text, command = None))]
fn group_from_text<'py>(
    text: &str,
    command: Option<&Bound<'py, PyAny>>,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let command = self::command(command, GroupModCommand::ADD)?;
    let group = parse_group(text, command, catalogue()).map_err(errors::of_text)?;
    made(py, Message::GroupMod(group))
}

/// `meter_from_text(text: str, command: int | str = "add") -> MeterMod`
///
/// Reads a meter: `meter=1,kbps,bands=type=drop,rate=1000`. Raises TextError.
#[pyfunction]
#[pyo3(signature = (text, command = None))]
fn meter_from_text<'py>(
    text: &str,
    command: Option<&Bound<'py, PyAny>>,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let command = self::command(command, MeterModCommand::ADD)?;
    let meter = parse_meter(text, command).map_err(errors::of_text)?;
    made(py, Message::MeterMod(meter))
}

/// `actions_from_text(text: str) -> list[Action]`
///
/// Reads actions: `dec_ttl,output:2`. Raises TextError.
#[pyfunction]
fn actions_from_text<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    Vec::<Action>::from_python(text)?.to_python(To { py, plain: false })
}

/// `instructions_from_text(text: str) -> list[Instruction]`
///
/// Reads instructions: `meter:1,output:2,goto_table:3`. Raises TextError.
#[pyfunction]
fn instructions_from_text<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    Instructions::from_python(text)?.to_python(To { py, plain: false })
}

/// `packet_from_text(text: str) -> tuple[int, bytes]`
///
/// Makes the packet that a text describes, in the syntax of `bofuss trace`:
/// `in_port=1,tcp,nw_dst=10.0.0.2,tcp_dst=80`. Returns its ingress port (1 if the text has none)
/// and the frame. Raises ValueError.
#[pyfunction]
fn packet_from_text<'py>(py: Python<'py>, text: &str) -> PyResult<(u32, Bound<'py, PyBytes>)> {
    let made = parse_packet(text, catalogue());
    let (port, frame) = made.map_err(errors::of_text)?;
    Ok((port.0, PyBytes::new(py, &frame)))
}

/// Cuts a stream of bytes into messages: `feed(data: Buffer)` it bytes, then iterate over each
/// `Message`.
#[pyclass(module = "bofuss.oflib", name = "Framer")]
struct PyFramer(bofuss_oflib::Framer);

#[pymethods]
impl PyFramer {
    #[new]
    fn new() -> Self {
        Self(bofuss_oflib::Framer::new())
    }

    /// Appends bytes. Returns the framer, for `for message in framer.feed(data)`.
    fn feed<'py>(
        mut this: PyRefMut<'py, Self>,
        data: Buffer<'py>,
    ) -> PyResult<PyRefMut<'py, Self>> {
        this.0.push(data.named("data")?.as_bytes());
        Ok(this)
    }

    /// The number of bytes that wait for the rest of their message.
    fn __len__(&self) -> usize {
        self.0.buffered().len()
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// The next whole message. Raises DecodeError: a message with a wrong body is skipped, so the
    /// next call goes on after it; after a wrong length, nothing more can be read.
    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.0.next_message().map_err(errors::of_decoding)? {
            Some(bytes) => decoded(py, bytes).map(Some),
            None => Ok(None),
        }
    }
}

/// All classes that rows define.
fn classes() -> impl Iterator<Item = &'static Class> {
    let unions = Action::classes().iter().chain(Instruction::classes());
    structures::classes().chain(unions).chain(Headed::classes())
}

/// The rows of all classes: name, base class, and of each member the name, type, accepted type, and
/// whether it has no initial value.
#[pyfunction]
fn rows(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let mut rows = Vec::new();
    for class in classes() {
        let mut members = Vec::new();
        for member in (class.members)() {
            let Member {
                name,
                annotation,
                accepted,
                is_needed,
            } = member;
            members.push((name, annotation, accepted, is_needed));
        }
        let row = (class.name, class.base, members).into_pyobject(py)?;
        rows.push(row.into_any());
    }
    Ok(rows)
}

/// The names of an enumeration, each with its value.
type NamedValues = Vec<(String, u64)>;

/// The enumerations: the name of each, whether its values are sets of flags, and its named values.
#[pyfunction]
fn enumerations() -> Vec<(String, bool, NamedValues)> {
    let mut found = Vec::new();
    for Enumeration {
        name,
        are_flags,
        values,
    } in NAMED.iter().chain(FLAGS)
    {
        let mut named = Vec::new();
        for (value_name, value) in values() {
            named.push((value_name.to_string(), value));
        }
        found.push((name.to_string(), *are_flags, named));
    }
    found.push(("ErrorType".to_string(), false, error_types()));
    found
}

/// The types of errors, for an enumeration.
fn error_types() -> NamedValues {
    let mut types = Vec::new();
    for row in ERRORS {
        types.push((row.type_name.to_string(), row.error.ty.into()));
    }
    types.dedup();
    types
}

/// The errors of the specification and of experimenters: type, code, experimenter, the names of
/// type and code, and the meaning.
#[pyfunction]
fn error_rows(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyTuple>>> {
    let mut found = Vec::new();
    for row in ERRORS.iter().chain(catalogue().error_names()) {
        let error = row.error;
        let members = (
            error.ty,
            error.code,
            error.experimenter,
            row.type_name,
            row.code_name,
            row.meaning,
        );
        found.push(members.into_pyobject(py)?);
    }
    Ok(found)
}

/// The match fields: name, width in bits, whether matches may have a mask, whether set-field may
/// write it, and its other names.
#[pyfunction]
fn field_rows() -> Vec<(&'static str, u16, bool, bool, Vec<&'static str>)> {
    let fields = catalogue().fields().iter();
    fields
        .map(|f| (f.name, f.bits, f.maskable, f.settable, f.aliases.to_vec()))
        .collect()
}

/// Adds the classes and functions of this file to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // It comes first, because the classes of messages derive from it.
    module.add_class::<Held>()?;
    module.add_class::<PyMatch>()?;
    module.add_class::<PyExtValue>()?;
    module.add_class::<PyFramer>()?;
    for class in classes() {
        module.add(class.name, class.made(module.py())?)?;
    }
    for function in [
        wrap_pyfunction!(decode, module)?,
        wrap_pyfunction!(encode, module)?,
        wrap_pyfunction!(read, module)?,
        wrap_pyfunction!(flow_from_text, module)?,
        wrap_pyfunction!(flow_to_text, module)?,
        wrap_pyfunction!(group_from_text, module)?,
        wrap_pyfunction!(meter_from_text, module)?,
        wrap_pyfunction!(actions_from_text, module)?,
        wrap_pyfunction!(instructions_from_text, module)?,
        wrap_pyfunction!(packet_from_text, module)?,
        wrap_pyfunction!(rows, module)?,
        wrap_pyfunction!(enumerations, module)?,
        wrap_pyfunction!(error_rows, module)?,
        wrap_pyfunction!(field_rows, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}
