//! The folder of a run: what was measured, on what, with every raw sample.
//!
//! `run.json` has what was requested, and the machine, `calibration.json` what the instrument can
//! do, `results.jsonl` has one object for each result, `results.csv` its numbers, and `raw` a file
//! for each series: nanoseconds as 64-bit numbers, little-endian.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cases::baseline::Baseline;
use crate::cases::calibration::Calibration;
use crate::cases::point::{CaseVerdict, Point, ResultMetric};
use crate::cases::table_size::AT_LEAST;
use crate::error::{Error, Result};
use crate::runs::durable;
use crate::runs::raw::{self, RAW, quoted};
use crate::runs::run_info::RunInfo;
use crate::runs::signed::{NumberSign, SMALL_LOSS, Signed};
use crate::statistics::Summary;

/// The files of a folder.
const RUN: &str = "run.json";
const CALIBRATION: &str = "calibration.json";
const RESULTS: &str = "results.jsonl";
const CSV: &str = "results.csv";
/// The head of the table.
const CSV_HEAD: &str = "case,point,setup,version,round,verdict,marks,metric,unit,value\n";
/// What the table says of delays if more frames were lost than [`SMALL_LOSS`].
const OF_ARRIVED: &str = "frames lost: of those that arrived";

/// One result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultRecord {
    /// The case.
    pub case: String,
    /// The point.
    pub point: Point,
    /// The set-up or the switch.
    pub subject: String,
    /// The version of OpenFlow, if any.
    pub version: Option<String>,
    /// The number of the repeat, from 1.
    pub round: u32,
    /// The verdict on the switch.
    pub verdict: CaseVerdict,
    /// Reasons why it is not a result.
    pub marks: Vec<String>,
    /// Sentences for people.
    pub notes: Vec<String>,
    /// Numbers.
    pub metrics: Vec<ResultMetric>,
    /// Statistics of the delays, nanoseconds.
    pub delay: Option<Summary>,
    /// The file of the delays.
    pub raw: Option<String>,
    /// The file of the flows, if it has some: their sizes and times.
    pub flows: Option<String>,
    /// The wire and the yardstick at the same load in the same round, if the delays are of frames.
    pub baseline: Option<Baseline>,
    /// The distribution of the errors of departures: nanoseconds, and the share up to them.
    #[serde(default)]
    pub departures: Vec<(u64, f64)>,
}

impl ResultRecord {
    /// The value of a metric: one of its own, or `delay`, `mean` or `deviation` for the median, the
    /// mean and the standard deviation of delays in microseconds.
    pub fn value(&self, name: &str) -> Option<Signed<f64>> {
        let value = match name {
            DELAY => self.delay.as_ref()?.p50 / 1e3,
            MEAN => self.delay.as_ref()?.mean / 1e3,
            DEVIATION => self.delay.as_ref()?.deviation / 1e3,
            _ => self.own_value(name)?,
        };
        Some(Signed::new(value, self.sign(name)))
    }

    fn own_value(&self, name: &str) -> Option<f64> {
        let found = self.metrics.iter().find(|metric| metric.name == name);
        found.map(|metric| metric.value)
    }

    /// The sign of a metric.
    pub fn sign(&self, name: &str) -> NumberSign {
        let is_delay = [DELAY, MEAN, DEVIATION].contains(&name);
        if !self.counts() {
            NumberSign::Marked
        } else if self.verdict != CaseVerdict::Ok {
            NumberSign::NotOk
        } else if !is_delay && self.bounds().next().is_some() {
            NumberSign::AtLeast
        } else if is_delay && self.loss() > SMALL_LOSS {
            NumberSign::Lossy
        } else if self.forced().next().is_some() {
            NumberSign::Forced
        } else {
            NumberSign::Plain
        }
    }

    /// The share of frames that were lost.
    pub fn loss(&self) -> f64 {
        let lost = self.own_value("lost").unwrap_or(0.0);
        lost / self.own_value("sent").unwrap_or(0.0).max(1.0)
    }

    /// Returns the reasons for which it would be no result if it were not forced.
    pub fn forced(&self) -> impl Iterator<Item = &str> {
        let notes = self.notes.iter().map(String::as_str);
        notes.filter(|note| note.starts_with(FORCED))
    }

