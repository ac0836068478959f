//! The actions of Open Packet Processor: SET_DATA_VAR and WRITE_CONTEXT_TO_FIELD.

use alloc::{format, string::String, vec::Vec};
use core::fmt;

use bofuss_datapath::DispatchFields;
use bofuss_oflib::error::BadAction;
use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::field::METADATA;
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, ErrorCode, ExtValue, Field, ParseError};

use super::message::variable_id;
use super::{MAX_OPERANDS, Operand, OperandKind, UpdateFunction};
use crate::common::args::Args;
use crate::common::oxm::header_of;
use crate::openstate::action::{self, Evidence};
use crate::openstate::args::{take_fields, take_scope, take_table, write_fields};
use crate::openstate::extractor::{Extractor, field_of, get_scope, put_scope, scope_count};
use crate::openstate::{Dialects, StateDialect, check_length, error, table_id};

/// Returns what can be inferred from an action in an entry of a table; `None` if all dialects know
/// it.
pub(super) fn evidence(value: &ExtValue, table: u8) -> Option<Evidence> {
    let table = if let Some(action) = value.body::<SetDataVar>() {
        action.table
    } else if value.body::<WriteContext>().is_some() {
        table
    } else {
        return action::evidence(value, table);
    };
    Some(Evidence {
        table,
        known: Dialects::only(StateDialect::Opp),
        error: error::BAD_EXP_ACTION,
    })
}

/// Returns true if an action changes variables of more than its packet's flow, or addresses by
/// which flows are known.
pub(super) fn crosses(value: &ExtValue) -> bool {
    let writes_address =
        |action: &WriteContext| DispatchFields::of([action.field]) != DispatchFields::default();
    value.body::<SetDataVar>().is_some_and(SetDataVar::crosses)
        || value.body::<WriteContext>().is_some_and(writes_address)
}

/// Bytes of a SET_DATA_VAR after its type and before its fields.
const SET_DATA_VAR_BYTES: usize = 28;

/// Computes a variable of a flow or a table from operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetDataVar {
    /// The table whose variables and header field extractors are used.
    pub table: u8,
    /// The function.
    pub function: UpdateFunction,
    /// The variable that is written.
    pub output: Operand,
    /// The operands. Those that the function does not use are kept as they were sent.
    pub operands: [Operand; MAX_OPERANDS],
    /// The factors of the operands in [`UpdateFunction::PolySum`].
    pub coefficients: [i8; MAX_OPERANDS],
    /// True if the flow's key is made by the bit-update scope.
    pub bit: bool,
    /// The fields that make the flow's key instead of the update scope, if any.
    pub scope: Option<Extractor>,
}

impl SetDataVar {
    /// Returns true if packets of one flow may change by it what those of others read.
    fn crosses(&self) -> bool {
        let [_, second, third, _] = self.operands;
        let mut written = [self.output, second, third].into_iter();
        self.scope.is_some() || written.any(|one| one.kind == OperandKind::GlobalVariable)
    }

    /// The text of a trace's step about the variable that was computed.
    pub(super) fn trace_text(&self, value: Option<u32>) -> String {
        let Self { table, output, .. } = self;
        match value {
            Some(value) => format!("computes table={table},{output}={value}"),
            None => {
                format!("computes nothing: table {table} has no states, or an operand is not there")
            }
        }
    }

    /// Checks the output and the operands that are used. Errors: there is no such variable or
    /// extractor, or an operand other than the second is a constant.
    fn check(&self) -> Result<(), ErrorCode> {
        self.output.check(false)?;
        // As the reference switch does, the unused third operand of AVG is checked, too.
        let n_checked = if self.function == UpdateFunction::Average {
            3
        } else {
            self.function.n_operands()
        };
        for (i, operand) in self.operands[..n_checked].iter().enumerate() {
            operand.check(i == 1)?;
        }
        Ok(())
    }
}

