//! Tables: their configuration and what happens to them. Spec: OpenFlow 1.4.1 sections 7.3.4.1,
//! 7.3.5.5, 7.4.5.

use super::V1_4;
use crate::message::TableMod;
use crate::message::multipart::table_desc::{TableDesc, TableStatus};
use crate::message::table_mod::Vacancy;
use crate::v1_3::{layout, properties, with_properties};

with_properties! {
    V1_4;
    TableMod { table_id => 3, config; ..default [miss] }
    TableDesc [0 8 2] { table_id => 1, config }
}

properties! {
    TableMod {
        2 pad 0 option eviction;
        3 pad 0 option vacancy;
    }
    TableDesc {
        2 pad 0 option eviction;
        3 pad 0 option vacancy;
    }
}

layout! {
    V1_4;
    Vacancy { vacancy_down, vacancy_up, vacancy => 1 }
    TableStatus { reason => 7, table }
}
