//! Distributions that intervals need: Student's t, the beta and the binomial distribution.

/// Terms of the continued fraction at most, and when it has converged.
const MAX_TERMS: usize = 10_000;
const CONVERGED: f64 = 1e-15;
/// Keeps a denominator from being zero (modified Lentz).
const TINY: f64 = 1e-300;
/// Halvings that take any interval of `f64` below its resolution.
const HALVINGS: usize = 200;
/// Lanczos' coefficients for g = 7, n = 9 (P. Godfrey).
const LANCZOS_G: f64 = 7.0;
const LANCZOS: [f64; 9] = [
    0.999_999_999_999_809_9,
    676.520_368_121_885_1,
    -1_259.139_216_722_402_8,
    771.323_428_777_653_1,
    -176.615_029_162_140_6,
    12.507_343_278_686_905,
    -0.138_571_095_265_720_12,
    9.984_369_578_019_572e-6,
    1.505_632_735_149_311_6e-7,
];

/// The logarithm of the gamma function of `x`, which is at least 0.5.
fn ln_gamma(x: f64) -> f64 {
    let x = x - 1.0;
    let mut sum = LANCZOS[0];
    for (at, coefficient) in LANCZOS.iter().enumerate().skip(1) {
        sum += coefficient / (x + at as f64);
    }
    let t = x + LANCZOS_G + 0.5;
    0.5 * std::f64::consts::TAU.ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// The regularised incomplete beta function I_x(a, b), by its continued fraction (DLMF 8.17.22).
///
/// Units: `x` from 0 to 1; `a` and `b` are at least 0.5.
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast on this side only (DLMF 8.17.4).
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let ln_beta = ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
    let front = (a * x.ln() + b * (1.0 - x).ln() - ln_beta).exp() / a;
    front * fraction(a, b, x)
}

fn nonzero(value: f64) -> f64 {
    if value.abs() < TINY { TINY } else { value }
}

/// The continued fraction, by the modified algorithm of Lentz.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in (1..MAX_TERMS).map(|m| m as f64) {
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = value;
        for term in [even, odd] {
            d = 1.0 / nonzero(1.0 + term * d);
            c = nonzero(1.0 + term / c);
            value *= c * d;
        }
        if (value / before - 1.0).abs() < CONVERGED {
            break;
        }
    }
    value
}

/// The argument between `low` and `high` at which a rising function has this value.
fn inverse(mut low: f64, mut high: f64, wanted: f64, rising: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if rising(middle) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// The probability that Student's t with `freedom` degrees of freedom is at most `t`.
pub fn student_t(t: f64, freedom: f64) -> f64 {
    let tail = incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t)) / 2.0;
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// The two-sided critical value of Student's t: 99 % of it lie within for `confidence` 0.99.
pub fn student_t_critical(confidence: f64, freedom: f64) -> f64 {
    inverse(0.0, 1e4, (1.0 + confidence) / 2.0, |t| {
        student_t(t, freedom)
    })
}

/// The value below which a beta-distributed number is with this probability.
fn beta_quantile(probability: f64, a: f64, b: f64) -> f64 {
    inverse(0.0, 1.0, probability, |x| incomplete_beta(a, b, x))
}

/// The exact interval of a share of which `hits` were seen in `trials` (Clopper and Pearson, 1934).
pub fn share_interval(hits: u64, trials: u64, confidence: f64) -> (f64, f64) {
    let tail = (1.0 - confidence) / 2.0;
    let hit = hits as f64;
    let miss = (trials - hits) as f64;
    let low = match hits {
        0 => 0.0,
        _ => beta_quantile(tail, hit, miss + 1.0),
    };
    let high = match trials - hits {
        0 => 1.0,
        _ => beta_quantile(1.0 - tail, hit + 1.0, miss),
    };
    (low, high)
}

/// The least count that a binomial number of `trials` does not exceed with this probability.
pub fn binomial_quantile(probability: f64, trials: u64, share: f64) -> u64 {
    let mut low = 0;
    let mut high = trials;
    while low < high {
        let middle = low + (high - low) / 2;
        let at_most = match trials - middle {
            0 => 1.0,
            more => incomplete_beta(more as f64, middle as f64 + 1.0, 1.0 - share),
        };
        if at_most < probability {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