    /// Returns the reasons for which its numbers, but for delays, are only bounds.
    pub fn bounds(&self) -> impl Iterator<Item = &str> {
        let notes = self.notes.iter().map(String::as_str);
        notes.filter(|note| note.starts_with(AT_LEAST))
    }

    /// Returns true if it may be shown as a result, with a sign if it is forced.
    pub fn counts(&self) -> bool {
        self.marks.is_empty()
    }

    /// Returns true if it may be shown as a result without a sign.
    pub fn is_plain(&self) -> bool {
        self.counts() && self.forced().next().is_none()
    }
}

/// The name of the median delay among metrics.
pub const DELAY: &str = "delay";
/// Those of their mean and their standard deviation.
const MEAN: &str = "mean";
/// See [`MEAN`].
const DEVIATION: &str = "deviation";

/// The beginning of a note that says why a forced result would be none.
pub const FORCED: &str = "forced: ";

/// A folder of results.
pub struct Store {
    folder: PathBuf,
}

/// All that a folder has.
pub struct Results {
    /// The request.
    pub info: RunInfo,
    /// The limits of the instrument.
    pub calibration: Option<Calibration>,
    /// The results, in the order in which they were measured.
    pub records: Vec<ResultRecord>,
}

impl Store {
    /// Opens a folder, and makes it if it is not there.
    ///
    /// Errors: the system's.
    pub fn open(folder: &Path) -> Result<Self> {
        let this = Self {
            folder: folder.into(),
        };
        fs::create_dir_all(folder.join(RAW)).map_err(|e| this.failed(RAW, e))?;
        Ok(this)
    }

    /// Keeps other runs out of the folder as long as the file is open.
    ///
    /// Errors: another run is in it.
    pub fn claim(&self) -> Result<File> {
        let raw = File::open(self.folder.join(RAW)).map_err(|e| self.failed(RAW, e))?;
        raw.try_lock().map_err(|_| {
            let folder = self.folder.display();
            format!("another ofmeter writes into {folder}: name another folder by --out")
        })?;
        Ok(raw)
    }

    fn failed(&self, name: &str, error: impl std::fmt::Display) -> Error {
        format!("{}: {error}", self.folder.join(name).display()).into()
    }

    fn write_json(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string_pretty(value).map_err(|e| self.failed(name, e))?;
        self.write(name, &(text + "\n")).map(drop)
    }

    fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let Some(text) = self.read(name)? else {
            return Ok(None);
        };
        let value = serde_json::from_str(&text).map_err(|e| self.failed(name, e))?;
        Ok(Some(value))
    }

    /// Checks that what an earlier session left here can be read, before anything is measured.
    ///
    /// Errors: it cannot.
    pub fn check(&self) -> Result<()> {
        self.read_json::<RunInfo>(RUN)?;
        self.read(RESULTS).map(drop)
    }

    /// Begins a session: writes what was requested, next to the facts of earlier sessions.
    ///
    /// Errors: the system's; results of another subject are there.
    pub fn begin(&self, info: &RunInfo) -> Result<()> {
        let mut info = info.clone();
        if let Some(there) = self.read_json::<RunInfo>(RUN)? {
            if let Some(difference) = there.difference(&info) {
                let what = format!("results of another run are here: {difference}");
                return Err(self.failed(RUN, what));
            }
            info = info.after(there, self.records()?.len());
        }
        self.write_json(RUN, &info)?;
        self.write_csv()
    }

    /// Adds facts to those of this session.
    ///
    /// Errors: the system's; none was begun.
    pub fn add_facts(&self, facts: Vec<String>) -> Result<()> {
        let info: Option<RunInfo> = self.read_json(RUN)?;
        let mut info = info.ok_or_else(|| self.failed(RUN, "no session was begun"))?;
        info.machine.extend(facts);
        self.write_json(RUN, &info)
    }

    /// Writes what the instrument can do.
    ///
    /// Errors: the system's.
    pub fn set_calibration(&self, calibration: &Calibration) -> Result<()> {
        self.write_json(CALIBRATION, calibration)
    }

    /// The limits of the instrument, if they are known.
    ///
    /// Errors: the system's, or a file of another kind.
    pub fn calibration(&self) -> Result<Option<Calibration>> {
        self.read_json(CALIBRATION)
    }

    /// Adds a result with its delays.
    ///
    /// Errors: the system's.
    pub fn add(&self, record: &mut ResultRecord, delays_ns: &[u64]) -> Result<()> {
        if !delays_ns.is_empty() {
            let name = raw::file(&record.case, &record.point, record.round, "ns");
            let bytes: Vec<u8> = delays_ns.iter().flat_map(|ns| ns.to_le_bytes()).collect();
            fs::write(self.path(&name), bytes).map_err(|e| self.failed(&name, e))?;
            record.raw = Some(name);
        }
        let line = serde_json::to_string(record).map_err(|e| self.failed(RESULTS, e))?;
        // Ends a line that was not written whole, so that this one is read.
        let begin = if self.is_cut_off() { "\n" } else { "" };
        self.append(RESULTS, &format!("{begin}{line}\n"))?;
        // However the run ends, the table has what was measured.
        self.append(CSV, &csv_rows(record))
    }

    /// Adds text to a file of the folder.
    fn append(&self, name: &str, text: &str) -> Result<()> {
        let opened = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.path(name));
        let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|e| self.failed(name, e))
    }

    /// Returns true if the results end within a line, as where the disk was full.
    fn is_cut_off(&self) -> bool {
        let text = fs::read(self.folder.join(RESULTS)).unwrap_or_default();
        text.last().is_some_and(|last| *last != b'\n')
    }

    /// The results so far. A line that was not written whole, as by a run that was killed, is left
    /// out.
    ///
    /// Errors: the system's.
    pub fn records(&self) -> Result<Vec<ResultRecord>> {
        let text = self.read(RESULTS)?.unwrap_or_default();
        Ok(text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect())
    }

    /// Returns the path of a file of the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Reads a file of the folder, if it is there.
    ///
    /// Errors: the system's.
    pub fn read(&self, name: &str) -> Result<Option<String>> {
        let path = self.path(name);
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(path).map_err(|e| self.failed(name, e))?;
        Ok(Some(text))
    }

    /// Removes a file of the folder, if it is there.
    ///
    /// Errors: the system's.
    pub fn remove(&self, name: &str) -> Result<()> {
        let path = self.path(name);
        if !path.exists() {
            return Ok(());
        }
        fs::remove_file(path).map_err(|e| self.failed(name, e))
    }

    /// Writes a file of the folder.
    ///
    /// Errors: the system's.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        durable::replace(&self.folder, name, text).map_err(|e| self.failed(name, e))
    }

    /// Writes all numbers as a table for other programs.
    fn write_csv(&self) -> Result<()> {
        let mut text = CSV_HEAD.to_string();
        for record in self.records()? {
            text += &csv_rows(&record);
        }
        self.write(CSV, &text).map(drop)
    }
}

fn csv_rows(record: &ResultRecord) -> String {
    let mut marks: Vec<&str> = record.marks.iter().map(String::as_str).collect();
    marks.extend(record.forced());
    marks.extend(record.bounds());
    let mut rows = rows_of(record, &marks, record.metrics.iter().cloned());
    if let Some(delay) = &record.delay {
        let lost = (record.loss() > SMALL_LOSS).then_some(OF_ARRIVED);
        let signs: Vec<&str> = marks.iter().copied().chain(lost).collect();
        rows += &rows_of(record, &signs, delay_metrics(delay));
    }
    let baseline = record.baseline.iter().flat_map(Baseline::metrics);
    rows + &rows_of(record, &marks, baseline)
}

/// A row for each of some numbers of a result.
fn rows_of(
    record: &ResultRecord,
    marks: &[&str],
    metrics: impl IntoIterator<Item = ResultMetric>,
) -> String {
    let head = [
        &record.case,
        &record.point.name,
        &record.subject,
        record.version.as_ref().unwrap_or(&String::new()),
        &record.round.to_string(),
        &record.verdict.word().to_string(),
        &marks.join("; "),
    ]
    .map(|word| quoted(word))
    .join(",");
    let mut rows = String::new();
    for metric in metrics {
        let name = quoted(&metric.name);
        rows += &format!("{head},{name},{},{}\n", quoted(&metric.unit), metric.value);
    }
    rows
}

