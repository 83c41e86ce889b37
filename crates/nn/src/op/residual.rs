//! Two branches from one input, added: `y = body(x) + shortcut(x)`; the shortcut may be nothing but x.

use std::ops::Range;

use super::{Leaf, Op, Pass, Ready, Saved, Size};
use crate::chain::{Chain, ChainState};
use crate::shape::Shape;

#[derive(Debug)]
pub(crate) struct Residual {
    body: Chain,
    shortcut: Chain,
}

impl Residual {
    /// The caller has checked that both give one shape.
    pub(crate) fn new(body: Chain, shortcut: Chain) -> Self {
        Self { body, shortcut }
    }

    fn branches(&self) -> [&Chain; 2] {
        [&self.body, &self.shortcut]
    }

    /// Each branch with its part of all leaves and of all parameters.
    fn parts(&self) -> [(&Chain, Range<usize>, Range<usize>); 2] {
        let (leaves, parameters) = (self.body.leaves().len(), self.body.parameters());
        [
            (&self.body, 0..leaves, 0..parameters),
            (
                &self.shortcut,
                leaves..leaves + self.shortcut.leaves().len(),
                parameters..parameters + self.shortcut.parameters(),
            ),
        ]
    }
}

/// The last array.
fn end(arrays: &mut [Vec<f32>]) -> &mut [f32] {
    // There is always the input.
    let last = arrays.len() - 1;
    &mut arrays[last]
}

impl Op for Residual {
    fn output(&self) -> Shape {
        self.body.output()
    }

    fn parameters(&self) -> usize {
        self.branches().iter().map(|chain| chain.parameters()).sum()
    }

    fn leaves(&self) -> Vec<Leaf> {
        self.branches().iter().flat_map(|chain| chain.leaves().iter().copied()).collect()
    }

    fn materialised(&self) -> usize {
        self.branches().iter().map(|chain| chain.materialised()).sum()
    }

    fn footprint(&self) -> usize {
        self.branches().iter().map(|chain| chain.footprint()).sum()
    }

    fn initialise(&self, uniform: &mut dyn FnMut() -> f64, parameters: &mut [f64]) {
        for (chain, _, range) in self.parts() {
            chain.initialise(uniform, &mut parameters[range]);
        }
    }

    fn prepare(&self, parameters: &[f64], ready: &mut Ready) {
        if ready.inner.is_empty() {
            ready.inner =
                self.branches().map(|chain| Ready { inner: chain.ready(), ..Ready::default() }).into();
        }
        for ((chain, _, range), ready) in self.parts().into_iter().zip(&mut ready.inner) {
            chain.prepare(&parameters[range], &mut ready.inner);
        }
    }

    fn save(&self, images: usize) -> Saved {
        let inner = self.branches().map(|chain| chain.state(images)).into();
        // As many as examples; an example has an image or more.
        let sizes = self.leaves().iter().map(|_| Vec::with_capacity(images)).collect();
        Saved { inner, sizes, ..Saved::default() }
    }

    fn forward(&self, pass: &Pass, ready: &Ready, input: &[f32], output: &mut [f32], saved: &mut Saved) {
        let work = self.branches().into_iter().zip(&ready.inner).zip(&mut saved.inner);
        let numbers = pass.images * self.output().size();
        for (number, ((chain, ready), state)) in work.enumerate() {
            let from = pass.images * chain.input().size();
            state.values[0][..from].copy_from_slice(&input[..from]);
            chain.forward(pass, &ready.inner, state);
            let result = &end(&mut state.values)[..numbers];
            if number == 0 {
                output[..numbers].copy_from_slice(result);
            } else {
                output.iter_mut().zip(result).for_each(|(to, from)| *to += from);
            }
        }
    }

    fn backward(
        &self,
        pass: &Pass,
        ready: &Ready,
        _input: &[f32],
        d_output: &[f32],
        d_input: Option<&mut [f32]>,
        saved: &mut Saved,
    ) {
        let numbers = pass.images * self.output().size();
        let wants_input = d_input.is_some();
        saved.sizes.iter_mut().for_each(Vec::clear);
        let work = self.parts().into_iter().zip(&ready.inner).zip(&mut saved.inner);
        for (((chain, leaves, _), ready), state) in work {
            end(&mut state.slopes)[..numbers].copy_from_slice(&d_output[..numbers]);
            chain.backward(pass, &ready.inner, state, wants_input, &mut saved.sizes[leaves]);
        }
        if let Some(d_input) = d_input {
            let [body, shortcut] = &saved.inner[..] else { unreachable!("there are two branches") };
            for (to, (a, b)) in d_input.iter_mut().zip(body.slopes[0].iter().zip(&shortcut.slopes[0])) {
                *to = a + b;
            }
        }
    }

    fn measure(
        &self,
        _pass: &Pass,
        _ready: &Ready,
        _input: &[f32],
        _d_output: &[f32],
        saved: &mut Saved,
        sizes: &mut [Vec<Size>],
    ) {
        // They were measured on the way back.
        sizes.iter_mut().zip(&saved.sizes).for_each(|(to, from)| to.extend_from_slice(from));
    }

    fn accumulate(
        &self,
        pass: &Pass,
        ready: &Ready,
        _input: &[f32],
        _d_output: &mut [f32],
        saved: &mut Saved,
        weights: Option<&[Vec<f32>]>,
        sum: &mut [f32],
    ) {
        let work = self.parts().into_iter().zip(&ready.inner).zip(&mut saved.inner);
        for (((chain, leaves, parameters), ready), state) in work {
            let weights = weights.map(|weights| &weights[leaves]);
            chain.accumulate(pass, &ready.inner, state, weights, |_| true, &mut sum[parameters]);
        }
    }

    fn erase(&self, pass: &Pass, saved: &mut Saved, images: Range<usize>) {
        let example = images.start / pass.views;
        let states: &mut [ChainState] = &mut saved.inner;
        for (chain, state) in self.branches().into_iter().zip(states) {
            chain.erase(pass, state, example);
        }
    }
}
