//! Which vector instructions the kernels are compiled for, chosen when the program runs.
//!
//! Kernels are safe Rust on arrays of sixteen numbers. [`vectorised!`] compiles one body for several sets of
//! instructions, and calls the best one that this processor runs: 172 instead of 12 billion operations per
//! second on a core with 512-bit registers. This file has the crate's only `unsafe`.
//!
//! Results differ in their last bits between processors with and without fused multiplication, but never between
//! two calls on one processor.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// The instructions that this processor has. The `unsafe` calls below rely on [`Isa::detect`] being the only
/// constructor of levels beyond `Portable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Isa(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Isa {
    /// Asks the processor; the standard library caches the answers.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            if has_avx2 && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                return Self(Level::Avx512);
            }
            if has_avx2 {
                return Self(Level::Avx2);
            }
        }
        Self(Level::Portable)
    }

    /// Kernels that any processor runs, to compare with.
    #[cfg(test)]
    pub(crate) fn portable() -> Self {
        Self(Level::Portable)
    }

    pub(crate) fn level(self) -> Level {
        self.0
    }

    /// [`Machine::ROWS`] of the machine.
    pub(crate) fn tile_rows(self) -> usize {
        match self.0 {
            Level::Portable => Portable::ROWS,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Avx2::ROWS,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Avx512::ROWS,
        }
    }
}

/// What a kernel is compiled for. A value of such a type proves that the processor has its instructions.
pub(crate) trait Machine: Copy {
    /// One register, and how many numbers it holds.
    type Register: Copy;
    const WIDTH: usize;

    /// Sixteen numbers in registers.
    type Vector: Copy;

    /// Rows of a tile of sixteen columns that fit in the registers.
    const ROWS: usize;

    /// Panels of sixteen columns that tiles of so many rows may have.
    const PANELS: usize;

    fn load(self, numbers: &[f32; LANES]) -> Self::Vector;

    fn store(self, vector: Self::Vector) -> [f32; LANES];

    /// `x vector + sum`, with one rounding if the instructions are fused.
    fn multiply_add(self, x: f32, vector: Self::Vector, sum: Self::Vector) -> Self::Vector;

    /// `x y + sum`, lane by lane, with one rounding if the instructions are fused.
    fn multiply_vectors(self, x: Self::Vector, y: Self::Vector, sum: Self::Vector) -> Self::Vector;

    /// `x` in all lanes.
    fn everywhere(self, x: f32) -> Self::Register;

    /// Loads the first register of a vector, or its second, ...
    fn register(self, vector: &[f32; LANES], part: usize) -> Self::Register;

    /// Stores it back.
    fn put(self, register: Self::Register, vector: &mut [f32; LANES], part: usize);

    /// `x y + sum`, as in `multiply_vectors`.
    fn multiply_registers(self, x: Self::Register, y: Self::Register, sum: Self::Register) -> Self::Register;

    /// `sum + x²`: the square is exact and the sum has one rounding, fused or not.
    #[inline(always)]
    fn add_square(self, x: f32, sum: f64) -> f64 {
        f64::from(x) * f64::from(x) + sum
    }

    /// Prefetches numbers; no result depends on it.
    #[inline(always)]
    fn prefetch(self, _numbers: &[f32; LANES]) {}

    fn zero(self) -> Self::Vector {
        self.load(&[0.0; LANES])
    }
}

/// Numbers in a vector: two registers of 256 bits, or one of 512.
pub(crate) const LANES: usize = 16;

/// Instructions that every processor of the platform has.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Machine for Portable {
    type Register = [f32; 8];
    const WIDTH: usize = 8;

    type Vector = [f32; LANES];

    const ROWS: usize = 4;

    const PANELS: usize = 1;

    #[inline(always)]
    fn load(self, numbers: &[f32; LANES]) -> Self::Vector {
        *numbers
    }

    #[inline(always)]
    fn store(self, vector: Self::Vector) -> [f32; LANES] {
        vector
    }

    #[inline(always)]
    fn multiply_add(self, x: f32, vector: Self::Vector, sum: Self::Vector) -> Self::Vector {
        // `mul_add` without the instruction is a library call, about fifty times slower.
        std::array::from_fn(|lane| x * vector[lane] + sum[lane])
    }

    #[inline(always)]
    fn multiply_vectors(self, x: Self::Vector, y: Self::Vector, sum: Self::Vector) -> Self::Vector {
        std::array::from_fn(|lane| x[lane] * y[lane] + sum[lane])
    }

    #[inline(always)]
    fn everywhere(self, x: f32) -> Self::Register {
        [x; 8]
    }

    #[inline(always)]
    fn register(self, vector: &[f32; LANES], part: usize) -> Self::Register {
        vector.as_chunks().0[part]
    }

    #[inline(always)]
    fn put(self, register: Self::Register, vector: &mut [f32; LANES], part: usize) {
        vector.as_chunks_mut().0[part] = register;
    }

    #[inline(always)]
    fn multiply_registers(self, x: Self::Register, y: Self::Register, sum: Self::Register) -> Self::Register {
        std::array::from_fn(|lane| x[lane] * y[lane] + sum[lane])
    }
}

