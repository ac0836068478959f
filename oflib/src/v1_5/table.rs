//! Requests for tables, groups, meters and ports, and their features. Spec: OpenFlow 1.5.1
//! sections 7.3.5.10, 7.3.5.14, 7.3.5.18.

use super::V1_5;
use crate::message::multipart::group::GroupDescRequest;
use crate::message::multipart::meter::MeterFeatures;
use crate::message::multipart::port::PortDescRequest;
use crate::message::multipart::table_features::TableFeatureSet;
use crate::v1_3::layout;

layout! {
    V1_5;
    MeterFeatures {
        max_meter, band_types, capabilities, max_bands, max_color => 2, features => 4
    }
    GroupDescRequest { group_id => 4 }
    PortDescRequest { port_no => 4 }
    TableFeatureSet {
        table_id, command, features, name, metadata_match, metadata_write, config, max_entries,
        properties
    }
}
