//! JSON in which ports have names in place of numbers.

use serde_json::Value;

use crate::ofctl::wording::PortNames;

/// An object with this key describes a port. It keeps the number, because it has the name as well.
const DESCRIPTION_KEY: &str = "hw_addr";

/// Replaces the numbers of ports in JSON by names, quoted as `dump-flows --names` quotes them.
pub(crate) fn put(value: &mut Value, names: &PortNames) {
    put_at("", value, names);
}

/// Replaces the numbers in the value of `key`; for a list, in each of its items.
fn put_at(key: &str, value: &mut Value, names: &PortNames) {
    match value {
        Value::Array(list) => {
            for one in list {
                put_at(key, one, names);
            }
        }
        Value::Object(map) if map.contains_key(DESCRIPTION_KEY) => {}
        Value::Object(map) => {
            for (key, one) in map {
                put_at(key, one, names);
            }
        }
        Value::String(text) => names.put(key, text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use bofuss_oflib::PortNo;
    use bofuss_oflib::message::PortDesc;
    use serde_json::json;

    use super::*;

    fn names() -> PortNames {
        let row = |number, name: &str| PortDesc {
            port_no: PortNo(number),
            name: name.into(),
            ..PortDesc::default()
        };
        PortNames::of([row(1, "s1-eth1"), row(12, "wan")].iter())
    }

    #[test]
    fn only_keys_that_hold_ports_get_names() {
        let mut value = json!({
            "port": "1", "queue": "1", "data": "in_port=1", "match": {"in_port": "12"},
            "ports": [{"port_no": "1", "hw_addr": "02:00:00:00:00:01", "name": "s1-eth1"}],
            "actions": ["output:12", "group:1"], "watch_port": "ANY", "table_id": 1,
        });
        put(&mut value, &names());
        let wanted = json!({
            "port": "\"s1-eth1\"", "queue": "1", "data": "in_port=1", "match": {"in_port": "wan"},
            "ports": [{"port_no": "1", "hw_addr": "02:00:00:00:00:01", "name": "s1-eth1"}],
            "actions": ["output:wan", "group:1"], "watch_port": "ANY", "table_id": 1,
        });
        assert_eq!(value, wanted);
    }
}
