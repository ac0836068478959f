//! Our plots as PDF: the few shapes of SVG that these are drawn with, and their text in Helvetica.

use std::fmt::Write;

use crate::error::Result;
use crate::reports::markdown::plain;
use crate::reports::plot::title;

/// Points of a pixel of a plot: 96 pixels and 72 points are an inch.
const POINTS: f64 = 0.75;
/// The height of a small letter of Helvetica, as a share of the size of its text.
const EX: f64 = 0.523;
/// How far a circle's control points are from its corners, as a share of its radius.
const BEND: f64 = 0.5523;
/// The widths of Helvetica's characters from space to tilde, in thousandths of the size.
/// Source: Adobe Core 14 AFM, Helvetica.afm.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
/// The width of a character of Latin-1 that is not in [`WIDTHS`].
const USUAL_WIDTH: u16 = 556;

/// An element of a plot: its tag, and the text after it.
struct SvgElement<'a> {
    tag: &'a str,
    text: &'a str,
}

impl<'a> SvgElement<'a> {
    fn name(&self) -> &'a str {
        self.tag.split([' ', '/']).next().unwrap_or_default()
    }

    fn word(&self, name: &str) -> Option<&'a str> {
        let begin = format!(" {name}=\"");
        self.tag.split_once(&begin)?.1.split('"').next()
    }

    /// A number that it has, or zero.
    fn number(&self, name: &str) -> f64 {
        let found = self.word(name).and_then(|word| word.parse().ok());
        found.unwrap_or(0.0)
    }

    /// A colour as three shares. Plots are drawn on white, and what shines through is lighter.
    fn colour(&self, name: &str) -> Option<String> {
        let rgb = u32::from_str_radix(self.word(name)?.strip_prefix('#')?, 16).ok()?;
        let opacity = self.word("opacity").map_or(1.0, |_| self.number("opacity"));
        let shares = [16, 8, 0].map(|shift| {
            let share = f64::from(rgb >> shift & 0xff) / 255.0;
            format!("{:.3}", share * opacity + 1.0 - opacity)
        });
        Some(shares.join(" "))
    }

    /// Draws a path: filled, or as a stroke.
    fn painted(&self, path: &str) -> String {
        if let Some(fill) = self.colour("fill") {
            return format!("{fill} rg\n{path}f\n");
        }
        let stroke = self.colour("stroke").unwrap_or_else(|| "0 0 0".into());
        let width = self.word("stroke-width").unwrap_or("1");
        format!("{stroke} RG {width} w\n{path}S\n")
    }

    fn rectangle(&self) -> String {
        let [x, y, width, height] = ["x", "y", "width", "height"].map(|name| self.number(name));
        self.painted(&format!("{x} {y} {width} {height} re\n"))
    }

    fn line(&self) -> String {
        let [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map(|name| self.number(name));
        self.painted(&format!("{x1} {y1} m\n{x2} {y2} l\n"))
    }

    /// A path through points that are `x,y` each.
    fn points(&self) -> String {
        let mut path = String::new();
        for point in self.word("points").unwrap_or_default().split_whitespace() {
            let verb = if path.is_empty() { "m" } else { "l" };
            path += &format!("{} {verb}\n", point.replace(',', " "));
        }
        self.painted(&path)
    }

    /// Four curves.
    fn circle(&self) -> String {
        let [x, y, r] = ["cx", "cy", "r"].map(|name| self.number(name));
        let mut path = format!("{} {y} m\n", x + r);
        for (dx, dy) in [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)] {
            // The next quarter ends where this direction, turned by a right angle, has its end.
            let (nx, ny) = (-dy, dx);
            let corners = [
                (dx + BEND * nx, dy + BEND * ny),
                (nx + BEND * dx, ny + BEND * dy),
                (nx, ny),
            ];
            for (cx, cy) in corners {
                path += &format!("{:.3} {:.3} ", x + r * cx, y + r * cy);
            }
            path += "c\n";
        }
        self.painted(&path)
    }

    fn words(&self) -> String {
        let words = plain(self.text.trim());
        let size = self.number("font-size");
        let along = match self.word("text-anchor") {
            Some("middle") => -0.5 * width(&words, size),
            Some("end") => -width(&words, size),
            Some(_) | None => 0.0,
        };
        let down = self.word("dy").map_or(0.0, |dy| em(dy) * size);
        let (sin, cos) = self.angle().to_radians().sin_cos();
        let x = self.number("x") + along * cos - down * sin;
        let y = self.number("y") + along * sin + down * cos;
        let colour = self.colour("fill").unwrap_or_else(|| "0 0 0".into());
        format!(
            "BT\n{colour} rg /F1 {size:.2} Tf\n{cos:.3} {sin:.3} {sin:.3} {:.3} {x:.2} {y:.2} Tm\n\
             ({}) Tj\nET\n",
            -cos,
            literal(&words)
        )
    }

    /// By how many degrees the text is turned.
    fn angle(&self) -> f64 {
        let turned = self.word("transform").unwrap_or_default();
        let angle = turned.strip_prefix("rotate(").unwrap_or_default();
        let first = angle.split(',').next().unwrap_or_default();
        first.parse().unwrap_or(0.0)
    }
}

