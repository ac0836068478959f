//! Errors that the hardware of an interface counts, as sysfs has them.

use std::fs;
use std::path::Path;

use super::sflow::EthernetCounters;

/// Reads the counters of an interface below `root`, which is `/sys/class/net`; `None` if it has no
/// hardware, as veth, or sysfs cannot be read, as with `--lock-down`.
pub fn ethernet_counters(root: &Path, interface: &str) -> Option<EthernetCounters> {
    let folder = root.join(interface);
    if !folder.join("device").exists() {
        return None;
    }
    let read = |name: &str| -> Option<u32> {
        let text = fs::read_to_string(folder.join("statistics").join(name)).ok()?;
        text.trim().parse::<u64>().ok().map(|count| count as u32)
    };
    // As the kernel's documentation of `rtnl_link_stats64` maps them to IEEE 802.3.
    Some(EthernetCounters {
        alignment: read("rx_frame_errors"),
        fcs: read("rx_crc_errors"),
        late_collisions: read("tx_window_errors"),
        excessive_collisions: read("tx_aborted_errors"),
        carrier_sense: read("tx_carrier_errors"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hardware_has_counters_of_ethernet() {
        let root = std::env::temp_dir().join(format!("bofuss-sysfs-{}", std::process::id()));
        let statistics = root.join("eth7/statistics");
        fs::create_dir_all(&statistics).unwrap();
        fs::write(statistics.join("rx_crc_errors"), "17\n").unwrap();
        assert_eq!(ethernet_counters(&root, "eth7"), None);
        fs::create_dir_all(root.join("eth7/device")).unwrap();
        let counters = ethernet_counters(&root, "eth7").unwrap();
        assert_eq!((counters.fcs, counters.alignment), (Some(17), None));
        fs::remove_dir_all(&root).unwrap();
    }
}
