//! The report of a run: one page of HTML with tables and plots, which prints well.

use super::calibration::{Calibration, CalibrationPath};
use super::case::{CASES, MeterCase};
use super::conclusions;
use super::flow_classes;
use super::forwarding::LOAD_BYTES;
use super::point::{CaseVerdict, Point};
use super::results::{DELAY, ResultRecord, Results};
use super::statistics::{Interval, Summary, greatest, least, median};
use super::workbench::USUAL_MBPS;
use crate::plot::{Axes, Bar, Line, bars, lines};
use crate::report::number;

/// The style of the page.
const STYLE: &str = "body{font:15px/1.45 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}\
    table{border-collapse:collapse;font-size:13px;margin:1em 0}\
    td,th{border-bottom:1px solid #ccc;padding:.2em .7em;text-align:right}\
    td:first-child,th:first-child,td.words{text-align:left}\
    svg{max-width:100%;height:auto}h2{margin-top:2em}.bad{color:#b00}.marked{color:#888}\
    @media print{h2{break-after:avoid}svg,tr{break-inside:avoid}}";
/// Lines of a plot of distributions at most; the first of each variant come first.
const MAX_LINES: usize = 8;

/// Text in HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A page around a body.
pub fn page(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n{body}</body></html>\n"
    )
}

/// The title of a page, which says whether all was in its shortest form.
pub fn titled(title: &str, short: bool) -> String {
    let form = if short { ", shortest form" } else { "" };
    format!("{title}{form}")
}

/// What to think of a page whose experiments were in their shortest form.
pub fn form_note(short: bool) -> String {
    if !short {
        return String::new();
    }
    paragraph(
        "Everything is in its shortest form: few frames and few points. It shows that \
         the experiments run; its numbers are rough.",
    )
}

fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escaped(text))
}

fn list(sentences: &[String]) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let mut text = "<ul>\n".to_string();
    for sentence in sentences {
        text += &format!("<li>{}</li>\n", escaped(sentence));
    }
    text + "</ul>\n"
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
    page(&titled(&title, info.short), &body)
}

fn repeats(count: u32) -> String {
    match count {
        1 => "one repeat".into(),
        _ => format!("{count} repeats, in rounds"),
    }
}

