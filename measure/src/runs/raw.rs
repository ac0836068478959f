//! The raw samples of a result: the names of their files, and the rows of tables.

use crate::cases::point::{EndedFlow, Point};

/// The folder of raw samples, in that of a run.
pub const RAW: &str = "raw";

/// The file of a result's samples, from the folder of the run; its end says what they are.
pub fn file(case: &str, point: &Point, round: u32, end: &str) -> String {
    let words = format!("{case}-{}-{round}.{end}", point.name);
    let name = words.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-");
    format!("{RAW}/{name}")
}

/// The flows of a result in the order in which they began, after those that warm up; a flow that
/// did not end in time has no seconds.
pub fn flow_table(flows: &[EndedFlow]) -> String {
    let mut text = String::from("bytes,seconds\n");
    for flow in flows {
        let seconds = flow.seconds.map_or_else(String::new, |s| s.to_string());
        text += &format!("{},{seconds}\n", flow.bytes);
    }
    text
}

/// A value of a row, quoted where it must be. Spec: RFC 4180 section 2.
pub fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flow_has_its_size_next_to_its_time() {
        let flow = |bytes, seconds| EndedFlow { bytes, seconds };
        let table = flow_table(&[flow(1_000, Some(0.002)), flow(30_000_000, None)]);
        assert_eq!(table, "bytes,seconds\n1000,0.002\n30000000,\n");
        let point = Point::of("web search, hash").mbps(10.0);
        let file = file("spine-leaf-live", &point, 2, "csv");
        assert_eq!(file, "raw/spine-leaf-live-web-search--hash-10-Mb-s-2.csv");
    }
}
