//! What came of a bench: a table, JSON and plots, each figure beside the yardstick's.

use std::collections::BTreeMap;
use std::path::Path;

use plotters::prelude::*;
use serde::Serialize;

use crate::case::Case;
use crate::setup::Setup;

/// The first lines of the table.
const HEAD: &str = "\
| case | figure | set-up | median | least | most | ratio |
|---|---|---|---|---|---|---|
";
/// Width and height of a plot, in pixels.
const SIZE: (u32, u32) = (800, 420);

/// The figures of one metric of one case.
#[derive(Clone, Debug, Serialize)]
struct Figure {
    case: &'static str,
    title: &'static str,
    counts: &'static str,
    parameter: u32,
    metric: &'static str,
    unit: &'static str,
    setup: &'static str,
    /// One a round.
    values: Vec<f64>,
    median: f64,
    min: f64,
    max: f64,
    /// The median over the yardstick's; of a switch alone, over Open vSwitch's.
    ratio: Option<f64>,
}

/// All figures, in the order in which they came.
#[derive(Default)]
pub struct Report {
    order: Vec<(&'static str, u32, &'static str)>,
    figures: BTreeMap<(&'static str, u32, &'static str, Setup), Figure>,
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

impl Report {
    /// Adds the figures of one turn.
    pub fn add(&mut self, case: &Case, parameter: u32, setup: Setup, figures: &[f64]) {
        for (&(metric, unit), &value) in case.metrics.iter().zip(figures) {
            let row = (case.name, parameter, metric);
            if !self.order.contains(&row) {
                self.order.push(row);
            }
            let key = (case.name, parameter, metric, setup);
            let figure = self.figures.entry(key).or_insert_with(|| Figure {
                case: case.name,
                title: case.title,
                counts: case.parameters.0,
                parameter,
                metric,
                unit,
                setup: setup.name(),
                values: Vec::new(),
                median: value,
                min: value,
                max: value,
                ratio: None,
            });
            figure.values.push(value);
            figure.median = median(&figure.values);
            figure.min = figure.min.min(value);
            figure.max = figure.max.max(value);
        }
    }

    /// A figure of one set-up.
    fn of(&self, row: (&'static str, u32, &'static str), setup: Setup) -> Option<&Figure> {
        self.figures.get(&(row.0, row.1, row.2, setup))
    }

    /// A median over that of the yardstick, or of Open vSwitch where there is no yardstick.
    fn ratio(&self, row: (&'static str, u32, &'static str), setup: Setup) -> Option<f64> {
        let base = [Setup::Yardstick, Setup::Ovs, Setup::OvsTso];
        let base = base.iter().find_map(|setup| self.of(row, *setup))?;
        let own = self.of(row, setup)?;
        (base.median > 0.0 && own.median > 0.0).then(|| own.median / base.median)
    }

    /// A table for people: medians, spread, ratios.
    pub fn table(&self) -> String {
        let mut text = HEAD.to_string();
        for &row in &self.order {
            for setup in Setup::ALL {
                let Some(figure) = self.of(row, setup) else {
                    continue;
                };
                let case = match figure.counts {
                    "" => figure.case.to_string(),
                    counts => format!("{} ({} {counts})", figure.case, figure.parameter),
                };
                let ratio = self.ratio(row, setup);
                let ratio = ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}"));
                text += &format!(
                    "| {case} | {}, {} | {} | {:.1} | {:.1} | {:.1} | {ratio} |\n",
                    figure.metric, figure.unit, figure.setup, figure.median, figure.min, figure.max
                );
            }
        }
        text
    }

    /// Writes `bench.md`, `bench.json` and a plot for each case and figure into a folder.
    ///
    /// Errors: the system's.
    pub fn write(&self, folder: &Path) -> Result<(), String> {
        let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", folder.display());
        std::fs::create_dir_all(folder).map_err(|e| failed(&e))?;
        std::fs::write(folder.join("bench.md"), self.table()).map_err(|e| failed(&e))?;
        let figures = self.figures.iter().map(|(key, figure)| Figure {
            ratio: self.ratio((key.0, key.1, key.2), key.3),
            ..figure.clone()
        });
        let figures: Vec<Figure> = figures.collect();
        let json = serde_json::to_string_pretty(&figures).map_err(|e| failed(&e))?;
        std::fs::write(folder.join("bench.json"), json).map_err(|e| failed(&e))?;
        let mut plotted: Vec<(&str, &str)> = Vec::new();
        for &(case, _, metric) in &self.order {
            if !plotted.contains(&(case, metric)) {
                plotted.push((case, metric));
                let path = folder.join(format!("{case}-{metric}.svg"));
                self.plot(case, metric, &path).map_err(|e| failed(&e))?;
            }
        }
        Ok(())
    }

    /// Draws bars: a group for each parameter, a bar for each set-up.
    fn plot(
        &self,
        case: &str,
        metric: &str,
        path: &Path,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let mine = |f: &&Figure| f.case == case && f.metric == metric;
        let figures: Vec<&Figure> = self.figures.values().filter(mine).collect();
        let Some(first) = figures.first() else {
            return Ok(());
        };
        let mut parameters: Vec<u32> = figures.iter().map(|f| f.parameter).collect();
        parameters.dedup();
        let highest = figures
            .iter()
            .map(|f| f.max)
            .fold(f64::MIN_POSITIVE, f64::max);
        let area = SVGBackend::new(path, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let slots = Setup::ALL.len() + 1;
        let width = parameters.len() * slots;
        let mut chart = ChartBuilder::on(&area)
            .caption(format!("{}: {metric}", first.title), ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(70)
            .build_cartesian_2d(0f64..width as f64, 0f64..highest * 1.1)?;
        let label = |at: &f64| {
            let group = (*at / slots as f64) as usize;
            let is_middle = (*at as usize) % slots == slots / 2;
            match parameters
                .get(group)
                .filter(|_| is_middle && !first.counts.is_empty())
            {
                Some(parameter) => format!("{parameter} {}", first.counts),
                None => String::new(),
            }
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(width + 1)
            .x_label_formatter(&label)
            .y_desc(first.unit)
            .draw()?;
        for (place, setup) in Setup::ALL.into_iter().enumerate() {
            let colour = Palette99::pick(place).mix(0.85);
            let bars = figures.iter().filter(|f| f.setup == setup.name());
            let bars: Vec<_> = bars
                .map(|figure| {
                    let group = parameters.iter().position(|p| *p == figure.parameter);
                    let left = (group.unwrap_or(0) * slots + place) as f64 + 0.1;
                    let bar = [(left, 0.0), (left + 0.8, figure.median)];
                    Rectangle::new(bar, colour.filled())
                })
                .collect();
            if bars.is_empty() {
                continue;
            }
            chart
                .draw_series(bars)?
                .label(setup.name())
                .legend(move |(x, y)| {
                    Rectangle::new([(x, y - 5), (x + 10, y + 5)], colour.filled())
                });
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.8))
            .position(SeriesLabelPosition::UpperRight)
            .draw()?;
        area.present()?;
        Ok(())
    }
}