/// The calibration: sentences, and its two sweeps.
fn instrument(calibration: &Calibration) -> String {
    let mut text = list(&calibration.sentences());
    let mut by_size = Vec::new();
    let mut by_load = Vec::new();
    for path in &calibration.paths {
        by_size.push(path_line(path, true));
        by_load.push(path_line(path, false));
    }
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
    for point in &path.points {
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
    text += &table(results, case, &points);
    text += &plots(results, case, &points);
    text + &flow_classes::figures(&[results], case.name)
}

/// The median of the repeats of a statistic of delays, in microseconds.
fn middle(records: &[&ResultRecord], pick: impl Fn(&Summary) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = records
        .iter()
        .filter_map(|r| pick(r.delay.as_ref()?))
        .collect();
    (!values.is_empty()).then(|| median(&values) / 1e3)
}

/// The median of the repeats of a metric.
fn median_of(records: &[&ResultRecord], name: &str) -> Option<f64> {
    let values: Vec<f64> = records.iter().filter_map(|r| r.value(name)).collect();
    (!values.is_empty()).then(|| median(&values))
}

/// The interval of a mean: by batches, where there are enough delays for them.
fn mean_interval(delay: &Summary) -> Option<Interval> {
    delay.batch_99.or(delay.plain_99)
}

fn cell(value: Option<f64>) -> String {
    format!("<td>{}</td>", value.map_or_else(|| "-".into(), number))
}

/// The numbers of each point: the median of its repeats.
fn table(results: &Results, case: &MeterCase, points: &[&Point]) -> String {
    let main = case.main.unwrap_or("");
    let mut text = "<table><tr><th>point</th><th>verdict</th><th>n</th><th>p50, us</th>\
        <th>p99, us</th><th>p99.9, us</th><th>mean, us</th><th>99 % interval of the mean</th>\
        <th>jitter, us</th><th>lost</th>"
        .to_string();
    if !main.is_empty() {
        text += &format!("<th>{}</th>", escaped(main));
    }
    text += "<th>notes</th></tr>\n";
    for point in points {
        let records: Vec<&ResultRecord> = results.of(case.name, &point.name).collect();
        text += &row(case, point, &records);
    }
    text + "</table>\n"
}

fn row(case: &MeterCase, point: &Point, records: &[&ResultRecord]) -> String {
    let counts = records.iter().all(|record| record.counts());
    let worst = records
        .iter()
        .map(|r| r.verdict)
        .find(|v| *v != CaseVerdict::Ok);
    let verdict = worst.unwrap_or(CaseVerdict::Ok);
    let class = match (verdict, counts) {
        (_, false) => "marked",
        (CaseVerdict::Ok | CaseVerdict::Unsupported, true) => "",
        (_, true) => "bad",
    };
    let n: usize = records
        .iter()
        .filter_map(|r| r.delay.as_ref().map(|d| d.n))
        .sum();
    let mut text = format!(
        "<tr class=\"{class}\"><td>{}</td><td class=\"words\">{}</td>{}",
        escaped(&point.name),
        verdict.word(),
        cell((n > 0).then_some(n as f64))
    );
    text += &cell(middle(records, |d| Some(d.p50)));
    text += &cell(middle(records, |d| Some(d.p99)));
    text += &cell(middle(records, |d| Some(d.p999)));
    text += &cell(middle(records, |d| Some(d.mean)));
    let low = middle(records, |d| mean_interval(d).map(|bounds| bounds.0));
    let high = middle(records, |d| mean_interval(d).map(|bounds| bounds.1));
    text += &match low.zip(high) {
        Some((low, high)) => format!("<td>{} to {}</td>", number(low), number(high)),
        None => "<td>-</td>".into(),
    };
    text += &cell(middle(records, |d| Some(d.jitter[0])));
    text += &cell(median_of(records, "lost"));
    if let Some(main) = case.main {
        text += &cell(median_of(records, main));
    }
    let mut notes: Vec<&String> = records
        .iter()
        .flat_map(|r| r.marks.iter().chain(&r.notes))
        .collect();
    notes.sort();
    notes.dedup();
    let notes: Vec<String> = notes.into_iter().map(|note| escaped(note)).collect();
    text + &format!("<td class=\"words\">{}</td></tr>\n", notes.join("; "))
}

/// A parameter of points: its unit and its value.
type Parameter = (&'static str, fn(&Point) -> f64);

/// The parameter that varies among points of a variant: its name and its value.
fn parameters(points: &[&Point]) -> Vec<Parameter> {
    let all: [Parameter; 3] = [
        ("bytes", |point| point.bytes as f64),
        ("Mb/s", |point| point.mbps),
        ("rules", |point| f64::from(point.rules)),
    ];
    all.into_iter()
        .filter(|(_, value)| varies(points, *value))
        .collect()
}

/// Whether a parameter has several values among the points of a variant.
fn varies(points: &[&Point], value: fn(&Point) -> f64) -> bool {
    points.iter().any(|one| {
        let mut others = points.iter().filter(|other| other.kind == one.kind);
        others.any(|other| value(other) != value(one))
    })
}

/// The plots of a case: delay or main metric over what varies, and the distributions.
fn plots(results: &Results, case: &MeterCase, points: &[&Point]) -> String {
    let metric = case.main.unwrap_or(DELAY);
    let unit = if case.main.is_none() {
        "median delay, us"
    } else {
        metric
    };
    let mut text = String::new();
    let varying = parameters(points);
    for (name, value) in &varying {
        let of_kind = swept(results, case, points, metric, *value, &varying);
        if !of_kind.is_empty() {
            let axes = Axes {
                title: case.title,
                x: name,
                y: unit,
                log_x: *name != "bytes",
            };
            text += &lines(axes, &of_kind);
        }
    }
    if varying.is_empty() {
        text += &compared(results, case, points, metric, unit);
    }
    text + &distributions(results, case, points)
}

/// A line for each variant over one parameter. Of the others that vary, the most common value.
fn swept(
    results: &Results,
    case: &MeterCase,
    points: &[&Point],
    metric: &str,
    value: fn(&Point) -> f64,
    varying: &[Parameter],
) -> Vec<Line> {
    let mut found: Vec<Line> = Vec::new();
    for point in points {
        let others = varying
            .iter()
            .filter(|(_, other)| !std::ptr::fn_addr_eq(*other, value));
        let usual = others.into_iter().all(|(_, other)| {
            other(point) == most_common(points.iter().filter(|p| p.kind == point.kind), *other)
        });
        let values = results.values(case.name, &point.name, metric);
        if !usual || values.is_empty() {
            continue;
        }
        let at = (value(point), median(&values));
        match found.iter_mut().find(|line| line.name == point.kind) {
            Some(line) => line.points.push(at),
            None => found.push(Line {
                name: point.kind.clone(),
                points: vec![at],
                is_reference: false,
            }),
        }
    }
    found.retain(|line| line.points.len() > 1);
    for line in &mut found {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    found
}

fn most_common<'a>(points: impl Iterator<Item = &'a &'a Point>, value: fn(&Point) -> f64) -> f64 {
    let values: Vec<f64> = points.map(|point| value(point)).collect();
    let mut best = (0, 0.0);
    for value in &values {
        let count = values.iter().filter(|other| *other == value).count();
        if count > best.0 {
            best = (count, *value);
        }
    }
    best.1
}

/// A bar for each point, from the least to the most of its repeats.
fn compared(
    results: &Results,
    case: &MeterCase,
    points: &[&Point],
    metric: &str,
    unit: &str,
) -> String {
    let mut all = Vec::new();
    for (series, point) in points.iter().enumerate() {
        let values = results.values(case.name, &point.name, metric);
        if values.is_empty() {
            continue;
        }
        all.push(Bar {
            group: String::new(),
            series,
            name: point.name.clone(),
            value: median(&values),
            range: (least(&values), greatest(&values)),
        });
    }
    if all.is_empty() {
        return String::new();
    }
    bars(case.title, unit, &all)
}

/// The distributions of the delays of the first repeat that counts, of one point of each variant.
fn distributions(results: &Results, case: &MeterCase, points: &[&Point]) -> String {
    let mut drawn: Vec<Line> = Vec::new();
    for point in points {
        if drawn.len() >= MAX_LINES || drawn.iter().any(|line| line.name.starts_with(&point.kind)) {
            continue;
        }
        let mut counting = results.of(case.name, &point.name).filter(|r| r.counts());
        let Some(delay) = counting.find_map(|record| record.delay.as_ref()) else {
            continue;
        };
        let shares = delay.distribution.iter();
        drawn.push(Line {
            name: point.name.clone(),
            points: shares
                .map(|(ns, share)| (*ns as f64 / 1e3, share * 100.0))
                .collect(),
            is_reference: false,
        });
    }
    if drawn.is_empty() {
        return String::new();
    }
    let axes = Axes {
        title: "distribution of delays",
        x: "us",
        y: "% at most",
        log_x: true,
    };
    lines(axes, &drawn)
}

#[cfg(test)]
mod tests {
    use super::super::calibration::CalibrationPoint;
    use super::super::results::RunInfo;
    use super::super::time_stamps::TimeStamps;
    use super::*;

    fn point(bytes: usize, mbps: f64) -> CalibrationPoint {
        CalibrationPoint {
            bytes,
            mbps,
            rate: (1.0, 1.0),
            loss: 0.0,
            mean: 1_000.0,
            deviation: 0.0,
            p50: 1_000.0,
            p99: 1_000.0,
        }
    }

    #[test]
    fn sizes_and_loads_of_a_calibration_are_lines_from_left_to_right() {
        let path = CalibrationPath {
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
            metrics: vec![super::super::point::ResultMetric {
                name: "rate".into(),
                unit: "flow-mods/s".into(),
                value: 1_000.0 * f64::from(round),
            }],
            delay: Summary::of(&[1_000, 2_000, 3_000]),
            raw: None,
        };
        Results {
            info: RunInfo {
                program: "ofmeter".into(),
                subject: "<a switch>".into(),
                version: None,
                repeats: 2,
                short: false,
                echo: false,
                stamps: TimeStamps::default(),
                machine: Vec::new(),
            },
            calibration: None,
            records: vec![record(1, &[]), record(2, &["above the limit"])],
        }
    }

    #[test]
    fn a_marked_result_is_in_the_table_and_in_no_plot() {
        let results = results();
        assert_eq!(results.values("fm-add", "bulk 10 rules", "rate"), [1_000.0]);
        let page = report(&results);
        assert!(page.contains("above the limit") && page.contains("class=\"marked\""));
    }

    #[test]
    fn what_others_wrote_is_text_in_the_page() {
        let page = report(&results());
        assert!(page.contains("&lt;a switch&gt;") && !page.contains("<a switch>"));
    }
}
