//! The words that field rows are written with, OpenFlow's and those of other crates.

/// Expressions for the words of a row.
#[doc(hidden)]
#[macro_export]
macro_rules! field_word {
    (mask masked) => {
        true
    };
    (mask exact) => {
        false
    };
    (set set) => {
        true
    };
    (set fixed) => {
        false
    };
    (width $bits:literal) => {
        $bits
    };
    (width $bits:literal $own:literal) => {
        $own
    };
    (differs) => {
        $crate::field::Differs::Nowhere
    };
    (differs Every) => {
        $crate::field::Differs::Every
    };
    (differs Ends $first:literal $last:literal) => {
        $crate::field::Differs::Ends {
            first: $first,
            last: $last,
        }
    };
    (at $bits:literal $($header:ident $bit:literal $(: $own:literal)?),*) => {
        &[$($crate::field::At {
            header: $crate::added_header::AnyHeader::Known($crate::field::Header::$header),
            bit: $bit,
            bits: $crate::field_word!(width $bits $($own)?),
        }),*]
    };
    (in $bits:literal $added:ident $bit:literal) => {
        &[$crate::field::At {
            header: $crate::added_header::AnyHeader::Added(&$added),
            bit: $bit,
            bits: $bits,
        }]
    };
    (initial) => {
        None
    };
    (initial $value:literal) => {
        Some($value)
    };
}
