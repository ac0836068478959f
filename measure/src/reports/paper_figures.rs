//! Figures of papers: for each a table and a plot of ours, with what the paper's text says. No
//! point of a paper's plot is estimated.

use serde::Deserialize;

use crate::cases::calibration::CalibrationPath;
use crate::cases::forwarding::LOAD_BYTES;
use crate::cases::point::{CaseVerdict, Point};
use crate::cases::workbench::USUAL_MBPS;
use crate::reports::figure_values::{Cell, OwnSeries, in_order, table};
use crate::reports::html_table::{escaped, paragraph};
use crate::reports::paper_text::{Anchor, difference, said};
use crate::reports::plot::{Axes, Bar, Line, bars, distributions, lines};
use crate::runs::results::{DELAY, ResultRecord, Results};
use crate::runs::signed::{NumberSign, Signed};
use crate::statistics::{greatest, least, median};

/// The quantity on the horizontal axis of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FigureAxis {
    /// Frame sizes at the usual load.
    Bytes,
    /// Loads of frames of one size.
    Load,
    /// The points of a variant, by name.
    Points,
    /// The delays of one point: its distribution.
    Distribution,
    /// The same of the differences of consecutive delays.
    Jitter,
}

/// A figure of a paper, and what of ours belongs to it.
#[derive(Deserialize)]
pub struct PaperFigure {
    id: String,
    section: String,
    title: String,
    /// Whether delays are one way or round trips, in the paper and here.
    #[serde(default)]
    way: Option<String>,
    case: String,
    axis: FigureAxis,
    /// The variant of ours, or the point of a distribution; not for the instrument.
    #[serde(default)]
    of: String,
    /// The number of ours that it shows: `delay` for medians, `loss`, `speed-up`, or a metric.
    #[serde(default)]
    metric: String,
    #[serde(default)]
    unit: String,
    /// True if it shows the instrument without a switch.
    #[serde(default)]
    instrument: bool,
}

/// The metric of a speed-up: the delay of this variant over that of the figure's own.
const SPEED_UP: &str = "speed-up";
/// See [`SPEED_UP`].
const LEGACY: &str = "legacy";

/// The quantiles of a distribution that a table has.
const QUANTILES: [(&str, f64); 5] = [
    ("p10", 0.1),
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
];

/// All figures of a case with what the text says of each; then what it says of other figures.
pub fn figures(
    figures: &[PaperFigure],
    anchors: &[Anchor],
    case: &str,
    runs: &[Results],
) -> String {
    let of_case: Vec<&Anchor> = anchors
        .iter()
        .filter(|anchor| anchor.case == case)
        .collect();
    let shown: Vec<&PaperFigure> = figures
        .iter()
        .filter(|figure| figure.case == case)
        .collect();
    if of_case.is_empty() && shown.is_empty() {
        return String::new();
    }
    let mut text = format!("<h2>Figures of {}</h2>\n", escaped(case));
    text +=
        "<p>The paper prints no numbers of these figures; what its text says is in lists.</p>\n";
    let mut left = of_case.clone();
    for figure in shown {
        let own: Vec<&Anchor> = of_case
            .iter()
            .copied()
            .filter(|anchor| anchor.figure == figure.id)
            .collect();
        left.retain(|anchor| anchor.figure != figure.id);
        text += &figure.shown(&own, runs);
    }
    text + &said(&left)
}

/// The end of a heading that says whether delays are one way or round trips.
pub fn way_words(way: Option<&str>) -> String {
    way.map_or_else(String::new, |way| format!("; {}", escaped(way)))
}

impl PaperFigure {
    /// Returns true if it shows a switch in this case.
    pub fn is_of(&self, case: &str) -> bool {
        self.case == case && !self.instrument
    }

    /// Returns true if it shows a point of its case, or compares another with it.
    pub fn shows(&self, point: &Point) -> bool {
        match self.axis {
            FigureAxis::Distribution | FigureAxis::Jitter => point.name == self.of,
            FigureAxis::Bytes | FigureAxis::Load | FigureAxis::Points => {
                let is_compared = self.metric == SPEED_UP && point.kind == LEGACY;
                (point.kind == self.of && self.place(point, 0).is_some()) || is_compared
            }
        }
    }

