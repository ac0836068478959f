//! Messages: a class for each, with its version and transaction id; and the bodies of multiparts.

use std::cell::Cell;

use bofuss_oflib::ext::ExtValue;
use bofuss_oflib::message::bundle::BundleFlags;
use bofuss_oflib::message::multipart::{ExtBody, ReplyBody, RequestBody};
use bofuss_oflib::message::property::ExperimenterProperty;
use bofuss_oflib::message::{BundleAdd, Empty, MultipartReply, MultipartRequest, RequestForward};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Message, Version};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{IntoPyObjectExt, intern};

use crate::class::Class;
use crate::form::{Fault, PyForm, To};
use crate::members::{Destination, Member, MembersIn, MembersOut};
use crate::record::{Members, Record, class_of, without_class};

/// A message, with the version and the transaction id of its header.
pub(crate) struct Headed {
    /// The version's number on the wire.
    pub(crate) version: u8,
    /// The transaction id.
    pub(crate) xid: u32,
    /// The body.
    pub(crate) message: Message,
}

macro_rules! messages {
    ($($class:ident [$V:ident] $T:ty;)*) => {
        impl Record for Headed {
            const NAME: &'static str = "Message";
            fn classes() -> &'static [Class] {
                const COUNT: usize = [$(stringify!($class)),*].len();
                static CLASSES: [Class; COUNT] = [$(
                    class_of::<Headed>(stringify!($class), "Message", members::<$T>)
                ),*];
                &CLASSES
            }
            fn write<'py>(&self, target: Destination<'py>) -> PyResult<Bound<'py, PyAny>> {
                let out = self.class().open(target)?;
                match &self.message {
                    $(Message::$V(body) => Members::write(body, &out)?,)*
                }
                self.write_header(&out)?;
                Ok(out.made)
            }
            fn read(from: &MembersIn<'_>) -> Result<Self, Fault> {
                let message = match from.class.as_str() {
                    $(stringify!($class) => Message::$V(Members::read(from)?),)*
                    _ => return Err(from.unknown("Message")),
                };
                Self::with_header(message, from)
            }
            fn text(&self) -> String {
                self.message.to_string()
            }
        }
    };
}

messages! {
    Hello [Hello] bofuss_oflib::message::Hello;
    ErrorMsg [Error] bofuss_oflib::message::ErrorMsg;
    EchoRequest [EchoRequest] Bytes;
    EchoReply [EchoReply] Bytes;
    Experimenter [Experimenter] ExtValue;
    FeaturesRequest [FeaturesRequest] Empty;
    FeaturesReply [FeaturesReply] bofuss_oflib::message::Features;
    GetConfigRequest [GetConfigRequest] Empty;
    GetConfigReply [GetConfigReply] bofuss_oflib::message::SwitchConfig;
    SetConfig [SetConfig] bofuss_oflib::message::SwitchConfig;
    PacketIn [PacketIn] bofuss_oflib::message::PacketIn;
    FlowRemoved [FlowRemoved] bofuss_oflib::message::FlowRemoved;
    PortStatus [PortStatus] bofuss_oflib::message::PortStatus;
    PacketOut [PacketOut] bofuss_oflib::message::PacketOut;
    FlowMod [FlowMod] bofuss_oflib::message::FlowMod;
    GroupMod [GroupMod] bofuss_oflib::message::GroupMod;
    PortMod [PortMod] bofuss_oflib::message::PortMod;
    TableMod [TableMod] bofuss_oflib::message::TableMod;
    MultipartRequest [MultipartRequest] MultipartRequest;
    MultipartReply [MultipartReply] MultipartReply;
    BarrierRequest [BarrierRequest] Empty;
    BarrierReply [BarrierReply] Empty;
    QueueGetConfigRequest [QueueGetConfigRequest] bofuss_oflib::message::QueueConfigRequest;
    QueueGetConfigReply [QueueGetConfigReply] bofuss_oflib::message::QueueConfig;
    RoleRequest [RoleRequest] bofuss_oflib::message::Role;
    RoleReply [RoleReply] bofuss_oflib::message::Role;
    GetAsyncRequest [GetAsyncRequest] Empty;
    GetAsyncReply [GetAsyncReply] bofuss_oflib::message::AsyncConfig;
    SetAsync [SetAsync] bofuss_oflib::message::AsyncConfig;
    MeterMod [MeterMod] bofuss_oflib::message::MeterMod;
    RoleStatus [RoleStatus] bofuss_oflib::message::RoleStatus;
    TableStatus [TableStatus] bofuss_oflib::message::TableStatus;
    Requestforward [RequestForward] bofuss_oflib::message::RequestForward;
    BundleControl [BundleControl] bofuss_oflib::message::BundleControl;
    BundleAddMessage [BundleAdd] bofuss_oflib::message::BundleAdd;
    ControllerStatus [ControllerStatus] bofuss_oflib::message::ControllerStatus;
}

/// The members of a message: the body's, and the header's.
fn members<T: Members>() -> Vec<Member> {
    let mut members = T::members();
    members.push(Member::of::<u32>("xid"));
    members.push(Member::of::<u8>("version"));
    members
}

