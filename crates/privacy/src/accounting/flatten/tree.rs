//! How far one unit moves the released nodes of a binary tree.
//!
//! # Definition
//! A tree over T steps has nodes of 2^h steps, h = 0, ..., L - 1, with L the number of binary
//! digits of T; complete ones are released once each, with noise. A unit takes part in at most p
//! steps, any two of them at least b apart. `nodes` says whether all complete nodes are released,
//! or only those that plain prefix sums read: the ones of even index in their level.
//! # Guarantee
//! With contributions of norm at most 1 a node moves by at most the number c of the unit's steps in
//! it, so that
//! ```text
//! sens² <= sum over levels of max sum c²,   c <= m = min(p, ceil(2^h / b)),   sum c <= p       (1)
//! ```
//! where a level has `floor(T / 2^h)` nodes, or every second of them. A sum of squares is convex:
//! its largest value has as many nodes at m as p and their number allow, and one with what is left.
//! This is at most `p sum_h min(p, ceil(2^h / b))`, and exact for all nodes if p is 1, or a power
//! of two with b = 1: the first p steps meet it at every level.
//! # Pitfalls
//! - `levels` for each participation is too little: steps of one unit meet in the upper nodes.
//! - Reading only even nodes is no excuse if the others are released, too (Honaker's estimator
//!   reads all).

use crate::event::Nodes;
use crate::params::Count;

/// Participations of an instance, at most.
const MOST_TAKEN: u64 = 1 << 14;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree {
    steps: u64,
    participations: u64,
    separation: u64,
    nodes: Nodes,
}

impl Tree {
    pub(super) fn new(steps: Count, participations: Count, separation: Option<Count>, nodes: Nodes) -> Self {
        let (steps, separation) = (steps.get(), separation.map_or(1, Count::get));
        // No more fit into the steps.
        let participations = participations.get().min(steps.div_ceil(separation));
        Self { steps, participations, separation, nodes }
    }

    /// (1), rounded up.
    pub(super) fn sensitivity(self) -> f64 {
        self.square().sqrt() * (1.0 + 64.0 * f64::EPSILON)
    }

    /// How far the unit moves them, at least, that takes part as early and as often as it may.
    pub(super) fn instance(self) -> f64 {
        let taken = self.participations.min(MOST_TAKEN);
        let of_level = |level: u32| {
            let (mut sum, mut node, mut inside) = (0.0, 0, 0.0f64);
            for i in 0..taken {
                let here = (i * self.separation) >> level;
                if here != node {
                    (sum, node, inside) = (sum + self.counted(level, node) * inside * inside, here, 0.0);
                }
                inside += 1.0;
            }
            sum + self.counted(level, node) * inside * inside
        };
        (0..self.levels()).map(of_level).sum::<f64>().sqrt() * (1.0 - 64.0 * f64::EPSILON)
    }

    /// 1 if the node is released, else 0.
    fn counted(self, level: u32, node: u64) -> f64 {
        let complete = node < self.steps >> level;
        let read = match self.nodes {
            Nodes::All => true,
            Nodes::Read => node.is_multiple_of(2),
        };
        f64::from(u8::from(complete && read))
    }

    /// Some unit moves the nodes as far as (1) says.
    pub(super) fn is_exact(self) -> bool {
        let p = self.participations;
        p == 1
            || (self.nodes == Nodes::All
                && self.separation == 1
                && p.is_power_of_two()
                && p.ilog2() < self.levels())
    }

    fn levels(self) -> u32 {
        u64::BITS - self.steps.leading_zeros()
    }

    fn square(self) -> f64 {
        (0..self.levels()).map(|level| self.of_level(level)).sum()
    }

