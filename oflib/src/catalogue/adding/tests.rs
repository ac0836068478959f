//! Rows that a catalogue takes from extensions and configurations, and rows that it refuses.

use alloc::string::ToString;

use super::*;
use crate::ext::ExtKind;
use crate::extension_fields;
use crate::field::{Header, STANDARD_FIELDS};
use crate::registers::N_REGISTERS;

const OURS: u32 = 0x0062_6f73;

fn refusal(catalogue: &mut Catalogue, by: &'static str, field: Field) -> String {
    let before = catalogue.fields().len();
    let error = catalogue
        .add(by, &[field], &[])
        .expect_err("it does not fit");
    assert_eq!(catalogue.fields().len(), before);
    error.to_string()
}

#[test]
fn rows_that_clash_are_refused_and_both_extensions_named() {
    let mut all = Catalogue::default();
    let row = Field::extension(OURS, 1, "colour", 8, true);
    all.add("paint", &[row], &[]).expect("it is the first");
    let same = Field::extension(OURS, 1, "hue", 8, true);
    assert_eq!(
        refusal(&mut all, "brush", same),
        "extension brush: field hue has the number of colour of paint: 1 of experimenter \
         0x626f73"
    );
    let named = Field::extension(OURS, 2, "COLOUR", 8, true);
    assert_eq!(
        refusal(&mut all, "brush", named),
        "extension brush: COLOUR is the name of a field of paint"
    );
    let at = &[At {
        header: AnyHeader::Known(Header::Ipv4),
        bit: 100,
        bits: 8,
    }];
    let part = Field {
        at,
        ..Field::extension(OURS, 3, "subnet", 8, false)
    };
    assert_eq!(
        refusal(&mut all, "brush", part),
        "extension brush: field subnet has bits of ipv4_src of OpenFlow, and one of them \
         may be set"
    );
}

static TAG: AddedHeader = AddedHeader::after_eth_type(0x88b5, "tag", 4);

#[test]
fn a_header_that_clashes_is_refused_and_both_extensions_named() {
    static OTHER: AddedHeader = AddedHeader::after_eth_type(0x88b5, "label", 8);
    static SAME: AddedHeader = AddedHeader::after_eth_type(0x88b5, "tag", 4);
    static TAKEN: [AddedHeader; 4] = [
        AddedHeader::after_eth_type(0x0800, "ip", 20),
        AddedHeader::after_eth_type(0x8100, "vlan", 4),
        AddedHeader::after_ip_protocol(6, "tcp", 20),
        AddedHeader::after_ip_protocol(60, "options", 8),
    ];
    let mut all = Catalogue::default();
    let rows = extension_fields! { OURS; 1 "colour" 8 exact set Dec in TAG 0; };
    all.add("paint", &rows, &[]).expect("it is the first");
    let [row] = extension_fields! { OURS; 2 "shade" 8 exact fixed Dec in OTHER 8; };
    assert_eq!(
        refusal(&mut all, "brush", row),
        "extension brush: header label is named by what names tag of paint: eth_type 0x88b5"
    );
    let [row] = extension_fields! { OURS; 2 "shade" 8 exact fixed Dec in SAME 4; };
    assert_eq!(
        refusal(&mut all, "brush", row),
        "extension brush: field shade has bits of colour of paint, and one of them may be set"
    );
    let [row] = extension_fields! { OURS; 2 "shade" 8 exact fixed Dec at EthType 20
    need ETH_TYPE & 0xffff = 0x88b5; };
    assert!(refusal(&mut all, "brush", row).contains("has bits of colour of paint"));
    for header in &TAKEN {
        let at = Box::leak(Box::new([At {
            header: AnyHeader::Added(header),
            bit: 0,
            bits: 8,
        }]));
        let row = Field {
            at,
            ..Field::extension(OURS, 2, "shade", 8, false)
        };
        assert!(refusal(&mut all, "brush", row).contains("names another header than"));
    }
    let [row] = extension_fields! { OURS; 2 "shade" 8 exact set Dec in SAME 8; };
    all.add("brush", &[row], &[])
        .expect("it has bits of its own");
    assert_eq!(all.additions().headers, [&TAG]);
}

#[test]
fn fields_of_different_packets_may_have_the_same_place() {
    let mut all = Catalogue::default();
    let rows = extension_fields! { OURS;
        1 "colour" 8 exact set Dec at Udp 64 need UDP_DST & 0xffff = 7;
        2 "shade" 8 exact set Dec at Udp 64 need UDP_DST & 0xffff = 8;
    };
    all.add("paint", &rows, &[])
        .expect("no packet has both ports");
    let [row] = extension_fields! { OURS;
        3 "tint" 8 exact fixed Dec at Udp 64 need UDP_DST & 0xffff = 8 | 9;
    };
    assert!(refusal(&mut all, "brush", row).contains("has bits of shade of paint"));
}

