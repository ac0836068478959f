//! The actions: one row each gives number, argument, text form, place in the action set, and an
//! example.

use alloc::vec::Vec;

use crate::copy_field::CopyField;
use crate::error::{BadAction, DecodeError};
use crate::ext::{BOFUSS, ExtKind, ExtRow, ExtValue};
use crate::matching::FieldMatch;
use crate::model::model;
use crate::types::{EtherType, GroupId, MaxLen, MeterId, PortNo, QueueId};
use crate::version::{Span, span};
use crate::wire::{Bytes, Reader, Writer};

/// The action type of experimenters.
const EXPERIMENTER: u16 = 0xffff;

model! {
    /// The destination of a packet.
    #[derive(Copy)]
    pub struct Output {
        /// The port.
        pub port: PortNo,
        /// Bytes for the controller, if that is the port.
        pub max_len: MaxLen,
    }
}

/// The field that a set-field writes, with its new value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetField(pub FieldMatch);

/// The facts in an action's row besides its argument.
#[derive(Clone, Copy, Debug)]
pub struct ActionRow {
    /// The type on the wire.
    pub number: u16,
    /// The name in text.
    pub name: &'static str,
    /// Other names that users know.
    pub aliases: &'static [&'static str],
    /// The step of action-set execution that runs it. Spec: OpenFlow 1.3.5 section 5.10.
    pub rank: u8,
    /// The versions that have it, as a type of its own.
    pub versions: Span,
    /// Text and hexadecimal wire form of one such action.
    pub example: (&'static str, &'static str),
}

