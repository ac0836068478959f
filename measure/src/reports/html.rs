//! The report of a run: one page of HTML with tables and plots, which prints well.

use crate::cases::calibration::{Calibration, CalibrationPath, CalibrationPoint};
use crate::cases::forwarding::LOAD_BYTES;
use crate::cases::workbench::USUAL_MBPS;
use crate::cases::{CASES, MeterCase};
use crate::reports::case_plots;
use crate::reports::case_tables;
use crate::reports::conclusions;
use crate::reports::flow_figures;
use crate::reports::html_table::{escaped, list, paragraph};
use crate::reports::methods;
use crate::reports::plot::{Axes, Line, lines};
use crate::runs::results::Results;
use crate::runs::signed::NumberSign;

/// The style of the page.
const STYLE: &str = "body{font:15px/1.45 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}\
    table{border-collapse:collapse;font-size:13px;margin:1em 0}\
    td,th{border-bottom:1px solid #ccc;padding:.2em .7em;text-align:right}\
    td:first-child,th:first-child,td.words{text-align:left}\
    svg{max-width:100%;height:auto}h2{margin-top:2em}.bad{color:#b00}.marked{color:#888}\
    @media print{h2{break-after:avoid}svg,tr{break-inside:avoid}}";

/// A page around a body.
pub fn page(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n{body}</body></html>\n"
    )
}

/// Words after a title: that all was in its shortest or in the reduced form, or none.
pub fn form(short: bool, reduced: bool) -> &'static str {
    match (short, reduced) {
        (true, _) => ", shortest form",
        (false, true) => ", reduced form",
        (false, false) => "",
    }
}

/// Says what a reader must know of a page whose experiments were in their shortest form.
pub fn form_note(short: bool) -> String {
    if !short {
        return String::new();
    }
    paragraph(
        "Everything is in its shortest form: few frames and few points. It shows that \
         the experiments run; its numbers are rough.",
    )
}

/// The whole report of a run.
pub fn report(results: &Results) -> String {
    let info = &results.info;
    let mut body = String::new();
    let version = info.version.as_ref();
    let spoken = version.map_or_else(String::new, |version| format!(", OpenFlow {version}"));
    body += &paragraph(&format!(
        "Measured: {}{spoken}; {}{}. {}",
        info.subject,
        repeats(info.repeats),
        if info.echo {
            ", frames go there and back"
        } else {
            ", one way"
        },
        info.program
    ));
    body += &form_note(info.short);
    body += &list(&info.machine);
    body += "<h2>Methods</h2>\n";
    body += &paragraph(&methods::paragraph(results));
    body += "<h2>The instrument</h2>\n";
    match &results.calibration {
        Some(calibration) => body += &instrument(calibration),
        None => body += &paragraph("It was not calibrated: no limit and no floor are known."),
    }
    let found = conclusions::of(results);
    if !found.is_empty() {
        body += "<h2>Conclusions, computed</h2>\n";
        body += &list(&found);
    }
    for case in CASES {
        body += &section(results, case);
    }
    let title = format!("ofmeter: {}", info.subject);
    let form = form(info.short, info.reduced);
    page(&format!("{title}{form}"), &body)
}

fn repeats(count: u32) -> String {
    match count {
        1 => "one repeat".into(),
        _ => format!("{count} repeats, in rounds"),
    }
}

/// The calibration: sentences, and the delays by frame size and by load.
fn instrument(calibration: &Calibration) -> String {
    let mut text = list(calibration.sentences());
    let mut by_size = Vec::new();
    let mut by_load = Vec::new();
    for path in &calibration.paths {
        by_size.push(path_line(path, true));
        by_load.push(path_line(path, false));
    }
    text += &paragraph("No plot shows a load that the instrument did not send, or lost a part of.");
    text += &lines(
        Axes {
            title: "The instrument alone, by frame size at 10 Mb/s",
            x: "bytes",
            y: "mean delay, us",
            log_x: false,
        },
        &by_size,
    );
    text += &lines(
        Axes {
            title: "The instrument alone, by load of 150-byte frames",
            x: "Mb/s",
            y: "mean delay, us",
            log_x: true,
        },
        &by_load,
    );
    text
}

/// The mean delays of a path by frame size at the usual load, or by load.
fn path_line(path: &CalibrationPath, by_size: bool) -> Line {
    let mut points = Vec::new();
    let plain = |point: &&CalibrationPoint| point.sign() == NumberSign::Plain;
    for point in path.points.iter().filter(plain) {
        if by_size && point.mbps == USUAL_MBPS {
            points.push((point.bytes as f64, point.mean / 1e3));
        } else if !by_size && point.bytes == LOAD_BYTES {
            points.push((point.mbps, point.mean / 1e3));
        }
    }
    // Sizes and loads have one point in common.
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0 == b.0);
    Line {
        name: path.name.clone(),
        points,
        is_reference: false,
    }
}