/// A length in `em` or `ex`, as a share of the size of text.
fn em(length: &str) -> f64 {
    let parsed = |number: &str| number.parse().unwrap_or(0.0);
    match length.strip_suffix("ex") {
        Some(number) => parsed(number) * EX,
        None => parsed(length.trim_end_matches("em")),
    }
}

/// The width of words of this size.
fn width(words: &str, size: f64) -> f64 {
    let widths = words.chars().map(|one| {
        let place = (one as usize).checked_sub(' ' as usize);
        let known = place.and_then(|place| WIDTHS.get(place));
        f64::from(*known.unwrap_or(&USUAL_WIDTH))
    });
    widths.sum::<f64>() / 1e3 * size
}

/// Words as a string of PDF, in Latin-1; what that lacks is a question mark.
fn literal(words: &str) -> String {
    let mut text = String::new();
    for one in words.chars() {
        match u32::from(one) {
            0x28 | 0x29 | 0x5c => text.extend(['\\', one]),
            0x20..=0x7e => text.push(one),
            code @ 0xa0..=0xff => text += &format!("\\{code:03o}"),
            _ => text.push('?'),
        }
    }
    text
}

/// A plot of [`crate::reports::plot`] as a PDF of one page, without compression. Its font is one of
/// those that each viewer has, and is not embedded.
///
/// Errors: a shape that no plot of ours has.
pub fn pdf(svg: &str) -> Result<String> {
    let mut drawing = String::new();
    let (mut wide, mut high) = (0.0, 0.0);
    for piece in svg.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap_or((piece, ""));
        let element = SvgElement { tag, text };
        match element.name() {
            "svg" => (wide, high) = (element.number("width"), element.number("height")),
            "rect" => drawing += &element.rectangle(),
            "line" => drawing += &element.line(),
            "polyline" | "polygon" => drawing += &element.points(),
            "circle" => drawing += &element.circle(),
            "text" => drawing += &element.words(),
            // The title, and ends of elements.
            "title" | "" => {}
            other => return Err(format!("a plot has {other}, of which no PDF is made").into()),
        }
    }
    let (wide, high) = (wide * POINTS, high * POINTS);
    // SVG counts from the top.
    let drawing = format!("{POINTS} 0 0 -{POINTS} 0 {high} cm\n{drawing}");
    Ok(file(&[
        "<< /Type /Catalog /Pages 2 0 R >>".into(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".into(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {wide} {high}] /Contents 4 0 R \
             /Resources << /Font << /F1 5 0 R >> >> >>"
        ),
        format!(
            "<< /Length {} >>\nstream\n{drawing}\nendstream",
            drawing.len()
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".into(),
        format!("<< /Title ({}) >>", literal(&plain(title(svg)))),
    ]))
}