macro_rules! actions {
    ($(
        $(#[$m:meta])*
        $number:literal $V:ident $(($T:ty))? $name:literal [$($alias:literal)*] rank $rank:literal
        $([$($span:tt)*])? $text:literal = $hex:literal ;
    )*) => {
        /// One action. Spec: OpenFlow 1.3.5 sections 5.12 and 7.2.5.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Action {
            $($(#[$m])* $V $(($T))?,)*
            /// An extension's action.
            Experimenter(ExtValue),
        }
        /// The specification's actions.
        pub const ACTIONS: &[ActionRow] = &[$(ActionRow {
            number: $number,
            name: $name,
            aliases: &[$($alias),*],
            rank: $rank,
            versions: actions!(@span $([$($span)*])?),
            example: ($text, $hex),
        }),*];
        impl Action {
            /// The row of this action; none if an extension brings it.
            pub fn row(&self) -> Option<&'static ActionRow> {
                let number = match self {
                    $(actions!(@pattern $V _unused $($T)?) => $number,)*
                    Self::Experimenter(_) => return None,
                };
                ACTIONS.iter().find(|row| row.number == number)
            }
            /// Reads the argument of the action of type `ty`; none if no row has it.
            pub(crate) fn decode_body(
                ty: u16,
                r: &mut Reader<'_>,
            ) -> Option<Result<Self, DecodeError>> {
                match ty {
                    $($number => Some(actions!(@decode $V r $($T)?)),)*
                    _ => None,
                }
            }
            /// Appends the argument.
            pub(crate) fn encode_body(&self, w: &mut Writer<'_>) {
                match self {
                    $(actions!(@pattern $V argument $($T)?) => {
                        $(w.put::<$T>(argument);)?
                    })*
                    Self::Experimenter(value) => value.encode(w),
                }
            }
        }
        #[cfg(feature = "text")]
        $crate::text::actions_text! { $($V $(($T))? $name [$($alias)*];)* }
    };
    (@span [$($span:tt)*]) => { span!($($span)*) };
    (@span) => { span!(since V1_1) };
    (@decode $V:ident $r:ident $T:ty) => { $r.get::<$T>().map(Self::$V) };
    (@decode $V:ident $r:ident) => { Ok(Self::$V) };
    (@pattern $V:ident $name:ident $T:ty) => { Self::$V($name) };
    (@pattern $V:ident $name:ident) => { Self::$V };
}

actions! {
    /// Sends the packet to a port.
    0 Output(Output) "output" [] rank 11
        "output:2" = "0000 0010 00000002 0000 000000000000";
    /// Copies the TTL from the next-to-outermost header to the outermost.
    11 CopyTtlOut "copy_ttl_out" ["ttl_out"] rank 6
        "copy_ttl_out" = "000b 0008 00000000";
    /// Copies the TTL from the outermost header to the next-to-outermost.
    12 CopyTtlIn "copy_ttl_in" ["ttl_in"] rank 1
        "copy_ttl_in" = "000c 0008 00000000";
    /// Sets the outermost MPLS TTL.
    15 SetMplsTtl(u8) "set_mpls_ttl" ["mpls_ttl"] rank 8
        "set_mpls_ttl:64" = "000f 0008 40000000";
    /// Decrements the outermost MPLS TTL.
    16 DecMplsTtl "dec_mpls_ttl" ["mpls_dec"] rank 7
        "dec_mpls_ttl" = "0010 0008 00000000";
    /// Pushes a VLAN tag.
    17 PushVlan(EtherType) "push_vlan" [] rank 5
        "push_vlan:0x8100" = "0011 0008 8100 0000";
    /// Removes the outermost VLAN tag.
    18 PopVlan "pop_vlan" ["strip_vlan"] rank 2
        "pop_vlan" = "0012 0008 00000000";
    /// Pushes an MPLS label stack entry.
    19 PushMpls(EtherType) "push_mpls" [] rank 3
        "push_mpls:0x8847" = "0013 0008 8847 0000";
    /// Removes the outermost MPLS label stack entry; the Ethernet type becomes the argument.
    20 PopMpls(EtherType) "pop_mpls" [] rank 2
        "pop_mpls:0x0800" = "0014 0008 0800 0000";
    /// Sets the queue that outputs use.
    21 SetQueue(QueueId) "set_queue" [] rank 9
        "set_queue:5" = "0015 0008 00000005";
    /// Sends the packet to a group.
    22 Group(GroupId) "group" [] rank 10
        "group:7" = "0016 0008 00000007";
    /// Sets the IP TTL.
    23 SetNwTtl(u8) "mod_nw_ttl" ["set_nw_ttl" "nw_ttl"] rank 8
        "mod_nw_ttl:9" = "0017 0008 09000000";
    /// Decrements the IP TTL.
    24 DecNwTtl "dec_ttl" ["dec_nw_ttl" "nw_dec"] rank 7
        "dec_ttl" = "0018 0008 00000000";
    /// Writes a header field.
    25 SetField(SetField) "set_field" [] rank 8 [since V1_2]
        "set_field:10.0.0.1->nw_dst" = "0019 0010 8000 18 04 0a000001 00000000";
    /// Pushes a PBB I-TAG and the outer addresses.
    26 PushPbb(EtherType) "push_pbb" [] rank 4 [since V1_3]
        "push_pbb:0x88e7" = "001a 0008 88e7 0000";
    /// Removes the outermost PBB header.
    27 PopPbb "pop_pbb" [] rank 2 [since V1_3]
        "pop_pbb" = "001b 0008 00000000";
    /// Copies bits from one field to another; in 1.3 and 1.4 an action of the ONF's.
    28 CopyField(CopyField) "copy_field" ["move"] rank 8 [since V1_3]
        "copy_field:nw_src[0..15]->metadata[16..31]" =
        "ffff 0020 4f4e4600 0c80 0000 0010 0000 0010 0000 80001604 80000408 00000000";
    /// Directs the packet to a meter, which may drop it.
    29 Meter(MeterId) "meter" [] rank 9 [since V1_5]
        "meter:7" = "001d 0008 00000007";
}

/// Our own action: pushes a VLAN tag of type 0x8100 with id and priority 0 on a packet that has no
/// tag. OpenFlow 1.0's SET_VLAN_VID and SET_VLAN_PCP do so before they write.
pub static TAG_VLAN: ExtRow = ExtRow::new(ExtKind::Action, BOFUSS, 1, "tag_vlan");

impl Action {
    /// Output to a port, without a copy for the controller to cut.
    pub const fn output(port: PortNo) -> Self {
        Self::Output(Output {
            port,
            max_len: MaxLen(0),
        })
    }

    /// The action of [`TAG_VLAN`].
    pub fn tag_vlan() -> Self {
        Self::Experimenter(ExtValue::new(&TAG_VLAN, Vec::new(), Bytes::default()))
    }

    /// Returns true if this is the action of [`TAG_VLAN`].
    pub fn is_tag_vlan(&self) -> bool {
        matches!(self, Self::Experimenter(value) if *value.row == TAG_VLAN)
    }

    /// Set-field of `field` to the low bits of `value`.
    pub fn set_field(field: &'static crate::Field, value: u128) -> Self {
        Self::SetField(SetField(FieldMatch::exact(field, value)))
    }

    /// The field of a set-field that leaves bits as they are.
    pub(crate) fn masked_set_field(&self) -> Option<&FieldMatch> {
        if let Self::SetField(SetField(one)) = self {
            (!one.is_exact()).then_some(one)
        } else {
            None
        }
    }

    /// The row's place in the action set, and the type on the wire. Choice: extensions act after
    /// TTLs are decremented and before fields are set, as in BEBA's switch.
    pub fn rank(&self) -> (u8, u16) {
        self.row()
            .map_or((7, EXPERIMENTER), |row| (row.rank, row.number))
    }

    /// Reads a list that `bytes` bytes long begins here.
    ///
    /// Errors: BAD_ACTION/BAD_LEN if it runs past the window, else the first action's error.
    pub fn decode_list(r: &mut Reader<'_>, bytes: usize) -> Result<Vec<Self>, DecodeError> {
        let mut list = r.at("actions").sub(bytes, BadAction::BAD_LEN)?;
        #[cfg(feature = "v1_0")]
        if list.version() == crate::Version::V1_0 {
            return crate::v1_0::action::read_list(&mut list, None);
        }
        list.get()
    }

    /// Appends a list.
    pub fn encode_list(list: &Vec<Self>, w: &mut Writer<'_>) {
        #[cfg(feature = "v1_0")]
        if w.version() == crate::Version::V1_0 {
            return crate::v1_0::action::write_list(list, None, w);
        }
        w.put(list);
    }
}