impl Wire for SetDataVar {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if r.remaining() < SET_DATA_VAR_BYTES {
            return Err(r.err(error::BAD_EXP_LEN));
        }
        r.take(4)?;
        let types = r.at("operand_types").get::<u16>()?;
        let table = table_id(r)?;
        let at_opcode = r.at("opcode").clone();
        let function = UpdateFunction::of_opcode(r.get()?);
        let at_ids = r.at("operands").clone();
        let output = Operand {
            kind: OperandKind::of_bits(types >> 7 & 1),
            id: r.get()?,
        };
        r.take(3)?;
        let ids = r.array::<MAX_OPERANDS>()?;
        let this = Self {
            table,
            function: function.ok_or_else(|| at_opcode.err(error::BAD_OPCODE))?,
            output,
            operands: core::array::from_fn(|i| Operand {
                kind: OperandKind::of_bits(types >> (14 - 2 * i)),
                id: ids[i],
            }),
            coefficients: r.at("coefficients").array()?.map(|byte: u8| byte as i8),
            bit: false,
            scope: None,
        };
        let mut at_count = r.clone();
        r.take(4)?;
        let bit = r.at("bit").get::<u8>()? != 0;
        r.take(3)?;
        let scope = get_scope(&mut at_count, r)?;
        this.check().map_err(|error| at_ids.err(error))?;
        Ok(Self { bit, scope, ..this })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let mut types = self.output.kind.bits() << 7;
        for (i, operand) in self.operands.iter().enumerate() {
            types |= operand.kind.bits() << (14 - 2 * i);
        }
        w.pad(4)
            .put(&types)
            .put(&self.table)
            .put(&self.function.opcode());
        w.put(&self.output.id).pad(3);
        w.raw(&self.operands.map(|operand| operand.id));
        w.raw(&self.coefficients.map(|by| by as u8));
        let scope = self.scope.as_ref();
        w.put(&scope_count(scope)).put(&u8::from(self.bit)).pad(3);
        put_scope(scope, w);
    }
}

impl TextForm for SetDataVar {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.function.name();
        write!(
            f,
            "table={},output={},function={name},operands=",
            self.table, self.output
        )?;
        for (i, operand) in self.operands[..self.function.n_operands()]
            .iter()
            .enumerate()
        {
            write!(f, "{}{operand}", if i == 0 { "" } else { "+" })?;
        }
        if self.function == UpdateFunction::PolySum {
            let [a, b, c, d] = self.coefficients;
            write!(f, ",coefficients={a}+{b}+{c}+{d}")?;
        }
        if self.bit {
            f.write_str(",bit=1")?;
        }
        if let Some(scope) = &self.scope {
            f.write_str(",fields=")?;
            write_fields(f, scope.headers())?;
        }
        Ok(())
    }
}

impl TypedBody for SetDataVar {
    fn action_set_key(&self) -> u64 {
        self.table.into()
    }

    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let function = UpdateFunction::parse(args.take("function").unwrap_or(""))?;
        let mut operands = [Operand::default(); MAX_OPERANDS];
        let texts: Vec<_> = args.take("operands").unwrap_or("").split('+').collect();
        if texts.len() != function.n_operands() {
            let name = function.name();
            let count = function.n_operands();
            return Err(format!("{name} has {count} operands").into());
        }
        for (operand, text) in operands.iter_mut().zip(texts) {
            *operand = Operand::parse(text)?;
        }
        let mut coefficients = [0; MAX_OPERANDS];
        let texts = args.take("coefficients").unwrap_or("0+0+0+0").split('+');
        for (coefficient, text) in coefficients.iter_mut().zip(texts) {
            let number = text.parse();
            *coefficient =
                number.map_err(|_| format!("'{text}' is not a number from -128 to 127"))?;
        }
        let this = Self {
            table: take_table(&mut args)?,
            function,
            output: Operand::parse(args.take("output").unwrap_or(""))?,
            operands,
            coefficients,
            bit: args.number::<u8>("bit")? != 0,
            scope: take_scope(&mut args, catalogue)?,
        };
        args.finish()?;
        if !this.output.is_variable() || this.check().is_err() {
            return Err(
                "the output is fd0 to fd5 or gd0 to gd7, an operand also hf0 to hf7, and \
                        only the second a number"
                    .into(),
            );
        }
        Ok(this)
    }
}