/// A file of objects, the first of which is the catalog and the last the information. Spec: ISO
/// 32000-1 section 7.5.
fn file(objects: &[String]) -> String {
    let mut text = "%PDF-1.4\n".to_string();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (index, object) in objects.iter().enumerate() {
        let _ = writeln!(table, "{:010} 00000 n ", text.len());
        let _ = write!(text, "{} 0 obj\n{object}\nendobj\n", index + 1);
    }
    let start = text.len();
    let count = objects.len();
    text + &table
        + &format!(
            "trailer\n<< /Size {} /Root 1 0 R /Info {count} 0 R >>\nstartxref\n{start}\n%%EOF\n",
            count + 1
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::plot::{Axes, Bar, Line, Stack, bars, distributions, signed_lines, stacks};

    fn line(name: &str, is_reference: bool) -> Line {
        Line {
            name: name.into(),
            points: vec![(1.0, 2.0), (10.0, 3.0), (100.0, 50.0)],
            is_reference,
        }
    }

    #[test]
    fn each_kind_of_plot_is_a_pdf_with_all_its_words_and_offsets_that_are_right() {
        let axes = Axes {
            title: "delays (50 %)",
            x: "Mb/s",
            y: "mean, us",
            log_x: true,
        };
        let drawn = [line("ours", false), line("theirs", true)];
        let bar = Bar {
            group: "10 %".into(),
            series: 0,
            name: "bofuss (at least)".into(),
            value: 3.0,
            range: (2.0, 4.0),
        };
        let plots = [
            signed_lines(axes, &drawn, &[vec![(5.0, 9.0)]]),
            distributions("distribution", &drawn),
            bars("bars", "us", &[bar]),
            stacks(
                "stacks",
                "ns",
                &[Stack::new("one", &[("a", 1.0), ("b", 2.0)])],
            ),
        ];
        for svg in plots {
            let made = pdf(&svg).unwrap();
            assert!(made.is_ascii() && made.starts_with("%PDF-1.4\n"));
            assert!(made.ends_with("%%EOF\n") && !made.contains("NaN"));
            let texts = svg.split("<text").skip(1);
            for words in texts.map(|text| text.split(['>', '<']).nth(1).unwrap()) {
                let shown = format!("({}) Tj", literal(&plain(words.trim())));
                assert!(made.contains(&shown), "{shown}");
            }
            let start: usize = made.lines().rev().nth(1).unwrap().parse().unwrap();
            assert!(made[start..].starts_with("xref\n0 7\n"));
            for (index, entry) in made[start..].lines().skip(3).take(6).enumerate() {
                let at: usize = entry[..10].parse().unwrap();
                assert!(made[at..].starts_with(&format!("{} 0 obj\n", index + 1)));
            }
            let (_, stream) = made.split_once(" >>\nstream\n").unwrap();
            let (drawing, _) = stream.split_once("\nendstream").unwrap();
            assert!(made.contains(&format!("/Length {} >>", drawing.len())));
        }
    }

    #[test]
    fn words_end_where_they_are_to_end_and_a_turned_one_reads_upwards() {
        let end = r##"<svg width="8" height="4"><text x="100" y="50" dy="0.5ex"
 text-anchor="end" font-size="10" opacity="1" fill="#000000">
a(b
</text></svg>"##
            .replace("\n text-anchor", " text-anchor");
        let made = pdf(&end).unwrap();
        // a, parenthesis and b are 1,445 thousandths wide.
        assert!(made.contains("-1.000 85.55 52.62 Tm\n(a\\(b) Tj"), "{made}");
        let turned = end.replace(" fill=", " transform=\"rotate(270, 100, 50)\" fill=");
        let made = pdf(&turned).unwrap();
        assert!(
            made.contains("-1.000 -1.000 0.000 102.61 64.45 Tm"),
            "{made}"
        );
    }

    #[test]
    fn a_shape_that_is_not_known_is_an_error_and_not_left_out() {
        let failed = pdf("<svg width=\"8\" height=\"4\"><image href=\"x\"/></svg>");
        assert!(failed.unwrap_err().to_string().contains("image"));
    }
}