thread_local! {
    /// The message for the object that is created next. Python creates the object, and a
    /// constructor takes Python values only, so the message is passed here.
    static NEXT: Cell<Option<Headed>> = const { Cell::new(None) };
}

/// The base class of messages. Holds a decoded message until its members become Python values.
#[pyclass(subclass, module = "bofuss._native")]
pub(crate) struct Held(Option<Headed>);

#[pymethods]
impl Held {
    #[new]
    #[pyo3(signature = (*_values, **_members))]
    fn new(_values: &Bound<'_, PyTuple>, _members: Option<&Bound<'_, PyDict>>) -> Self {
        Self(NEXT.take())
    }
}

/// Writes the members of a decoded message to its object, and changes the object's class to the
/// usual one. Does nothing if that was done already.
#[pyfunction]
pub(crate) fn read(object: Bound<'_, PyAny>) -> PyResult<()> {
    static SET: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = object.py();
    let set = SET.get_or_try_init(py, || {
        let builtin = py.import("builtins")?.getattr("object")?;
        PyResult::Ok(builtin.getattr("__setattr__")?.unbind())
    })?;
    let held = object.cast::<Held>()?.borrow_mut().0.take();
    let Some(headed) = held else {
        return Ok(());
    };
    let class = headed.class().made(py)?;
    set.bind(py)
        .call1((&object, intern!(py, "__class__"), class))?;
    headed.write(Destination::existing(object))?;
    Ok(())
}

impl Headed {
    /// The object of a decoded message, whose members become Python values when one is first read.
    /// Of many messages, a program reads the type only.
    pub(crate) fn unread(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let class = self.class().unread(py)?;
        NEXT.set(Some(self));
        let made = class.call0();
        // The message is still there if the object was not created.
        NEXT.set(None);
        made
    }

    /// The class of the message. Rows are in the order of types.
    fn class(&self) -> &'static Class {
        &Self::classes()[usize::from(self.message.type_number())]
    }

    fn write_header(&self, out: &MembersOut<'_>) -> PyResult<()> {
        out.put(intern!(out.py(), "xid"), &self.xid)?;
        out.put(intern!(out.py(), "version"), &self.version)
    }

    /// Adds the header to a message: without one in the source, transaction id 0 and the usual
    /// version.
    fn with_header(message: Message, from: &MembersIn<'_>) -> Result<Self, Fault> {
        let mut this = Self {
            version: Version::USUAL.number(),
            xid: 0,
            message,
        };
        from.read(intern!(from.py(), "xid"), &mut this.xid)?;
        from.read(intern!(from.py(), "version"), &mut this.version)?;
        Ok(this)
    }
}

impl PyForm for Within {
    fn annotation() -> String {
        Headed::annotation()
    }
    fn accepted() -> String {
        Headed::accepted()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.to_python(to)
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        let class = MembersIn::of(value, Headed::NAME)?.class;
        if WITH_MESSAGE.contains(&class.as_str()) {
            let what = format!("a {class} stands within no other message");
            return Err(Fault::new(what));
        }
        Headed::from_python(value).map(Self)
    }
}

/// The classes of messages with a message in them: none stands within another. Without this limit,
/// the reading of a message within itself would not end.
const WITH_MESSAGE: [&str; 2] = ["Requestforward", "BundleAddMessage"];

/// A message within another one. oflib does not keep the version of its header: in Python it is
/// 1.4, which introduced such messages.
struct Within(Headed);

impl Within {
    fn new(xid: u32, message: &Message) -> Self {
        Self(Headed {
            version: Version::V1_4.number(),
            xid,
            message: message.clone(),
        })
    }
}

impl Members for RequestForward {
    fn members() -> Vec<Member> {
        vec![Member::with::<Within>("request", None)]
    }
    fn write(&self, out: &MembersOut<'_>) -> PyResult<()> {
        let request = Within::new(self.xid, &self.request);
        out.put(intern!(out.py(), "request"), &request)
    }
    fn read(from: &MembersIn<'_>) -> Result<Self, Fault> {
        let request: Within = from.need(intern!(from.py(), "request"), None)?;
        Ok(Self {
            xid: request.0.xid,
            request: Box::new(request.0.message),
        })
    }
}

impl Members for BundleAdd {
    fn members() -> Vec<Member> {
        vec![
            Member::of::<u32>("bundle_id"),
            Member::of::<BundleFlags>("flags"),
            Member::with::<Within>("message", None),
            Member::of::<Vec<ExperimenterProperty>>("experimenters"),
        ]
    }
    fn write(&self, out: &MembersOut<'_>) -> PyResult<()> {
        out.put(intern!(out.py(), "bundle_id"), &self.bundle_id)?;
        out.put(intern!(out.py(), "flags"), &self.flags)?;
        let message = Within::new(self.xid, &self.message);
        out.put(intern!(out.py(), "message"), &message)?;
        out.put(intern!(out.py(), "experimenters"), &self.experimenters)
    }
    fn read(from: &MembersIn<'_>) -> Result<Self, Fault> {
        let message: Within = from.need(intern!(from.py(), "message"), None)?;
        let mut this = Self {
            bundle_id: 0,
            flags: BundleFlags::default(),
            xid: message.0.xid,
            message: Box::new(message.0.message),
            experimenters: Vec::new(),
        };
        from.read(intern!(from.py(), "bundle_id"), &mut this.bundle_id)?;
        from.read(intern!(from.py(), "flags"), &mut this.flags)?;
        from.read(intern!(from.py(), "experimenters"), &mut this.experimenters)?;
        Ok(this)
    }
}