/// The sources of a value that is written to a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContextSource {
    /// A variable of the packet's flow.
    FlowVariable(u8),
    /// A variable of the table.
    GlobalVariable(u8),
    /// The state of the packet's flow.
    State,
}

/// Writes a variable or the state of the packet's flow in the lookup scope of the present table to
/// a field of the packet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WriteContext {
    /// The source of the value.
    pub source: ContextSource,
    /// The field.
    pub field: &'static Field,
}

/// The field of an OXM header, if it is the metadata or set-field may write it.
fn target(header: u32, catalogue: &Catalogue) -> Option<&'static Field> {
    let (field, _) = field_of(header, catalogue);
    field.filter(|field| field.settable || *field == METADATA)
}

impl Wire for WriteContext {
    /// Errors: BAD_EXP_LEN, BAD_SOURCE_TYPE, BAD_FLOW_DATA_VAR_ID, BAD_GLOBAL_DATA_VAR_ID, and
    /// BAD_ACTION/BAD_SET_TYPE for a field that may not be written.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        check_length(r, 12)?;
        r.take(4)?;
        let at = r.at("src_type").clone();
        let source = match r.get::<u8>()? {
            0 => ContextSource::FlowVariable(variable_id(r, OperandKind::FlowVariable)?),
            1 => ContextSource::GlobalVariable(variable_id(r, OperandKind::GlobalVariable)?),
            2 => {
                r.take(1)?;
                ContextSource::State
            }
            _ => return Err(at.err(error::BAD_SOURCE_TYPE)),
        };
        r.take(2)?;
        let at_field = r.at("dst_field").clone();
        let header = r.get()?;
        let field = target(header, &r.codec.catalogue)
            .ok_or_else(|| at_field.err(BadAction::BAD_SET_TYPE))?;
        Ok(Self { source, field })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let (ty, id) = match self.source {
            ContextSource::FlowVariable(id) => (0u8, id),
            ContextSource::GlobalVariable(id) => (1, id),
            ContextSource::State => (2, 0),
        };
        w.pad(4)
            .put(&ty)
            .put(&id)
            .pad(2)
            .put(&header_of(self.field));
    }
}

impl TextForm for WriteContext {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            ContextSource::FlowVariable(id) => write!(f, "source=fd{id}")?,
            ContextSource::GlobalVariable(id) => write!(f, "source=gd{id}")?,
            ContextSource::State => f.write_str("source=state")?,
        }
        write!(f, ",fields={}", self.field.name)
    }
}

impl TypedBody for WriteContext {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let source = match args.take("source").unwrap_or("") {
            "state" => ContextSource::State,
            text => {
                let operand = Operand::parse(text)?;
                operand
                    .check(false)
                    .map_err(|_| format!("'{text}' is not a variable"))?;
                match operand.kind {
                    OperandKind::FlowVariable => ContextSource::FlowVariable(operand.id),
                    OperandKind::GlobalVariable => ContextSource::GlobalVariable(operand.id),
                    OperandKind::HeaderField | OperandKind::Constant => {
                        return Err(format!("'{text}' is not fd0, gd0 or state").into());
                    }
                }
            }
        };
        let only = match take_fields(&mut args, catalogue)?[..] {
            [header] => target(header, catalogue),
            _ => None,
        };
        let field = only.ok_or("it needs fields=NAME, of one field that can be set")?;
        args.finish().map(|()| Self { source, field })
    }
}