/// A machine whose registers hold a vector or half of one.
#[cfg(target_arch = "x86_64")]
macro_rules! machine {
    (
        $(#[$doc:meta])* $name:ident,
        $register:ty, $width:literal, $rows:literal, $panels:literal, $everywhere:ident, $fused:ident
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name(());

        impl $name {
            /// # Safety
            /// The processor has this machine's instructions.
            #[allow(unsafe_code, reason = "a promise that the caller makes, once, after detection")]
            pub(crate) unsafe fn proven() -> Self {
                Self(())
            }
        }

        #[allow(unsafe_code, reason = "`self` proves that the instructions exist; arrays of plain numbers")]
        impl Machine for $name {
            type Register = $register;
            const WIDTH: usize = $width;

            type Vector = [$register; LANES / $width];

            const ROWS: usize = $rows;

            const PANELS: usize = $panels;

            #[inline(always)]
            fn load(self, numbers: &[f32; LANES]) -> Self::Vector {
                // SAFETY: both are 64 bytes of numbers, and every bit pattern is a number.
                unsafe { std::mem::transmute::<[f32; LANES], Self::Vector>(*numbers) }
            }

            #[inline(always)]
            fn store(self, vector: Self::Vector) -> [f32; LANES] {
                // SAFETY: as in `load`.
                unsafe { std::mem::transmute::<Self::Vector, [f32; LANES]>(vector) }
            }

            #[inline(always)]
            fn multiply_add(self, x: f32, vector: Self::Vector, sum: Self::Vector) -> Self::Vector {
                self.multiply_vectors([self.everywhere(x); LANES / $width], vector, sum)
            }

            #[inline(always)]
            fn multiply_vectors(self, x: Self::Vector, y: Self::Vector, mut sum: Self::Vector) -> Self::Vector {
                for part in 0..LANES / $width {
                    sum[part] = self.multiply_registers(x[part], y[part], sum[part]);
                }
                sum
            }

            #[inline(always)]
            fn everywhere(self, x: f32) -> Self::Register {
                // SAFETY: `self` exists, so the processor has the instructions.
                unsafe { $everywhere(x) }
            }

            #[inline(always)]
            fn register(self, vector: &[f32; LANES], part: usize) -> Self::Register {
                // SAFETY: as in `load`.
                unsafe { std::mem::transmute::<[f32; $width], $register>(vector.as_chunks().0[part]) }
            }

            #[inline(always)]
            fn put(self, register: Self::Register, vector: &mut [f32; LANES], part: usize) {
                // SAFETY: as in `load`.
                vector.as_chunks_mut().0[part] =
                    unsafe { std::mem::transmute::<$register, [f32; $width]>(register) };
            }

            #[inline(always)]
            fn multiply_registers(
                self,
                x: Self::Register,
                y: Self::Register,
                sum: Self::Register,
            ) -> Self::Register {
                // SAFETY: as in `everywhere`.
                unsafe { $fused(x, y, sum) }
            }

            #[inline(always)]
            fn add_square(self, x: f32, sum: f64) -> f64 {
                f64::from(x).mul_add(f64::from(x), sum)
            }

            #[inline(always)]
            fn prefetch(self, numbers: &[f32; LANES]) {
                // SAFETY: a prefetch reads nothing and never faults.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(numbers.as_ptr().cast()) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
machine!(
    /// Sixteen registers of 256 bits, with fused multiplication.
    Avx2, __m256, 8, 6, 1, _mm256_set1_ps, _mm256_fmadd_ps
);

#[cfg(target_arch = "x86_64")]
machine!(
    /// Thirty-two registers of 512 bits.
    Avx512, __m512, 16, 12, 2, _mm512_set1_ps, _mm512_fmadd_ps
);

/// Defines `fn name(isa, ...)`, which calls `body(machine, ...)` compiled for the machine of `isa`. The body must
/// be `#[inline(always)]`: only inlined code is compiled for the machine.
macro_rules! vectorised {
    ($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? = $body:ident;) => {
        $(#[$doc])*
        pub(crate) fn $name(isa: $crate::kernel::isa::Isa, $($argument: $type),*) $(-> $result)? {
            use $crate::kernel::isa::{Level, Portable};
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2(machine: $crate::kernel::isa::Avx2, $($argument: $type),*) $(-> $result)? {
                $body(machine, $($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,avx512f,avx512vl")]
            fn avx512(machine: $crate::kernel::isa::Avx512, $($argument: $type),*) $(-> $result)? {
                $body(machine, $($argument),*)
            }
            match isa.level() {
                Level::Portable => $body(Portable, $($argument),*),
                // SAFETY: only `Isa::detect` makes an `Isa` of this level, and only if the processor and its
                // operating system have the features that `avx2` is compiled for.
                #[cfg(target_arch = "x86_64")]
                #[allow(unsafe_code, reason = "instructions that the processor was found to have")]
                Level::Avx2 => unsafe { avx2($crate::kernel::isa::Avx2::proven(), $($argument),*) },
                // SAFETY: as above, for `avx512`.
                #[cfg(target_arch = "x86_64")]
                #[allow(unsafe_code, reason = "instructions that the processor was found to have")]
                Level::Avx512 => unsafe { avx512($crate::kernel::isa::Avx512::proven(), $($argument),*) },
            }
        }
    };
}
pub(crate) use vectorised;
