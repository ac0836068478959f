//! Predicates, trapdoors and keywords, on the wire and as text.

use alloc::format;
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::message::multipart::table_features::FieldId;
use bofuss_oflib::text::parse_bytes;
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, Field, ParseError};

use super::error::BAD_FIELD;
use super::predicate::{PredicateFields, TRAPDOOR_BYTES, Trapdoor};
use crate::common::args::Args;
use crate::common::list::Listed;

/// Bytes after a table's number, up to the next one of 32 bits.
const PAD_BYTES: usize = 3;

/// Gives a table a predicate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PredicateMod {
    /// The table.
    pub table: u8,
    /// What its predicate reads.
    pub fields: PredicateFields,
}

/// Reads an OXM id. Errors: [`BAD_FIELD`] if it is of no field, or has a mask.
fn read_field(r: &mut Reader<'_>) -> Result<&'static Field, DecodeError> {
    let at = r.clone();
    match r.get()? {
        FieldId::Known(field, false) => Ok(field),
        FieldId::Known(_, true) | FieldId::Unknown(..) => Err(at.err(BAD_FIELD)),
    }
}

impl Wire for PredicateMod {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let table = r.at("table_id").get()?;
        r.take(PAD_BYTES)?;
        let start = r.clone();
        let nonce = read_field(r.at("nonce"))?;
        let tag = read_field(r.at("tag"))?;
        let fields = PredicateFields::new(nonce, tag).map_err(|error| start.err(error))?;
        Ok(Self { table, fields })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        let PredicateFields { nonce, tag } = self.fields;
        w.put(&self.table).pad(PAD_BYTES);
        w.put(&FieldId::Known(nonce, false));
        w.put(&FieldId::Known(tag, false));
    }
}

impl TextForm for PredicateMod {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PredicateFields { nonce, tag } = self.fields;
        let (nonce, tag) = (nonce.shown(), tag.shown());
        write!(f, "table={},nonce={nonce},tag={tag}", self.table)
    }
}

impl TypedBody for PredicateMod {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let table = args.number("table")?;
        let mut field = |name| {
            let of = args.take(name).unwrap_or_default();
            let found = catalogue.field_named(of);
            found.ok_or_else(|| ParseError::from(format!("{name}={of}: no field is called that")))
        };
        let (nonce, tag) = (field("nonce")?, field("tag")?);
        args.finish()?;
        let fields = PredicateFields::new(nonce, tag);
        let fields = fields.map_err(|error| ParseError::from(catalogue.error_text(error)))?;
        Ok(Self { table, fields })
    }
}

/// Adds a trapdoor to a table, or replaces that of a keyword.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TrapdoorMod {
    /// The table and the keyword's number.
    pub keyword: Keyword,
    /// The trapdoor.
    pub trapdoor: Trapdoor,
}

impl Wire for TrapdoorMod {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            keyword: r.get()?,
            trapdoor: Trapdoor(r.at("key").array()?),
        })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.keyword).raw(&self.trapdoor.0);
    }
}

impl TextForm for TrapdoorMod {
    /// The trapdoor is not shown.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.keyword.text(f)?;
        f.write_str(",key=(not shown)")
    }
}

impl TypedBody for TrapdoorMod {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let keyword = Keyword::take(&mut args)?;
        let digits = args.take("key").unwrap_or_default();
        args.finish()?;
        let bytes = parse_bytes(digits).ok();
        let key = bytes.and_then(|bytes| bytes.try_into().ok());
        let error = || format!("a key is {TRAPDOOR_BYTES} bytes in hexadecimal: key=000102...");
        let trapdoor = key.map(Trapdoor).ok_or_else(error)?;
        Ok(Self { keyword, trapdoor })
    }
}

/// A keyword for which a table has a trapdoor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Keyword {
    /// The table.
    pub table: u8,
    /// The number that the controller chose.
    pub number: u32,
}

impl Keyword {
    fn take(args: &mut Args<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            table: args.number("table")?,
            number: args.number("keyword")?,
        })
    }
}

impl Wire for Keyword {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let table = r.at("table_id").get()?;
        r.take(PAD_BYTES)?;
        let number = r.at("keyword").get()?;
        Ok(Self { table, number })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.table).pad(PAD_BYTES).put(&self.number);
    }
}

impl TextForm for Keyword {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table={},keyword={}", self.table, self.number)
    }
}

impl Listed for Keyword {}

impl TypedBody for Keyword {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let this = Self::take(&mut args)?;
        args.finish()?;
        Ok(this)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use bofuss_oflib::ExtValue;
    use bofuss_oflib::field::IPV6_DST;
    use bofuss_oflib::text::add_field;

    use super::*;

    const FIELD: &str = "blind_nonce=eth_type:16:128,number=1,ip6,shared,eth_type=0x88b5";

    #[test]
    fn standard_fields_and_those_of_a_configuration_are_written_and_read() {
        let mut catalogue = crate::catalogue();
        add_field(FIELD, &mut catalogue).unwrap();
        let read = |text| PredicateMod::parse(text, &catalogue);
        let change = read("table=2,nonce=blind_nonce,tag=ipv6_dst").unwrap();
        assert_eq!(change.fields.tag, IPV6_DST);
        assert_eq!(
            ExtValue::typed(&super::super::VALUES[0], change).to_string(),
            "blind_predicate(table=2,nonce=blind_nonce,tag=ipv6_dst)"
        );
        let error = |text| read(text).unwrap_err().to_string();
        assert!(error("table=2,nonce=ipv6_src").contains("tag=: no field"));
        assert!(error("nonce=ipv6_src,tag=eth_dst").contains("128 bits"));
        assert!(error("nonce=ipv6_src,tag=ipv6_dst,more=1").contains("'more'"));
    }
}
