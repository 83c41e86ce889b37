//! Random nested events, and what must hold between the accountants' answers about one.

use sordino_privacy::{AccountError, Accountant, Claim, Cost, Delta, Epsilon, accounting};

/// A splitmix generator: the same events on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Log-uniform.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + self.uniform() * (high / low).ln()).exp()
    }

    fn count(&mut self, high: f64) -> u64 {
        self.between(1.0, high) as u64
    }

    /// One release with noise, or a promise.
    fn leaf(&mut self, replace: bool) -> String {
        match self.below(if replace { 9 } else { 8 }) {
            0 | 1 => format!(r#"{{"type":"gaussian","noise_multiplier":{}}}"#, self.between(0.3, 30.0)),
            2 => format!(r#"{{"type":"laplace","noise_multiplier":{}}}"#, self.between(0.3, 100.0)),
            3 => format!(r#"{{"type":"pure","epsilon":{}}}"#, self.between(1e-4, 5.0)),
            4 => format!(
                r#"{{"type":"approximate","epsilon":{},"delta":{}}}"#,
                self.between(1e-3, 2.0),
                self.between(1e-12, 1e-6)
            ),
            5 => format!(r#"{{"type":"exponential","epsilon":{}}}"#, self.between(1e-3, 5.0)),
            6 => format!(r#"{{"type":"gdp","mu":{}}}"#, self.between(1e-3, 10.0)),
            7 => format!(
                r#"{{"type":"discrete_laplace","scale":{},"sensitivity":{}}}"#,
                self.between(0.3, 50.0),
                1 + self.below(4)
            ),
            _ => {
                let categories = 2 + self.below(8);
                let least = 1.0 / categories as f64;
                let truth = least + (0.999 - least) * self.uniform();
                format!(
                    r#"{{"type":"randomized_response","categories":{categories},
                    "truth_probability":{truth}}}"#
                )
            }
        }
    }

    /// A release on a sample, a group, a tree, reports, bins.
    fn release(&mut self, neighbours: &str) -> String {
        let replace = neighbours == "replace";
        let noise = format!(r#"{{"type":"gaussian","noise_multiplier":{}}}"#, self.between(0.4, 20.0));
        match self.below(11) {
            0 | 1 => {
                let (rate, base) =
                    (self.between(1e-5, 1.0), if self.below(3) > 0 { noise } else { self.leaf(replace) });
                format!(r#"{{"type":"poisson_sampled","sampling_rate":{rate},"event":{base}}}"#)
            }
            2 if replace => {
                let population = 2 + self.count(1e5);
                let (sample, kind) =
                    (1 + self.below(population), if self.below(2) == 0 { "with" } else { "without" });
                let sample = if kind == "with" { sample.min(400) } else { sample };
                let base = if self.below(3) > 0 { noise } else { self.leaf(true) };
                format!(
                    r#"{{"type":"sampled_{kind}_replacement","sample_size":{sample},
                    "population":{population},"event":{base}}}"#
                )
            }
            3 if replace => {
                let local = match self.below(5) {
                    0 => {
                        let (epsilon, delta) = (self.between(0.05, 4.0), self.between(1e-18, 1e-10));
                        format!(r#"{{"type":"approximate","epsilon":{epsilon},"delta":{delta}}}"#)
                    }
                    1 => format!(r#"{{"type":"gaussian","noise_multiplier":{}}}"#, self.between(2.0, 30.0)),
                    _ => format!(r#"{{"type":"pure","epsilon":{}}}"#, self.between(0.05, 4.0)),
                };
                let reports = self.count(1e4);
                format!(r#"{{"type":"shuffled_reports","reports":{reports},"event":{local}}}"#)
            }
            3 => format!(
                r#"{{"type":"balls_in_bins","bins":{},"epochs":{},"event":{noise}}}"#,
                self.count(500.0),
                1 + self.below(3)
            ),
            4 => format!(
                r#"{{"type":"tree_aggregation","steps":{},"participations":{},"separation":{},
                "nodes":"{}","noise_multiplier":{}}}"#,
                self.count(1e5),
                self.count(30.0),
                self.count(100.0),
                if self.below(2) == 0 { "all" } else { "read" },
                self.between(1.0, 100.0)
            ),
            6 => {
                let bands = if self.below(2) == 0 { "null".to_owned() } else { self.count(1e3).to_string() };
                format!(
                    r#"{{"type":"toeplitz","steps":{},"bands":{bands},"participations":{},
                    "separation":{},"noise_multiplier":{}}}"#,
                    self.count(1e7),
                    self.count(30.0),
                    self.count(1e3),
                    self.between(1.0, 100.0)
                )
            }
            7 if neighbours != "add_remove" => {
                let (rate, population) = (self.between(1e-4, 1.0), 2 + self.count(1e5));
                let most = (rate * population as f64 * self.between(1.0, 4.0)).ceil();
                let base = if self.below(3) > 0 { noise } else { self.leaf(replace) };
                format!(
                    r#"{{"type":"poisson_sampled_truncated","sampling_rate":{rate},
                    "population":{population},"max_batch":{most},"event":{base}}}"#
                )
            }
            8 => {
                let descent = format!(
                    r#""step_size":{},"strong_convexity":{},"smoothness":1"#,
                    self.between(0.01, 2.5),
                    self.between(1e-4, 1.0)
                );
                let (steps, diameter) = (1 + self.count(1e5), self.between(0.1, 1e3));
                match self.below(3) {
                    0 if neighbours != "add_remove" => format!(
                        r#"{{"type":"one_pass","records":{steps},"position":{},{descent},
                        "event":{noise}}}"#,
                        1 + self.below(steps)
                    ),
                    1 => format!(r#"{{"type":"last_iterate","steps":{steps},{descent},"event":{noise}}}"#),
                    _ => format!(
                        r#"{{"type":"last_iterate","steps":{steps},{descent},"diameter":{diameter},
                        "event":{noise}}}"#
                    ),
                }
            }
            5 => {
                let (size, leaf) = (1 + self.below(5), self.leaf(replace));
                let event = if self.below(2) == 0 {
                    leaf
                } else {
                    let rate = self.between(1e-4, 1.0);
                    format!(r#"{{"type":"poisson_sampled","sampling_rate":{rate},"event":{noise}}}"#)
                };
                format!(r#"{{"type":"group","size":{size},"event":{event}}}"#)
            }
            _ => self.leaf(replace),
        }
    }

    fn event(&mut self, neighbours: &str, depth: u32) -> String {
        match self.below(if depth == 0 { 1 } else { 6 }) {
            0 | 1 => self.release(neighbours),
            2 | 3 => {
                let (count, event) = (self.count(3e3), self.event(neighbours, depth - 1));
                format!(r#"{{"type":"repeated","count":{count},"event":{event}}}"#)
            }
            4 => {
                let events: Vec<String> =
                    (0..1 + self.below(3)).map(|_| self.event(neighbours, depth - 1)).collect();
                format!(r#"{{"type":"composed","events":[{}]}}"#, events.join(","))
            }
            _ => {
                let trials = if self.below(2) == 0 {
                    format!(r#"{{"distribution":"poisson","mean":{}}}"#, self.between(0.5, 50.0))
                } else {
                    format!(
                        r#"{{"distribution":"truncated_negative_binomial","shape":{},"gamma":{}}}"#,
                        self.between(0.1, 2.0),
                        self.between(0.005, 0.9)
                    )
                };
                let event = self.event(neighbours, depth - 1);
                format!(r#"{{"type":"selected","trials":{trials},"event":{event}}}"#)
            }
        }
    }

    /// A claim in JSON, with compositions and selections at most so deep.
    pub(crate) fn claim(&mut self, depth: u32) -> String {
        let neighbours = ["add_remove", "zero_out", "replace"][self.below(3) as usize];
        let event = self.event(neighbours, depth);
        format!(r#"{{"neighbours":"{neighbours}","event":{event}}}"#)
    }
}

/// The default stops at distributions whose ends are this close.
const TOLERANCE: f64 = 1.1e-4;

/// What is wrong between the accountants' answers about `claim`, at `delta`; false if no accountant
/// takes the event. A thorough check compares all of them on delta of epsilon, too, and looks at
/// both ends.
pub(crate) fn check(json: &str, delta: f64, thorough: bool) -> Result<bool, String> {
    let claim = Claim::from_json(json).map_err(|error| format!("{json}: {error}"))?;
    let target = Delta::new(delta).map_err(|error| error.to_string())?;
    let epsilon = |accountant| accounting::epsilon(&claim, target, accountant);
    let Ok(auto) = epsilon(Accountant::Auto) else { return Ok(false) };
    compare(&auto, epsilon).map_err(|wrong| format!("{json} at delta {delta:e}: {wrong}"))?;

    // The other question, at the ends of the first.
    let at = |value: f64, accountant| {
        accounting::delta(&claim, Epsilon::new(value).expect("in range"), accountant)
    };
    for end in [auto.bound.upper, auto.bound.lower] {
        if !(1e-9..1e6).contains(&end) || !(thorough || end == auto.bound.upper) {
            continue;
        }
        let story = |wrong: String| format!("{json} at epsilon {end}: {wrong}");
        let found = at(end, Accountant::Auto).map_err(|error| story(error.to_string()))?;
        if thorough {
            compare(&found, |accountant| at(end, accountant)).map_err(story)?;
        }
        if end == auto.bound.upper && found.bound.lower > delta * (1.0 + 1e-6) {
            return Err(story(format!("delta is at least {:e}, promised {delta:e}", found.bound.lower)));
        }
        if thorough && end == auto.bound.lower && end < auto.bound.upper {
            let before =
                at(end * (1.0 - 1e-9), Accountant::Auto).map_err(|error| story(error.to_string()))?;
            if before.bound.upper < delta * (1.0 - 1e-6) {
                return Err(story(format!("delta is at most {:e}, below {delta:e}", before.bound.upper)));
            }
        }
    }
    Ok(true)
}

fn compare(auto: &Cost, ask: impl Fn(Accountant) -> Result<Cost, AccountError>) -> Result<(), String> {
    if auto.note.as_ref().is_some_and(|note| note.contains("internal error")) {
        return Err(format!("{auto:?}"));
    }
    for accountant in [Accountant::Basic, Accountant::Advanced, Accountant::Rdp, Accountant::Pld] {
        let Ok(other) = ask(accountant) else { continue };
        let (ours, theirs) = (auto.bound, other.bound);
        let room = |x: f64| x * TOLERANCE + 1e-15;
        if ours.upper > theirs.upper + room(theirs.upper) || ours.lower < theirs.lower - room(theirs.lower) {
            return Err(format!("the default {ours:?} is wider than {accountant}'s {theirs:?}"));
        }
        if ours.lower > theirs.upper * (1.0 + 1e-9) || theirs.lower > ours.upper * (1.0 + 1e-9) {
            return Err(format!("the default {ours:?} contradicts {accountant}'s {theirs:?}"));
        }
    }
    Ok(())
}