    /// The largest sum of squares of one level.
    fn of_level(self, level: u32) -> f64 {
        let (p, length) = (self.participations, 1u64 << level);
        let complete = self.steps >> level;
        let released = match self.nodes {
            Nodes::All => complete,
            Nodes::Read => complete.div_ceil(2),
        };
        let most = p.min(length.div_ceil(self.separation));
        let full = (p / most).min(released);
        let rest = if full < released { p % most } else { 0 };
        full as f64 * (most as f64).powi(2) + (rest as f64).powi(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(steps: u64, participations: u64, separation: u64, nodes: Nodes) -> Tree {
        let count = |n| Count::new(n).unwrap();
        Tree::new(count(steps), count(participations), Some(count(separation)), nodes)
    }

    /// The largest sum of squared counts over all ways to take part, node by node.
    fn enumerated(steps: u64, participations: u64, separation: u64, nodes: Nodes) -> u64 {
        (0u64..1 << steps)
            .filter(|set| u64::from(set.count_ones()) <= participations)
            .filter(|set| (1..separation).all(|gap| set & (set >> gap) == 0))
            .map(|set| {
                let mut sum = 0;
                for level in 0..64 - steps.leading_zeros() {
                    for i in 0..steps >> level {
                        let inside = (set >> (i << level)) & ((1 << (1u64 << level)) - 1);
                        if nodes == Nodes::All || i % 2 == 0 {
                            sum += u64::from(inside.count_ones()).pow(2);
                        }
                    }
                }
                sum
            })
            .max()
            .unwrap_or(0)
    }

    #[test]
    fn no_unit_moves_the_nodes_farther() {
        for steps in 1..=12 {
            for (participations, separation) in (1..=5).flat_map(|p| (1..=4).map(move |b| (p, b))) {
                for nodes in [Nodes::All, Nodes::Read] {
                    let tree = tree(steps, participations, separation, nodes);
                    let exact = enumerated(steps, participations, separation, nodes) as f64;
                    assert!(tree.square() >= exact, "{tree:?}: {} below {exact}", tree.square());
                    assert!(
                        !tree.is_exact() || tree.square() == exact,
                        "{tree:?}: {} {exact}",
                        tree.square()
                    );
                    assert!(
                        tree.square() <= 1.5 * exact + 1.0,
                        "{tree:?}: {} far above {exact}",
                        tree.square()
                    );
                }
            }
        }
    }

    /// Two epochs of four steps; of three steps and two more; twenty of a hundred and 48 more:
    /// `p sum min(p, ceil(2^h / b))` is 10, 12 and 980, and the largest truth 10, 12 and 926.
    #[test]
    fn epochs() {
        for (steps, p, b, bound, truth) in [(8, 2, 4, 10, 10), (8, 2, 3, 12, 12), (2048, 20, 100, 980, 926)] {
            let found = tree(steps, p, b, Nodes::All).square();
            let levels = 64 - u64::leading_zeros(steps);
            let formula: u64 = (0..levels).map(|h| p * p.min((1u64 << h).div_ceil(b))).sum();
            assert_eq!(formula, bound);
            assert!(found <= bound as f64 && found >= truth as f64, "{steps}: {found}");
        }
        assert_eq!(tree(8, 2, 4, Nodes::Read).square(), 9.0);
        assert!(tree(2048, 20, 100, Nodes::Read).square() <= 800.0);
    }

    /// Never above the largest of all ways to take part, and next to it.
    #[test]
    fn a_unit_that_comes_early() {
        for steps in 1..=10 {
            for participations in 1..=4 {
                for separation in 1..=4 {
                    for nodes in [Nodes::All, Nodes::Read] {
                        let found = tree(steps, participations, separation, nodes).instance().powi(2);
                        let most = enumerated(steps, participations, separation, nodes) as f64;
                        assert!(found <= most && found >= 0.6 * most, "{steps} {found} {most}");
                    }
                }
            }
        }
        // 926 is the truth for twenty of a hundred and 48 more.
        let found = tree(2048, 20, 100, Nodes::All).instance().powi(2);
        assert!(found <= 926.0 && found > 900.0, "{found}");
        assert!(tree(Count::MAX, Count::MAX, 1, Nodes::All).instance() > 1e4);
    }

    #[test]
    fn edges() {
        assert_eq!(tree(1, 1, 1, Nodes::All).square(), 1.0);
        assert_eq!(tree(5, 1_000_000, 1, Nodes::All).square(), tree(5, 5, 1, Nodes::All).square());
        assert!(tree(Count::MAX, Count::MAX, 1, Nodes::All).sensitivity().is_finite());
    }
}