    /// Where a point is on the horizontal axis, and its name there; none if it is not.
    fn place(&self, point: &Point, at: usize) -> Option<(String, f64)> {
        let is_usual = point.mbps == USUAL_MBPS || point.mbps == 0.0;
        match self.axis {
            FigureAxis::Bytes if is_usual => {
                Some((format!("{} B", point.bytes), point.bytes as f64))
            }
            FigureAxis::Load if point.bytes == LOAD_BYTES && point.mbps > 0.0 => {
                Some((format!("{} Mb/s", point.mbps), point.mbps))
            }
            FigureAxis::Points => Some((point.name.clone(), at as f64)),
            FigureAxis::Bytes
            | FigureAxis::Load
            | FigureAxis::Distribution
            | FigureAxis::Jitter => None,
        }
    }

    /// The figure: what the text says, our table, our plot, and the differences.
    fn shown(&self, anchors: &[&Anchor], runs: &[Results]) -> String {
        let mut text = format!(
            "<h3>{} (section {}): {}, {}{}</h3>\n{}",
            escaped(&self.id),
            escaped(&self.section),
            escaped(&self.title),
            escaped(&self.unit),
            way_words(self.way.as_deref()),
            said(anchors)
        );
        let all = self.all_series(runs);
        if all.iter().all(|series| series.cells.is_empty()) {
            return text + "<p>Nothing of ours was measured for it.</p>\n";
        }
        text += &table(&all);
        text += &self.plot(anchors, &all);
        for anchor in anchors {
            for series in &all {
                if let Some(sentence) = difference(anchor, series, &self.unit) {
                    text += &paragraph(&sentence);
                }
            }
        }
        text
    }

    fn all_series(&self, runs: &[Results]) -> Vec<OwnSeries> {
        if !self.instrument {
            return runs.iter().map(|run| self.series(run)).collect();
        }
        // All runs of a paper share one calibration.
        let calibration = runs.iter().find_map(|run| run.calibration.as_ref());
        let paths = calibration.into_iter().flat_map(|found| &found.paths);
        paths.map(|path| self.of_instrument(path)).collect()
    }

    /// The mean delays of the instrument.
    fn of_instrument(&self, path: &CalibrationPath) -> OwnSeries {
        let mut cells = Vec::new();
        for point in &path.points {
            let is_size = self.axis == FigureAxis::Bytes && point.mbps == USUAL_MBPS;
            let is_load = self.axis == FigureAxis::Load && point.bytes == LOAD_BYTES;
            if !is_size && !is_load {
                continue;
            }
            let (x, unit) = if is_size {
                (point.bytes as f64, "B")
            } else {
                (point.mbps, "Mb/s")
            };
            cells.push(Cell {
                name: format!("{x} {unit}"),
                x,
                value: Some(point.mean / 1e3),
                sign: point.sign(),
                word: "",
            });
        }
        OwnSeries {
            name: format!("the instrument, {}", path.name),
            cells: in_order(cells),
            curve: Vec::new(),
        }
    }

    fn series(&self, run: &Results) -> OwnSeries {
        let mut series = OwnSeries {
            name: run.info.subject.clone(),
            cells: Vec::new(),
            curve: Vec::new(),
        };
        if matches!(self.axis, FigureAxis::Distribution | FigureAxis::Jitter) {
            self.add_distribution(run, &mut series);
            return series;
        }
        for (at, point) in run.points(&self.case).into_iter().enumerate() {
            let placed = self.place(point, at).filter(|_| point.kind == self.of);
            if let Some((name, x)) = placed {
                series.cells.push(self.cell(run, point, name, x));
            }
        }
        series.cells = in_order(std::mem::take(&mut series.cells));
        series
    }

    /// The median of the repeats at a point: of those that count, or else of all.
    fn cell(&self, run: &Results, point: &Point, name: String, x: f64) -> Cell {
        let records: Vec<&ResultRecord> = run.of(&self.case, &point.name).collect();
        let verdicts = records.iter().map(|record| record.verdict);
        let failed = verdicts
            .clone()
            .find(|verdict| *verdict != CaseVerdict::Ok)
            .filter(|_| self.metric != "loss");
        let mut counting = Vec::new();
        let mut others = Vec::new();
        for record in records {
            let values = if record.is_plain() {
                &mut counting
            } else {
                &mut others
            };
            values.extend(self.value(run, record).map(Signed::with_sign));
        }
        let shown = if counting.is_empty() {
            others
        } else {
            counting
        };
        let (values, signs): (Vec<f64>, Vec<NumberSign>) = shown.into_iter().unzip();
        let is_there = failed.is_none() && !values.is_empty();
        Cell {
            name,
            x,
            value: is_there.then(|| median(&values)),
            sign: signs.into_iter().max().unwrap_or_default(),
            word: failed.map_or("-", CaseVerdict::word),
        }
    }