/// A case: its table and its plots; nothing if it was not run.
fn section(results: &Results, case: &MeterCase) -> String {
    let points = results.points(case.name);
    if points.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<h2 id=\"{0}\">{0}: {1}</h2>\n",
        case.name,
        escaped(case.title)
    );
    text += &paragraph(&format!("After {}.", case.source));
    text += &case_tables::tables(results, case, &points);
    let plots = case_plots::plots(results, case, &points);
    if !plots.is_empty() {
        text += &format!("<h3>Plots</h3>\n{plots}");
    }
    text + &flow_figures::figures(&[results], case.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::point::{CaseVerdict, Point};
    use crate::runs::results::ResultRecord;
    use crate::runs::run_info::RunInfo;
    use crate::statistics::Summary;

    fn point(bytes: usize, mbps: f64) -> CalibrationPoint {
        CalibrationPoint {
            bytes,
            mbps,
            rate: (1.0, 1.0),
            loss: 0.0,
            mean: 1_000.0,
            deviation: 0.0,
            p50: 1_000.0,
            far_end: 0.0,
            p99: 1_000.0,
            p50_95: None,
        }
    }

    #[test]
    fn sizes_and_loads_of_a_calibration_are_lines_from_left_to_right() {
        let mut path = CalibrationPath {
            name: "wire".into(),
            points: [
                (64, 10.0),
                (150, 10.0),
                (800, 10.0),
                (150, 10.0),
                (150, 20.0),
            ]
            .map(|(bytes, mbps)| point(bytes, mbps))
            .to_vec(),
        };
        // Half of the frames of this load were lost.
        path.points.push(CalibrationPoint {
            loss: 0.5,
            ..point(150, 50.0)
        });
        let line = |by_size| path_line(&path, by_size).points;
        assert_eq!(line(true), [(64.0, 1.0), (150.0, 1.0), (800.0, 1.0)]);
        assert_eq!(line(false), [(10.0, 1.0), (20.0, 1.0)]);
    }

    /// Results of `fm-add`, the second of them beyond the instrument's limit.
    fn results() -> Results {
        let record = |round, mark: &[&str]| ResultRecord {
            case: "fm-add".into(),
            point: Point::of("bulk").rules(10),
            subject: "<a switch>".into(),
            version: None,
            round,
            verdict: CaseVerdict::Ok,
            marks: mark.iter().map(ToString::to_string).collect(),
            notes: Vec::new(),
            metrics: vec![crate::cases::point::ResultMetric {
                name: "rate".into(),
                unit: "flow-mods/s".into(),
                value: 1_000.0 * f64::from(round),
            }],
            delay: Summary::of(&[1_000, 2_000, 3_000]),
            ..ResultRecord::default()
        };
        Results {
            info: RunInfo {
                repeats: 2,
                ..RunInfo::of_subject("<a switch>")
            },
            calibration: None,
            records: vec![record(1, &[]), record(2, &["above the limit"])],
        }
    }

    #[test]
    fn a_marked_result_is_in_the_table_and_in_no_plot() {
        let results = results();
        let values = results.values("fm-add", "bulk 10 rules", "rate").plain();
        assert_eq!(values, Some(vec![1_000.0]));
        let page = report(&results);
        assert!(page.contains("above the limit") && page.contains("class=\"marked\""));
    }

    #[test]
    fn a_forced_result_is_a_cross_and_no_point_of_a_line() {
        let mut results = results();
        let mut more = results.records[0].clone();
        more.point = Point::of("bulk").rules(20);
        let mut forced = more.clone();
        forced.point = Point::of("bulk").rules(40);
        forced.notes = vec!["forced: above the limit".into()];
        results.records.extend([more, forced]);
        let page = report(&results);
        assert!(
            page.contains("cross: forced, or with another sign"),
            "{page}"
        );
        assert!(
            page.contains("class=\"marked\"><td>bulk 40 rules (forced)"),
            "{page}"
        );
        results.records.pop();
        assert!(!report(&results).contains("cross: forced"));
    }

    #[test]
    fn all_statistics_of_delays_are_in_the_page() {
        let page = report(&results());
        for head in [
            "p99.9",
            "95 % interval",
            "RFC 3550",
            "p99 - p50",
            "standard deviation",
        ] {
            assert!(page.contains(head), "{head}");
        }
        assert!(page.contains("distribution of jitter"));
    }

    #[test]
    fn what_others_wrote_is_text_in_the_page() {
        let page = report(&results());
        assert!(page.contains("&lt;a switch&gt;") && !page.contains("<a switch>"));
    }
}
