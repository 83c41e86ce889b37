//! How long answers take, and how close their two ends are, over the whole range of
//! training runs: σ in [0.05, 1e4], q in [1e-9, 1], T in [1, 1e9], δ in [1e-18, 0.1],
//! all log-uniform from a fixed seed.
//!
//! `cargo run --release -p sordino-bench --bin box -- [points] [calibrations] [seed]`
#![expect(clippy::print_stdout, reason = "the table is the program's result")]
#![forbid(unsafe_code)]

use std::error::Error;
use std::time::Instant;

use sordino::prelude::*;

/// The relative gap, or distance from a target, above which a point is printed.
const WIDE: f64 = 1e-3;
/// The seconds above which a point is printed.
const SLOW: f64 = 1.0;

fn main() -> Result<(), Box<dyn Error>> {
    let number = |i: usize, default: u64| std::env::args().nth(i).map_or(Ok(default), |word| word.parse());
    let (points, calibrations, seed) = (number(1, 1000)?, number(2, 100)?, number(3, 1)?);
    accounts(points, &mut Random(seed))?;
    noises(calibrations, &mut Random(seed ^ 0xCA11))
}

fn accounts(points: u64, random: &mut Random) -> Result<(), Box<dyn Error>> {
    let (mut times, mut gaps) = (Vec::new(), Vec::new());
    for _ in 0..points {
        let noise = random.log_uniform(0.05, 1e4);
        let (rate, steps, delta) = random.training();
        let step = Event::gaussian(NoiseMultiplier::new(noise)?).poisson_sampled(SamplingRate::new(rate)?);
        let claim = Claim::new(Neighbours::AddRemove, step.repeated(Count::new(steps)?));
        let begun = Clock::now();
        let found = accounting::epsilon(&claim, Delta::new(delta)?, Accountant::Auto)?;
        let taken = begun.seconds();
        let gap = found.bound.relative_gap();
        if gap > WIDE || taken > SLOW {
            println!(
                "  sigma {noise:.5e} q {rate:.5e} T {steps} delta {delta:.3e}: [{:.6e}, {:.6e}] by {}, gap \
                {gap:.2e}, {taken:.2} s",
                found.bound.lower, found.bound.upper, found.accountant
            );
        }
        times.push(taken);
        gaps.push(gap);
    }
    summary("account, seconds", times, SLOW);
    summary("account, relative gap", gaps, WIDE);
    Ok(())
}

fn noises(points: u64, random: &mut Random) -> Result<(), Box<dyn Error>> {
    let (mut times, mut misses, mut looseness) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..points {
        let target = random.log_uniform(0.01, 20.0);
        let (rate, steps, delta) = random.training();
        let begun = Clock::now();
        let found = calibrate::noise_multiplier(
            Epsilon::new(target)?,
            Delta::new(delta)?,
            Neighbours::AddRemove,
            SamplingRate::new(rate)?,
            Count::new(steps)?,
        );
        let taken = begun.seconds();
        let question = format!("epsilon {target:.5e} q {rate:.5e} T {steps} delta {delta:.3e}");
        match found {
            Ok(found) => {
                // How far the upper and the lower end of the cost are below the target.
                let miss = 1.0 - found.epsilon.upper / target;
                let loose = 1.0 - found.epsilon.lower / target;
                if miss.abs() > WIDE || loose > 2.0 * WIDE || taken > 3.0 * SLOW {
                    println!(
                        "  {question}: sigma {:.6e}, [{:.6e}, {:.6e}] by {}, off {miss:.2e}, {taken:.2} s",
                        found.value.get(),
                        found.epsilon.lower,
                        found.epsilon.upper,
                        found.accountant
                    );
                }
                misses.push(miss.abs());
                looseness.push(loose);
            }
            Err(error) => println!("  {question}: {error}"),
        }
        times.push(taken);
    }
    summary("calibrate, seconds", times, 3.0 * SLOW);
    summary("calibrate, upper end off target", misses, WIDE);
    summary("calibrate, lower end off target", looseness, WIDE);
    Ok(())
}

fn summary(what: &str, mut values: Vec<f64>, limit: f64) {
    values.sort_by(f64::total_cmp);
    let Some(most) = values.len().checked_sub(1) else { return };
    let at = |share: f64| values[(share * most as f64) as usize];
    let beyond = values.iter().filter(|v| **v > limit).count();
    println!(
        "{what}: median {:.2e}, p90 {:.2e}, p99 {:.2e}, most {:.2e}; {beyond} of {} above {limit:e}",
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0),
        values.len()
    );
}

/// Processor time of this thread where the system reports it, else wall time. Processor time does
/// not count the work of other processes.
struct Clock(Option<u64>, Instant);

impl Clock {
    fn now() -> Self {
        Self(Self::nanoseconds(), Instant::now())
    }

    fn seconds(&self) -> f64 {
        match (self.0, Self::nanoseconds()) {
            (Some(before), Some(now)) => (now - before) as f64 * 1e-9,
            _ => self.1.elapsed().as_secs_f64(),
        }
    }

    fn nanoseconds() -> Option<u64> {
        std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
    }
}

/// SplitMix64, so that a seed gives the same points everywhere.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + (high / low).ln() * self.unit()).exp().clamp(low, high)
    }

    /// A sampling rate, a number of steps and δ.
    fn training(&mut self) -> (f64, u64, f64) {
        let steps = self.log_uniform(1.0, 1e9).round() as u64;
        (self.log_uniform(1e-9, 1.0), steps, self.log_uniform(1e-18, 0.1))
    }
}
