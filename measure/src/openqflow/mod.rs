//! The experiments of OpenQFlow, which `ofmeter paper 003` compares with its paper.

pub mod crc16;
pub mod fairness;
pub mod flow_cost;
pub mod heavy_tail;
pub mod live_shares;