#[test]
fn a_row_that_contradicts_itself_is_refused() {
    let rows = extension_fields! { OURS;
        1 "colour" 0 exact fixed Dec;
        1 "colour" 129 exact fixed Dec;
        128 "colour" 8 exact fixed Dec;
        1 "colour" 128 exact fixed Dec at Udp 65;
        1 "colour" 8 exact fixed Dec at Udp 65530;
        1 "colour" 8 exact fixed Dec in TAG 25;
        1 "colour" 8 exact fixed Dec at Udp 64 need METADATA & 1 = 1;
        1 "colour" 8 exact fixed Dec at Mpls 20;
        1 "colour" 4 exact fixed Dec initial 16;
        1 "colour" 4 exact fixed Dec at Udp 64 initial 15;
    };
    let wrong = [
        "0 bits are not 1 to 128",
        "129 bits are not 1 to 128",
        "number 128 is not 0 to 127",
        "128 bits from bit 65 on do not fit",
        "8 bits from bit 65530 on do not fit",
        "it is outside of the 4 bytes of tag",
        "its prerequisite is no field of OpenFlow in a header",
        "the TTL, which actions change without a row, has no field",
        "a register that cannot hold 16",
        "a register that stands in a header",
    ];
    for (row, what) in rows.into_iter().zip(wrong) {
        let error = refusal(&mut Catalogue::default(), "paint", row);
        assert_eq!(error, format!("extension paint: field colour: {what}"));
    }
}

#[test]
fn a_catalogue_that_is_full_refuses_by_name() {
    let mut all = Catalogue::default();
    // An experimenter has numbers for 128 fields only.
    let wide = |number| {
        let experimenter = OURS + u32::from(number / 128);
        Field::extension(experimenter, number % 128, "wide", 128, true)
    };
    let room = (FieldSet::MAX_FIELDS - STANDARD_FIELDS - N_REGISTERS) as u8;
    for number in 0..room {
        let row = Field {
            name: format!("wide{number}").leak(),
            ..wide(number)
        };
        all.add("one", &[row], &[]).expect("there is room");
    }
    assert_eq!(
        refusal(&mut all, "two", wide(room)),
        "extension two: field wide: at most 251 fields fit"
    );
    let ids = all.fields().iter().map(|field| usize::from(field.id));
    assert!(ids.eq(0..FieldSet::MAX_FIELDS));
}

#[test]
fn packet_registers_have_the_last_ids_however_many_fields_there_are() {
    let mut all = Catalogue::default();
    for added in 0..3 {
        assert_eq!(all.fields().len(), STANDARD_FIELDS + added + N_REGISTERS);
        for field in all.fields() {
            assert_eq!(all.by_id(field.id.into()), *field);
            assert_eq!(all.field(field.experimenter, field.number), Some(*field));
        }
        let name = format!("own{added}").leak();
        let row = Field::extension(OURS, added as u8, name, 8, true);
        all.add("one", &[row], &[]).expect("there is room");
    }
}

#[test]
fn fields_have_places_of_their_own_in_a_key() {
    let mut all = Catalogue::default();
    let rows = [
        Field::extension(OURS, 1, "one", 128, true),
        Field::extension(OURS, 2, "two", 64, true),
        Field::extension(OURS, 3, "three", 128, true),
        Field::extension(OURS, 4, "four", 3, true),
    ];
    all.add("wide", &rows, &[]).expect("there is room");
    let places = all.fields().iter();
    let mut places: Vec<_> = places
        .map(|field| (usize::from(field.offset), field.bytes()))
        .collect();
    places.sort_unstable();
    for pair in places.windows(2) {
        assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{pair:?}");
    }
    // The third is the first in the tail, behind the words that say what is present.
    assert_eq!(
        usize::from(all.fields()[STANDARD_FIELDS + 2].offset),
        KEY_TAIL_VALUES
    );
}

#[cfg(feature = "text")]
#[test]
fn an_experimenters_error_has_the_name_that_a_row_of_it_brings() {
    mod errors {
        crate::experimenter_errors! { 77 "PAINT" 1 DRY "the paint is dry" }
    }
    static ROWS: [ExtRow; 1] =
        [ExtRow::new(ExtKind::Message, 77, 1, "paint").with_error_names(errors::ERRORS)];
    let mut all = Catalogue::default();
    assert_eq!(
        all.error_text(errors::DRY),
        "error type 65535 code 1 of experimenter 0x4d"
    );
    all.add("paint", &[], &ROWS).expect("it is the first");
    assert_eq!(all.error_text(errors::DRY), "PAINT/DRY (the paint is dry)");
    assert_eq!(
        all.error_text(crate::error::BadRequest::BAD_LEN),
        "BAD_REQUEST/BAD_LEN (wrong length for the type)"
    );
}

#[test]
fn values_of_one_kind_have_numbers_of_their_own() {
    static ROWS: [ExtRow; 1] = [ExtRow::new(ExtKind::Action, OURS, 7, "paint")];
    let mut all = Catalogue::default();
    all.add("paint", &[], &ROWS).expect("it is the first");
    let error = all.add("brush", &[], &ROWS).expect_err("it is there");
    assert_eq!(
        error.to_string(),
        "extension brush: action paint (7 of experimenter 0x626f73) has the name or number of \
         paint of paint"
    );
    assert_eq!(all.values(ExtKind::Action).count(), 2);
}
