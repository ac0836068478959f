//! Updates and requests with bytes that are spoilt: the switch stays, and answers.

use bofuss_p4runtime::Pipeline;
use bofuss_p4runtime::wire::entities::{Entity, EntityKind, TableEntry};
use bofuss_p4runtime::wire::messages::UpdateType;
use prost::Message;

use crate::common::{Controller, action, entity, exact, file, id, start};
use crate::spoil::Random;

#[tokio::test(flavor = "multi_thread")]
async fn spoilt_entities_are_refused_or_written_and_the_switch_stays() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let send = || action("MyIngress.send", &[3]);
    let mut seeds = vec![
        EntityKind::TableEntry(exact("MyIngress.exactly", 5, send())),
        EntityKind::TableEntry(exact(
            "MyIngress.selected",
            5,
            action("MyIngress.set", &[3]),
        )),
        EntityKind::TableEntry(exact("MyIngress.aging", 5, send())),
    ];
    for name in ["longest", "masked", "between", "profiled", "fixed"] {
        let mut entry = exact("MyIngress.exactly", 5, send());
        entry.table_id = id(&format!("MyIngress.{name}"));
        entry.priority = 1;
        seeds.push(EntityKind::TableEntry(entry));
    }
    let mut random = Random(1);
    let mut read = 0;
    for _ in 0..300 {
        let mut entities = Vec::new();
        for _ in 0..16 {
            let seed = seeds[random.next(seeds.len())].clone();
            let bytes = random.spoil(&entity(seed).encode_to_vec());
            if let Ok(Entity { entity: Some(kind) }) = Entity::decode(&*bytes) {
                entities.push(kind);
            }
        }
        let asked = entities.first().cloned();
        let kinds = [UpdateType::Insert, UpdateType::Modify, UpdateType::Delete];
        // It may be refused.
        let _ = controller.write(kinds[random.next(3)], entities).await;
        if let Some(asked) = asked {
            read += usize::from(controller.read(asked).await.is_ok());
        }
    }
    assert!(read > 0);
    let all = EntityKind::TableEntry(TableEntry::default());
    controller.read(all).await.expect("the switch is there");
}

#[test]
fn spoilt_p4info_is_refused_or_fits() {
    let text = file("p4info.txt");
    let program = file("json");
    let mut random = Random(2);
    let mut refused = 0;
    for _ in 0..200 {
        let spoilt = String::from_utf8_lossy(&random.spoil(&text)).into_owned();
        refused += usize::from(Pipeline::new(&spoilt, program.clone()).is_err());
    }
    assert!(refused > 50, "{refused}");
}
