//! Axes: what they are called, where values lie on them, which values are written beside them.

/// One axis.
#[derive(Clone, Debug)]
pub struct Axis {
    label: String,
    scale: Scale,
    from: f64,
    to: f64,
    ticks: Vec<(f64, String)>,
}

#[derive(Clone, Copy, Debug)]
enum Scale {
    Linear,
    Logarithmic,
}

impl Axis {
    /// From 0 to 100 %.
    pub fn shares(label: impl Into<String>) -> Self {
        let tick = |i: i32| (f64::from(i) / 5.0, format!("{} %", 20 * i));
        Self::new(label, Scale::Linear, (0.0, 1.0), (0..=5).map(tick).collect())
    }

    /// Part of the way from 0 to 100 %, where all values lie in a narrow band.
    pub fn share_of(label: impl Into<String>, low: f64, high: f64) -> Self {
        let step = round_step(100.0 * (high - low).max(1e-4));
        let (low, high) = ((100.0 * low / step).floor() * step, (100.0 * high / step).ceil() * step);
        let (low, high) = (low.max(0.0), high.min(100.0).max(low + step));
        let ticks =
            ticks(low, high, step).into_iter().map(|(value, words)| (value / 100.0, format!("{words} %")));
        Self::new(label, Scale::Linear, (low / 100.0, high / 100.0), ticks.collect())
    }

    /// From the round number below `low` to that above `high`.
    pub fn linear(label: impl Into<String>, low: f64, high: f64) -> Self {
        // Values that are all the same still need an axis.
        let span = (high - low).max(1e-6 * high.abs()).max(1e-300);
        let span = if high == low { span.max(0.5 * high.abs()) } else { span };
        let step = round_step(if span <= 1e-300 { 1.0 } else { span });
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        let high = if high > low { high } else { low + step };
        Self::new(label, Scale::Linear, (low, high), ticks(low, high, step))
    }

    /// Whole numbers from `first` to `last`, and no further.
    pub fn steps(label: impl Into<String>, first: f64, last: f64) -> Self {
        let last = if last > first { last } else { first + 1.0 };
        let step = round_step(last - first).max(1.0);
        let from = (first / step).ceil();
        let inside = (0..20).map(|i| step * (from + f64::from(i))).take_while(|value| *value <= last);
        let ticks = inside.map(|value| (value, grouped(value as u64))).collect();
        Self::new(label, Scale::Linear, (first, last), ticks)
    }

    /// Powers of ten, from 10^low to 10^high; about six of them are written.
    pub fn decades(label: impl Into<String>, low: i32, high: i32) -> Self {
        let step = ((high - low + 5) / 6).max(1) as usize;
        let tick = |power: i32| (10f64.powi(power), power_of_ten(power));
        let ticks = (low..=high).step_by(step).map(tick).collect();
        Self::new(label, Scale::Logarithmic, (10f64.powi(low), 10f64.powi(high)), ticks)
    }

    /// Powers of ten around all `values` above 0.
    pub fn decades_around(label: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        let values = values.into_iter().filter(|value| *value > 0.0 && value.is_finite());
        let ends = values.fold(None, |ends: Option<(f64, f64)>, value| {
            Some(ends.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        });
        let (low, high) = ends.unwrap_or((1.0, 10.0));
        let low = low.log10().floor() as i32;
        Self::decades(label, low, (high.log10().ceil() as i32).max(low + 1))
    }

    fn new(
        label: impl Into<String>,
        scale: Scale,
        (from, to): (f64, f64),
        ticks: Vec<(f64, String)>,
    ) -> Self {
        Self { label: label.into(), scale, from, to, ticks }
    }

    /// What it is called.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Values that are written beside it, and their words.
    pub fn ticks(&self) -> &[(f64, String)] {
        &self.ticks
    }

    /// Between 0 and 1; what lies outside is drawn at the end.
    pub fn place(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Logarithmic => (value / self.from).ln() / (self.to / self.from).ln(),
        };
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }
}

/// 1, 2 or 5 times a power of ten, of which a span has two to five.
fn round_step(span: f64) -> f64 {
    let rough = span / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| rough <= 1.25 * digit * power).unwrap_or(10.0);
    digit * power
}

fn ticks(low: f64, high: f64, step: f64) -> Vec<(f64, String)> {
    let count = ((high - low) / step).round().clamp(1.0, 20.0) as u32;
    let digits = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    let words = |value: f64| {
        let plain = format!("{value:.digits$}");
        if (1e-6..1e6).contains(&step) || value == 0.0 { plain } else { format!("{value:.0e}") }
    };
    let at = |i: u32| low + step * f64::from(i);
    (0..=count).map(|i| (at(i), words(at(i)))).collect()
}

/// A whole number in groups of three digits, with thin spaces at which no line ends.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let groups = digits.as_bytes().rchunks(3).rev();
    groups.map(|group| str::from_utf8(group).unwrap_or("")).collect::<Vec<_>>().join("\u{202f}")
}

fn power_of_ten(power: i32) -> String {
    let raised = |digit: char| match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        // The other superscripts follow one another; the character is a digit of an integer.
        digit => char::from_u32(0x2070 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
    };
    match power {
        0 => "1".to_owned(),
        _ => format!("10{}", power.to_string().chars().map(raised).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(axis: &Axis) -> Vec<&str> {
        axis.ticks().iter().map(|(_, words)| words.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_enclose_the_values() {
        assert_eq!(words(&Axis::linear("", 0.31, 0.693)), ["0.3", "0.4", "0.5", "0.6", "0.7"]);
        assert_eq!(words(&Axis::steps("", 0.0, 14063.0)), ["0", "5000", "10\u{202f}000"]);
        assert_eq!(
            words(&Axis::decades("", -12, 0)),
            ["10⁻¹²", "10⁻¹⁰", "10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "1"]
        );
        assert_eq!(words(&Axis::share_of("", 0.84, 0.912)), ["84 %", "86 %", "88 %", "90 %", "92 %"]);
    }

    #[test]
    fn decades_enclose_the_values() {
        assert_eq!(
            words(&Axis::decades_around("", [0.02, 3.0, 0.0, f64::NAN])),
            ["10⁻²", "10⁻¹", "1", "10¹"]
        );
        assert_eq!(words(&Axis::decades_around("", [100.0])), ["10²", "10³"]);
        assert_eq!(words(&Axis::decades_around("", [])), ["1", "10¹"]);
    }

    #[test]
    fn counts_are_grouped() {
        let shown = |number: u64| grouped(number).replace('\u{202f}', " ");
        assert_eq!(
            (shown(9999), shown(14_063), shown(1_234_567)),
            ("9999".into(), "14 063".into(), "1 234 567".into())
        );
    }

    #[test]
    fn any_values_have_an_axis() {
        for (low, high) in
            [(0.0, 0.0), (1.0, 1.0), (-3.0, -3.0), (1e-9, 2e-9), (0.0, 1e300), (5e-324, 1e-320)]
        {
            let axis = Axis::linear("", low, high);
            assert!((2..=21).contains(&axis.ticks().len()), "{axis:?}");
            assert!(axis.place(low) >= 0.0 && axis.place(high) <= 1.0 && axis.place(low) <= axis.place(high));
            assert!(axis.ticks().iter().all(|(value, _)| value.is_finite()), "{axis:?}");
        }
        assert!(Axis::share_of("", 1.0, 1.0).ticks().len() >= 2);
        assert!(Axis::share_of("", 0.0, 0.0).ticks().len() >= 2);
    }
}
