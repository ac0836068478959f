//! The macros by which extensions declare fields and errors.

/// The rows of an extension's fields, as an array of [`Field`](crate::Field)s for
/// [`Catalogue::add`](crate::Catalogue::add).
///
/// First comes the experimenter, then of each field: its number, its name, its other names (the
/// first is printed) if it has some, its width in bits, whether matches may have a mask (`masked`
/// or `exact`), whether set-field may write it (`set` or `fixed`) and how its values are written, a
/// [`Style`](crate::field::Style). Then, where it has them, in this order:
///
/// - `at HEADER BIT`: where it stands in a [`Header`](crate::field::Header), counted from the
///   header's first bit; with `, HEADER BIT` the same in another header;
/// - `in HEADER BIT`: the same in a header of the extension's own, a `static`
///   [`AddedHeader`](crate::added_header::AddedHeader), whose number then is the prerequisite;
/// - `differs Every`: each segment of a super-frame may have its own value, although it stands
///   before the payload;
/// - `need FIELD & MASK = VALUE | VALUE`: the prerequisite, a field of OpenFlow;
/// - `initial VALUE`: a register, which every packet has with this value from the start.
///
/// A field without any of these is one that a hook gives to packets.
///
/// ```
/// use bofuss_oflib::added_header::AddedHeader;
/// use bofuss_oflib::{Catalogue, Field, extension_fields};
///
/// /// The header of a protocol over UDP port 6363.
/// static ICN: AddedHeader = AddedHeader::after_udp_port(6363, "icn", 8);
/// static FIELDS: [Field; 3] = extension_fields! { 0x0062_6c61;
///     0 "icn_type" 8 masked set Hex in ICN 0;
///     1 "ip_checksum" ["ip_csum"] 16 exact fixed Hex at Ipv4 80 differs Every
///         need ETH_TYPE & 0xffff = 0x0800;
///     2 "icn_class" 4 masked set Dec initial 1;
/// };
/// let mut catalogue = Catalogue::default();
/// catalogue.add("icn", &FIELDS, &[]).expect("nothing has these names and numbers");
/// let parsed = bofuss_oflib::text::parse_match("udp,udp_dst=6363,icn_type=5", &catalogue);
/// assert_eq!(parsed.expect("its prerequisites are there").to_string(),
///     "udp,udp_dst=6363,icn_type=0x5");
/// ```
#[macro_export]
macro_rules! extension_fields {
    ($experimenter:expr; $(
        $number:literal $name:literal $([$($alias:literal)*])? $bits:literal
        $mask:ident $set:ident $style:ident $(($names:expr))?
        $(at $($header:ident $bit:literal),+)? $(in $added:ident $added_bit:literal)?
        $(differs $differs:ident $(($first:literal, $last:literal))?)?
        $(need $field:ident & $value_mask:literal = $($value:literal)|+)?
        $(initial $initial:literal)? ;
    )*) => {
        const { [$($crate::Field {
            aliases: &[$($($alias),*)?],
            settable: $crate::field_word!(set $set),
            $(need: Some($crate::field::Need {
                id: $crate::field::$field.id,
                mask: $value_mask,
                any_of: &[$($value),+],
            }),)?
            $(at: $crate::field_word!(at $bits $($header $bit),+),)?
            $(at: $crate::field_word!(in $bits $added $added_bit), need: Some($added.need()),)?
            differs: $crate::field_word!(differs $($differs $($first $last)?)?),
            style: $crate::field::Style::$style $(($names))?,
            initial: $crate::field_word!(initial $($initial)?),
            ..$crate::Field::extension(
                $experimenter,
                $number,
                $name,
                $bits,
                $crate::field_word!(mask $mask),
            )
        }),*] }
    };
}

/// Declares the errors of an experimenter: a constant for each, and `ERRORS`, their names, for
/// [`crate::ext::ExtRow::with_error_names`].
///
/// ```
/// bofuss_oflib::experimenter_errors! {
///     77 "PAINT"
///     0 NO_COLOUR "no such colour"
///     1 DRY "the paint is dry"
/// }
/// assert_eq!(DRY.code, 1);
/// assert_eq!(ERRORS[1].to_string(), "PAINT/DRY (the paint is dry)");
/// ```
#[macro_export]
macro_rules! experimenter_errors {
    ($experimenter:tt $extension:literal $($code:literal $NAME:ident $meaning:literal)*) => {
        $(
            #[doc = concat!("Code ", stringify!($code), ": ", $meaning, ".")]
            pub const $NAME: $crate::ErrorCode =
                $crate::ErrorCode::of_experimenter($experimenter, $code);
        )*
        /// The names of these errors.
        pub const ERRORS: &[$crate::error::ErrorRow] = &[$(
            $crate::error::ErrorRow::of_experimenter(
                $NAME,
                $extension,
                stringify!($NAME),
                $meaning,
            )
        ),*];
    };
}