    fn value(&self, run: &Results, record: &ResultRecord) -> Option<Signed<f64>> {
        let ratio = |above: Signed<f64>, below: Signed<f64>| {
            let (above, one) = above.with_sign();
            let (below, other) = below.with_sign();
            Signed::new(above / below, one.max(other))
        };
        match &self.metric[..] {
            "loss" => {
                let percent = 100.0 * record.loss();
                record
                    .value("lost")
                    .map(|lost| Signed::new(percent, lost.with_sign().1))
            }
            SPEED_UP => {
                let legacy = record.point.name.replace(&self.of, LEGACY);
                let mut others = run.of(&record.case, &legacy);
                let other = others.find(|other| other.round == record.round)?;
                Some(ratio(other.value(DELAY)?, record.value(DELAY)?))
            }
            other => record.value(other),
        }
    }

    /// The distribution at a point: of the first repeat that counts, or else of the first.
    fn add_distribution(&self, run: &Results, series: &mut OwnSeries) {
        let records = run.of(&self.case, &self.of);
        let with_delay: Vec<_> = records.filter(|record| record.delay.is_some()).collect();
        let counting = with_delay.iter().find(|record| record.is_plain());
        let Some(record) = counting.or(with_delay.first()) else {
            return;
        };
        let Some(delay) = &record.delay else {
            return;
        };
        let shares = match self.axis {
            FigureAxis::Jitter => &delay.jitter_distribution,
            FigureAxis::Distribution
            | FigureAxis::Bytes
            | FigureAxis::Load
            | FigureAxis::Points => &delay.distribution,
        };
        for (ns, share) in shares {
            series.curve.push((*ns as f64 / 1e3, *share));
        }
        for (name, share) in QUANTILES {
            let above = series.curve.iter().find(|(_, until)| *until >= share);
            series.cells.push(Cell {
                name: name.into(),
                x: share,
                value: above.map(|(us, _)| *us),
                sign: record.sign(DELAY),
                word: "-",
            });
        }
    }

    /// Ours as lines, or as bars if there is one value of each. What is no result is not drawn.
    fn plot(&self, anchors: &[&Anchor], all: &[OwnSeries]) -> String {
        let mut drawn = Vec::new();
        for series in all {
            drawn.push(Line {
                name: series.name.clone(),
                points: series.points(),
                is_reference: false,
            });
        }
        let has_lines = drawn.iter().any(|line| line.points.len() > 1);
        if !has_lines || self.axis == FigureAxis::Points {
            return self.bars(all);
        }
        let title = format!("{}: {}", self.id, self.title);
        let x = match self.axis {
            FigureAxis::Load => "Mb/s",
            FigureAxis::Bytes | FigureAxis::Points => "bytes",
            FigureAxis::Distribution | FigureAxis::Jitter => {
                return distributions(&title, &drawn);
            }
        };
        let mut ends = Vec::new();
        for line in &drawn {
            ends.extend(line.points.iter().map(|point| point.0));
        }
        let left = least(&ends);
        let right = greatest(&ends);
        for anchor in anchors {
            drawn.extend(anchor.lines(left, right));
        }
        let axes = Axes {
            title: &title,
            x,
            y: &self.unit,
            log_x: self.axis != FigureAxis::Bytes,
        };
        lines(axes, &drawn)
    }