/// The body of a multipart without members is None in Python.
impl PyForm for Empty {
    fn annotation() -> String {
        "None".into()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        to.py.None().into_bound_py_any(to.py)
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        if value.is_none() {
            return Ok(Self);
        }
        Err(Fault::other(value, "None"))
    }
    fn of_nothing(_: Python<'_>) -> Result<Self, Fault> {
        Ok(Self)
    }
}

impl PyForm for ExtBody {
    fn annotation() -> String {
        ExtValue::annotation()
    }
    fn accepted() -> String {
        ExtValue::accepted()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.to_python(to)
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        PyForm::from_python(value).map(Self)
    }
}

/// The body of a multipart. Its class in Python depends on the type.
struct MultipartBody<T>(T);

macro_rules! multiparts {
    ($T:ident $Body:ident: $($name:literal $V:ident)*) => {
        impl PyForm for MultipartBody<&$Body> {
            fn annotation() -> String {
                let mut types = vec![$(annotation_of($Body::$V)),*];
                types.sort();
                types.dedup();
                types.join(" | ")
            }
            fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
                match self.0 {
                    $($Body::$V(body) => body.to_python(to),)*
                    #[allow(unreachable_patterns)]
                    other => Err(without_class(other.name())),
                }
            }
            fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
                Err(Fault::other(value, "body without its type"))
            }
        }
        impl Members for $T {
            fn members() -> Vec<Member> {
                vec![
                    Member::with::<String>("type", None),
                    Member::of::<MultipartBody<&$Body>>("body"),
                    Member::of::<bool>("more"),
                ]
            }
            fn write(&self, out: &MembersOut<'_>) -> PyResult<()> {
                out.put(intern!(out.py(), "type"), &self.body.name().to_string())?;
                out.put(intern!(out.py(), "body"), &MultipartBody(&self.body))?;
                out.put(intern!(out.py(), "more"), &self.more)
            }
            fn read(from: &MembersIn<'_>) -> Result<Self, Fault> {
                let name: String = from.need(intern!(from.py(), "type"), None)?;
                let at_body = intern!(from.py(), "body");
                let body = match name.as_str() {
                    $($name => $Body::$V(match from.get(at_body) {
                        Some(body) => body?,
                        None => PyForm::of_nothing(from.py())?,
                    }),)*
                    _ => {
                        let fault = Fault::new(format!("there is no multipart '{name}'"));
                        return Err(fault.within("type"));
                    }
                };
                let mut this = Self::from(body);
                from.read(intern!(from.py(), "more"), &mut this.more)?;
                Ok(this)
            }
        }
    };
}

/// The type, for stubs, of what a variant holds.
fn annotation_of<T: PyForm, B>(_: fn(T) -> B) -> String {
    T::annotation()
}

multiparts! { MultipartRequest RequestBody:
    "DESC" Desc "FLOW" Flow "AGGREGATE" Aggregate "TABLE" Table "PORT_STATS" PortStats
    "QUEUE" Queue "GROUP" Group "GROUP_DESC" GroupDesc "GROUP_FEATURES" GroupFeatures
    "METER" Meter "METER_CONFIG" MeterConfig "METER_FEATURES" MeterFeatures
    "TABLE_FEATURES" TableFeatures "PORT_DESC" PortDesc "TABLE_DESC" TableDesc
    "QUEUE_DESC" QueueDesc "FLOW_MONITOR" FlowMonitor "BUNDLE_FEATURES" BundleFeatures
    "FLOW_STATS" FlowCounters "CONTROLLER_STATUS" ControllerStatus "EXPERIMENTER" Experimenter
}
multiparts! { MultipartReply ReplyBody:
    "DESC" Desc "FLOW" Flow "AGGREGATE" Aggregate "TABLE" Table "PORT_STATS" PortStats
    "QUEUE" Queue "GROUP" Group "GROUP_DESC" GroupDesc "GROUP_FEATURES" GroupFeatures
    "METER" Meter "METER_CONFIG" MeterConfig "METER_FEATURES" MeterFeatures
    "TABLE_FEATURES" TableFeatures "PORT_DESC" PortDesc "TABLE_DESC" TableDesc
    "QUEUE_DESC" QueueDesc "FLOW_MONITOR" FlowMonitor "BUNDLE_FEATURES" BundleFeatures
    "FLOW_STATS" FlowCounters "CONTROLLER_STATUS" ControllerStatus "EXPERIMENTER" Experimenter
}
