//! What was computed last: a search asks for the same tables many times.

use std::cell::RefCell;
use std::rc::Rc;

/// The last few results of a function, by its argument.
pub(crate) struct Memo<K, V>(RefCell<Vec<(K, Rc<V>)>>);

/// Results that are kept.
const KEPT: usize = 8;

impl<K: PartialEq + Clone, V> Memo<K, V> {
    pub(crate) const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    /// `make(key)`, or what it was. `make` may use this memo itself.
    pub(crate) fn get(&self, key: &K, make: impl FnOnce() -> V) -> Rc<V> {
        if let Some((_, known)) = self.0.borrow().iter().find(|(known, _)| known == key) {
            return Rc::clone(known);
        }
        let made = Rc::new(make());
        let mut kept = self.0.borrow_mut();
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((key.clone(), Rc::clone(&made)));
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_computed_once_while_it_is_kept() {
        let (memo, calls) = (Memo::new(), std::cell::Cell::new(0));
        let ask = |key: u32| {
            let made = memo.get(&key, || {
                calls.set(calls.get() + 1);
                key * key
            });
            assert_eq!(*made, key * key);
        };
        (0..4).for_each(|_| ask(3));
        assert_eq!(calls.get(), 1);
        (10..10 + KEPT as u32).for_each(ask);
        ask(3);
        assert_eq!(calls.get(), 2 + KEPT as u32);
    }
}
