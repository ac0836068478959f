//! In the place of `monitors.rs` without the feature `monitors`: no version has them.

use crate::forms::forms;
use crate::message::multipart::{FlowMonitorRequest, FlowUpdate};

forms! {
    //                    1.0    1.1    1.2    1.3    1.4    1.5
    FlowMonitorRequest:   -      -      -      -      -      -;
    FlowUpdate:           -      -      -      -      -      -;
}
