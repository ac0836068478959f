//! Any lines of a driver are obeyed or answered with a sentence; what the switch then says of the
//! port is bounded, can be read again, and goes with the driver.

use std::sync::Arc;

use bofuss_datapath::{Asker, Config, Time};
use bofuss_ext::drivers::line::Line;
use bofuss_ext::drivers::{DRIVER_LINE, DriverLine, MAX_VALUES, ToldLine, VALUES, Values};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::message::{ControllerRole, PortDesc};
use bofuss_oflib::{ExtValue, PortNo, Version};

/// The number of the driver's connection.
const DRIVER: u64 = 1;
/// The port, which has a driver from the beginning.
const PORT: PortNo = PortNo(1);

/// Says a line. Returns whether it was obeyed.
fn say(datapath: &mut Datapath, now: Time, line: &str) -> bool {
    let asker = Asker {
        connection: DRIVER,
        role: ControllerRole::EQUAL,
        version: Version::V1_3,
        form: 0,
    };
    let value = ExtValue::typed(&VALUES[DRIVER_LINE], DriverLine(line.into()));
    let mut sent: Vec<Frame> = Vec::new();
    let mut calls = datapath.hook_calls(now, &mut sent);
    let answer = calls.message(asker, &value).expect("a line is no error");
    let told = answer
        .replies
        .first()
        .and_then(|value| value.body::<ToldLine>());
    !told.is_some_and(|told| told.line.0.starts_with("{\"error\":"))
}

/// Returns how many lines were obeyed. Panics: if the switch breaks its word.
pub fn run(bytes: &[u8]) -> usize {
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let config = Config::default();
    let mut datapath = Datapath::new(config, catalogue.clone(), Pool::new(1 << 16));
    datapath.add_hook(bofuss_ext::drivers::hook(&catalogue));
    let mut sent: Vec<Frame> = Vec::new();
    let desc = PortDesc {
        port_no: PORT,
        ..PortDesc::default()
    };
    datapath
        .port_control(Time(0), &mut sent)
        .changed(desc.clone(), Default::default());
    assert!(say(&mut datapath, Time(0), "{\"port\":1}"));
    let text = String::from_utf8_lossy(bytes);
    let mut obeyed = 0;
    for (number, line) in (1..).zip(text.split('\n')) {
        let before = datapath.ports()[&PORT].clone();
        let is_right = say(&mut datapath, Time(number * Time::SEC), line);
        let port = &datapath.ports()[&PORT];
        if !is_right {
            assert_eq!(
                (&port.desc, &port.stats),
                (&before.desc, &before.stats),
                "{line}"
            );
        }
        assert!(Line::parse(line).is_ok() || !is_right, "{line}");
        for property in port
            .desc
            .experimenters
            .iter()
            .chain(&port.stats.experimenters)
        {
            let values = Values::from_bytes(&property.data.0).expect("values are read again");
            assert!(values.iter().count() <= MAX_VALUES);
        }
        obeyed += usize::from(is_right);
    }
    datapath.hook_calls(Time(0), &mut sent).disconnected(DRIVER);
    datapath.tick(Time(Time::SEC), &mut sent);
    let port = &datapath.ports()[&PORT];
    assert_eq!(port.desc.experimenters, desc.experimenters);
    assert_eq!((port.desc.optical, port.stats.optical), (None, None));
    obeyed
}
