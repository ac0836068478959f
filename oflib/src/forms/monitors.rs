//! The rows of flow monitors.

use crate::forms::{Plain, forms};
use crate::message::multipart::flow_monitor::{
    FlowMonitorCommand, FlowMonitorFlags, FlowMonitorRequest, FlowUpdate, FlowUpdateEvent,
    MonitoredFlow,
};
#[cfg(feature = "v1_0")]
use crate::v1_0::V1_0;
use crate::v1_3::V1_3;
#[cfg(feature = "v1_4")]
use crate::v1_4::V1_4;

forms! {
    //                    1.0    1.1    1.2    1.3    1.4    1.5
    FlowMonitorCommand:   -      -      -      -      Plain  Plain;
    FlowUpdateEvent:      V1_3   -      -      V1_3   Plain  Plain;

    FlowMonitorFlags:     Plain  -      -      Plain  Plain  Plain;

    FlowMonitorRequest:   V1_0   -      -      V1_3   V1_4   V1_4;
    FlowUpdate:           V1_0   -      -      V1_3   V1_4   V1_4;
    MonitoredFlow:        -      -      -      -      V1_4   V1_4;
}