/// The statistics of delays as numbers, microseconds.
fn delay_metrics(delay: &Summary) -> Vec<ResultMetric> {
    let all = [
        ("delay, least", delay.min),
        ("delay, mean", delay.mean),
        ("delay, standard deviation", delay.deviation),
        ("delay, p50", delay.p50),
        ("delay, p90", delay.p90),
        ("delay, p99", delay.p99),
        ("delay, p99.9", delay.p999),
        ("delay, most", delay.max),
        ("jitter, p50 of differences", delay.jitter[0]),
        ("jitter, RFC 3550", delay.jitter_rfc3550),
        ("jitter, p99 - p50", delay.jitter_spread),
    ];
    all.map(|(name, ns)| ResultMetric {
        name: name.into(),
        unit: "us".into(),
        value: ns / 1e3,
    })
    .into()
}

impl Results {
    /// Reads a folder.
    ///
    /// Errors: there are no results, or the system's.
    pub fn read(folder: &Path) -> Result<Self> {
        let store = Store {
            folder: folder.into(),
        };
        let info = store.read_json(RUN)?;
        Ok(Self {
            info: info.ok_or_else(|| store.failed(RUN, "there are no results here"))?,
            calibration: store.calibration()?,
            records: store.records()?,
        })
    }

    /// A run of a subject in which nothing was measured yet.
    #[cfg(test)]
    pub fn without_records(subject: &str) -> Self {
        Self {
            info: RunInfo::of_subject(subject),
            calibration: None,
            records: Vec::new(),
        }
    }