    fn bars(&self, all: &[OwnSeries]) -> String {
        let mut drawn = Vec::new();
        for (at, series) in all.iter().enumerate() {
            for cell in series.cells.iter().filter(|cell| cell.is_plain()) {
                let Some(value) = cell.value else {
                    continue;
                };
                drawn.push(Bar {
                    group: cell.name.clone(),
                    series: at,
                    name: series.name.clone(),
                    value,
                    range: (value, value),
                });
            }
        }
        if drawn.is_empty() {
            return String::new();
        }
        bars(&format!("{}: {}", self.id, self.title), &self.unit, &drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl PaperFigure {
        /// True if it says whether its delays are one way, also of jitter.
        fn says_way(&self) -> bool {
            self.way.is_some() && self.axis != FigureAxis::Jitter
        }
    }

    use crate::cases::calibration::{Calibration, CalibrationPoint};
    use crate::reports::papers;
    use crate::statistics::Summary;

    fn results(delays_us: [u64; 2], marked: bool) -> Results {
        let record = |bytes, us: u64| ResultRecord {
            case: "action-delay".into(),
            point: Point::of("vlan").bytes(bytes).mbps(USUAL_MBPS),
            round: 1,
            marks: if marked {
                vec!["noisy".into()]
            } else {
                Vec::new()
            },
            delay: Summary::of(&[us * 1_000; 100]),
            ..ResultRecord::default()
        };
        let mut results = Results::without_records("a switch");
        results.records = vec![record(64, delays_us[0]), record(1_514, delays_us[1])];
        results
    }

    fn page(runs: &[Results]) -> String {
        papers::report(&papers::of("004").unwrap(), runs)
    }

    #[test]
    fn each_figure_has_our_values_and_how_they_differ_from_the_text() {
        let page = page(&[results([5, 120], false)]);
        assert!(page.contains("<h3>Fig. 4 (section III)"), "{page}");
        assert!(page.contains("<td>a switch</td><td>5</td><td>120</td>"));
        assert!(page.contains("a switch: 5 us at 64 B; the paper says 30 to 90 us"));
        assert!(page.contains("0.17 times that"));
        // Up to 800 bytes the NetFPGA is below 10 us, and so is ours.
        assert!(page.contains("the paper says 0 to 10 us") && page.contains("ours is within that"));
        assert!(page.contains("<svg"));
    }

    #[test]
    fn what_is_no_result_is_in_parentheses_and_in_no_plot() {
        let page = page(&[results([5, 120], true)]);
        assert!(page.contains("<td>(5)</td><td>(120)</td>"));
        assert!(page.contains("1 of 1 values have a sign, and are left out"));
        assert!(!page.contains("<svg"));
    }

    #[test]
    fn a_load_that_the_instrument_did_not_send_or_lost_is_no_number_without_its_sign() {
        let delay = Summary::of(&[55_000; 100]).unwrap();
        let at = |mbps, rate, loss| CalibrationPoint {
            rate,
            loss,
            ..CalibrationPoint::of(LOAD_BYTES, mbps, &delay)
        };
        let mut run = results([5, 120], false);
        run.calibration = Some(Calibration {
            paths: vec![CalibrationPath {
                name: "wire".into(),
                points: vec![
                    at(20.0, (1e4, 1e4), 0.0),
                    at(50.0, (2e4, 2e4), 0.5),
                    at(100.0, (4e4, 3e4), 0.0),
                ],
            }],
            ..Calibration::default()
        });
        let page = page(&[run]);
        let cells = "wire</td><td>55</td><td>55 (frames lost)</td><td>(55)</td>";
        assert!(page.contains(cells), "{page}");
    }

    #[test]
    fn each_papers_delays_go_the_way_that_it_says() {
        for paper in papers::all() {
            for way in paper
                .figures
                .iter()
                .filter_map(|figure| figure.way.as_ref())
            {
                let is_echo = way.starts_with("round trips");
                assert_eq!(is_echo, paper.echo, "{}: {way}", paper.number);
            }
        }
    }

    #[test]
    fn each_figure_and_band_of_a_paper_belongs_to_a_case_and_a_point() {
        let limits = crate::cases::workbench::Limits::unbounded(false);
        for paper in papers::all() {
            for figure in &paper.figures {
                let mut cases = crate::cases::CASES.iter();
                let case = cases.find(|case| case.name == figure.case).unwrap();
                let points = (case.points)(&limits);
                let is_there = figure.instrument
                    || points
                        .iter()
                        .any(|p| p.kind == figure.of || p.name == figure.of);
                assert!(is_there, "{}: {}", figure.id, figure.of);
                let is_delay = figure.title.contains("delay");
                let is_asked = figure.case == "stats-delay";
                assert_eq!(is_delay && !is_asked, figure.says_way(), "{}", figure.title);
            }
            for anchor in paper.anchors.iter().filter(|anchor| anchor.band.is_some()) {
                let mut figures = paper.figures.iter();
                let is_there =
                    figures.any(|figure| figure.id == anchor.figure && figure.case == anchor.case);
                assert!(is_there, "{}: {}", anchor.figure, anchor.text);
            }
        }
    }
}
