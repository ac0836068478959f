//! An auxiliary connection that comes up when its main one is gone.

use bofuss_agent::ConnId;
use bofuss_channel::{Origin, Transport};

use super::*;

#[test]
fn an_auxiliary_connection_without_its_main_one_is_no_input() {
    let folder = Folder::new("auxiliary");
    let record = folder.0.join("record");
    let options = Options {
        auxiliaries: vec!["tcp".into()],
        ..Options::default()
    };
    let mut lab = Lab::new(&folder, &record, options);
    let origin = Origin::Auxiliary {
        main: bofuss_channel::ConnId(1000),
        id: 1,
        transport: Transport::Tcp,
        peer: ([127, 0, 0, 1], 6653).into(),
    };
    let now = lab.plane.live.now();
    let is_wanted = lab.plane.connect(now, ConnId(1001), Version::V1_3, &origin);
    assert!(!is_wanted);
    lab.end();
    assert_eq!(played(&record).others, [0; 0]);
}