    /// All results of one case and point, in the order of rounds; marked ones, too.
    pub fn of<'a>(
        &'a self,
        case: &'a str,
        point: &'a str,
    ) -> impl Iterator<Item = &'a ResultRecord> {
        let all = self.records.iter();
        all.filter(move |record| record.case == case && record.point.name == point)
    }

    /// The points of a case, in the order in which they were measured.
    pub fn points(&self, case: &str) -> Vec<&Point> {
        let mut points: Vec<&Point> = Vec::new();
        for record in self.records.iter().filter(|record| record.case == case) {
            if !points.contains(&&record.point) {
                points.push(&record.point);
            }
        }
        points
    }

    /// The values of a metric at a point here and in another run, of the repeats that have no sign
    /// in both, or only that of the user's force: those of a number have the same load.
    pub fn pairs(
        &self,
        other: &Self,
        case: &str,
        point: &str,
        metric: &str,
    ) -> Signed<Vec<(f64, f64)>> {
        let usable = |record: &ResultRecord| {
            let found = record.value(metric)?.with_sign();
            (found.1 <= NumberSign::Forced).then_some(found)
        };
        let mut pairs = Vec::new();
        let mut sign = NumberSign::Plain;
        for own in self.of(case, point) {
            let mut others = other.of(case, point);
            let same = others.find(|record| record.round == own.round);
            if let Some((one, other)) = usable(own).zip(same.and_then(usable)) {
                pairs.push((one.0, other.0));
                sign = sign.max(one.1).max(other.1);
            }
        }
        Signed::new(pairs, sign)
    }

    /// The values of a metric at a point, of results that count, with the greatest of their signs.
    pub fn values(&self, case: &str, point: &str, metric: &str) -> Signed<Vec<f64>> {
        let counting = self.of(case, point).filter(|record| record.counts());
        let all = counting.filter_map(|record| record.value(metric));
        let (values, signs): (Vec<f64>, Vec<NumberSign>) = all.map(Signed::with_sign).unzip();
        Signed::new(values, signs.into_iter().max().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::held::ScratchFolder;

    #[test]
    fn what_was_forced_says_so_in_each_row_of_the_table_for_programs() {
        let record = ResultRecord {
            case: "action-delay".into(),
            notes: vec![format!("{FORCED}above the limit"), "forwarded".into()],
            metrics: vec![ResultMetric {
                name: "lost".into(),
                unit: "frames".into(),
                value: 1.0,
            }],
            ..ResultRecord::default()
        };
        let rows = csv_rows(&record);
        assert_eq!(
            rows,
            "action-delay,,,,0,ok,forced: above the limit,lost,frames,1\n"
        );
    }

    #[test]
    fn a_bound_says_so_in_each_row_of_the_table_for_programs() {
        let record = ResultRecord {
            case: "pktin-rate".into(),
            notes: vec!["at least: the flood ended the rate".into()],
            metrics: vec![ResultMetric {
                name: "rate".into(),
                unit: "packet-ins/s".into(),
                value: 500.0,
            }],
            ..ResultRecord::default()
        };
        let rows = csv_rows(&record);
        assert_eq!(
            rows,
            "pktin-rate,,,,0,ok,at least: the flood ended the rate,rate,packet-ins/s,500\n"
        );
    }

    #[test]
    fn delays_of_a_load_with_losses_say_so_in_the_table_for_programs() {
        let signs = |lost| {
            let counts = [("sent", 1_000.0), ("lost", lost)];
            let record = ResultRecord {
                metrics: counts
                    .map(|(name, value)| ResultMetric {
                        name: name.into(),
                        unit: "frames".into(),
                        value,
                    })
                    .into(),
                delay: Summary::of(&[1_000, 2_000, 3_000]),
                ..ResultRecord::default()
            };
            let rows = csv_rows(&record);
            let has_sign = |row: &&str| row.contains(OF_ARRIVED);
            let (with, without): (Vec<&str>, Vec<&str>) = rows.lines().partition(has_sign);
            assert!(with.iter().all(|row| row.contains(",us,")), "{rows}");
            (with.len(), without.len())
        };
        assert_eq!(signs(1.0), (0, 13));
        assert_eq!(signs(930.0), (11, 2));
    }

    #[test]
    fn each_session_keeps_its_facts_and_those_that_differ_are_said() {
        let folder = ScratchFolder::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let session = |kernel: &str, load: &str| {
            let mut info = RunInfo::of_subject("a switch");
            info.machine = vec![format!("kernel: {kernel}"), format!("load: {load}")];
            store.begin(&info).unwrap();
        };
        let info = || Results::read(folder.path()).unwrap().info;
        session("6.1", "4");
        for _ in 0..2 {
            store.add(&mut ResultRecord::default(), &[]).unwrap();
        }
        store.add_facts(vec!["at the end: load: 5".into()]).unwrap();
        session("6.1", "1");
        assert_eq!(info().changes(), [""; 0], "the load is another each time");
        store.add(&mut ResultRecord::default(), &[]).unwrap();
        // Nothing is measured in the third.
        session("6.3", "1");
        session("6.2", "0");
        let info = info();
        let loads: Vec<&str> = info.earlier.iter().map(|one| &one.machine[1][..]).collect();
        assert_eq!(loads, ["load: 4", "load: 1"]);
        assert_eq!(info.earlier[0].machine[2], "at the end: load: 5");
        let said = |results: &str| {
            format!("{results} in other conditions: kernel: 6.1, and not kernel: 6.2.")
        };
        let said = [
            "Results 1 to 2 were measured",
            "Results 3 to 3 were measured",
        ]
        .map(said);
        assert_eq!(info.changes(), said);
    }

    #[test]
    fn a_record_of_a_run_that_cannot_be_read_is_found_before_anything_is_measured() {
        let folder = ScratchFolder::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store.check().unwrap();
        store.begin(&RunInfo::of_subject("a switch")).unwrap();
        store.check().unwrap();
        fs::write(folder.path().join(RUN), "{").unwrap();
        let said = store.check().unwrap_err().to_string();
        assert!(said.contains(RUN), "{said}");
    }

    #[test]
    fn a_line_that_was_cut_off_takes_no_other_with_it() {
        let folder = ScratchFolder::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let claim = store.claim().unwrap();
        assert!(store.claim().unwrap_err().to_string().contains("--out"));
        drop(claim);
        store.claim().unwrap();
        let mut measured = ResultRecord {
            delay: Summary::of(&[1_000]),
            ..ResultRecord::default()
        };
        store.add(&mut measured, &[]).unwrap();
        let path = folder.path().join(RESULTS);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}{}", &text[..20])).unwrap();
        store.add(&mut ResultRecord::default(), &[]).unwrap();
        assert_eq!(store.records().unwrap().len(), 2);
        // The table for programs is there before the run ends.
        let table = fs::read_to_string(folder.path().join(CSV)).unwrap();
        assert!(table.contains("\"delay, p50\",us,1\n"), "{table}");
    }
}
