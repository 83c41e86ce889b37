//! Which vector instructions the inner loops are compiled for, chosen once when the program runs.
//!
//! The loops are ordinary safe Rust on arrays of sixteen numbers. [`vectorised!`] compiles one body several times, each time for
//! other instructions, and calls the one that this processor can run: 172 instead of 12 billion operations a second on a core
//! with 512-bit registers. This file has the crate's only `unsafe`.
//!
//! Results differ in their last bits between processors with and without fused multiplication, never between two calls
//! on one processor.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// What this processor can run. There is no way to make one but [`Isa::detect`]: that is what the calls below rest on.
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
    /// Asks the processor (the answers are cached by the standard library).
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

    /// The loops as any processor can run them, to compare with.
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

/// What a body is compiled for: sixteen numbers at a time. A value of such a type is a proof that its instructions are there.
pub(crate) trait Machine: Copy {
    /// Some numbers in one register, and how many.
    type Register: Copy;
    const WIDTH: usize;

    /// Sixteen numbers in registers.
    type Line: Copy;

    /// Rows of a tile of sixteen columns that the registers hold.
    const ROWS: usize;

    /// Times sixteen columns that so many rows may have.
    const PANELS: usize;

    fn load(self, numbers: &[f32; LANES]) -> Self::Line;

    fn store(self, line: Self::Line) -> [f32; LANES];

    /// `x line + sum`, with one rounding where the instructions have it.
    fn multiply_add(self, x: f32, line: Self::Line, sum: Self::Line) -> Self::Line;

    /// `x y + sum`, lane by lane, with one rounding where the instructions have it.
    fn multiply_lines(self, x: Self::Line, y: Self::Line, sum: Self::Line) -> Self::Line;

    /// `x` in all lanes.
    fn everywhere(self, x: f32) -> Self::Register;

    /// Some numbers of a line: those of its first register, its second, ...
    fn register(self, line: &[f32; LANES], part: usize) -> Self::Register;

    /// Writes them back.
    fn put(self, register: Self::Register, line: &mut [f32; LANES], part: usize);

    /// `x y + sum`, as in `multiply_lines`.
    fn multiply_registers(self, x: Self::Register, y: Self::Register, sum: Self::Register) -> Self::Register;

    /// `sum + x²`: the square is exact, and the sum has one rounding, with or without fused instructions.
    #[inline(always)]
    fn add_square(self, x: f32, sum: f64) -> f64 {
        f64::from(x) * f64::from(x) + sum
    }

    /// Asks for numbers that will be wanted soon; without effect on any result.
    #[inline(always)]
    fn prefetch(self, _numbers: &[f32; LANES]) {}

    fn zero(self) -> Self::Line {
        self.load(&[0.0; LANES])
    }
}

/// Numbers in a line: two registers of 256 bits, one of 512.
pub(crate) const LANES: usize = 16;

/// Instructions that every processor of the platform has.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Machine for Portable {
    type Register = [f32; 8];
    const WIDTH: usize = 8;

    type Line = [f32; LANES];

    const ROWS: usize = 4;

    const PANELS: usize = 1;

    #[inline(always)]
    fn load(self, numbers: &[f32; LANES]) -> Self::Line {
        *numbers
    }

    #[inline(always)]
    fn store(self, line: Self::Line) -> [f32; LANES] {
        line
    }

    #[inline(always)]
    fn multiply_add(self, x: f32, line: Self::Line, sum: Self::Line) -> Self::Line {
        // `mul_add` without the instruction is a library call, some fifty times slower.
        std::array::from_fn(|lane| x * line[lane] + sum[lane])
    }

    #[inline(always)]
    fn multiply_lines(self, x: Self::Line, y: Self::Line, sum: Self::Line) -> Self::Line {
        std::array::from_fn(|lane| x[lane] * y[lane] + sum[lane])
    }

    #[inline(always)]
    fn everywhere(self, x: f32) -> Self::Register {
        [x; 8]
    }

    #[inline(always)]
    fn register(self, line: &[f32; LANES], part: usize) -> Self::Register {
        line.as_chunks().0[part]
    }

    #[inline(always)]
    fn put(self, register: Self::Register, line: &mut [f32; LANES], part: usize) {
        line.as_chunks_mut().0[part] = register;
    }

    #[inline(always)]
    fn multiply_registers(self, x: Self::Register, y: Self::Register, sum: Self::Register) -> Self::Register {
        std::array::from_fn(|lane| x[lane] * y[lane] + sum[lane])
    }
}

/// A machine whose registers hold a line or a half of one.
#[cfg(target_arch = "x86_64")]
macro_rules! machine {
    ($(#[$doc:meta])* $name:ident, $register:ty, $width:literal, $rows:literal, $panels:literal, $everywhere:ident, $fused:ident) => {
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

        #[allow(unsafe_code, reason = "instructions of which `self` is the proof, and arrays of plain numbers")]
        impl Machine for $name {
            type Register = $register;
            const WIDTH: usize = $width;

            type Line = [$register; LANES / $width];

            const ROWS: usize = $rows;

            const PANELS: usize = $panels;

            #[inline(always)]
            fn load(self, numbers: &[f32; LANES]) -> Self::Line {
                // SAFETY: both are 64 bytes of numbers, for which every pattern of bits is a value.
                unsafe { std::mem::transmute::<[f32; LANES], Self::Line>(*numbers) }
            }

            #[inline(always)]
            fn store(self, line: Self::Line) -> [f32; LANES] {
                // SAFETY: as in `load`.
                unsafe { std::mem::transmute::<Self::Line, [f32; LANES]>(line) }
            }

            #[inline(always)]
            fn multiply_add(self, x: f32, line: Self::Line, sum: Self::Line) -> Self::Line {
                self.multiply_lines([self.everywhere(x); LANES / $width], line, sum)
            }

            #[inline(always)]
            fn multiply_lines(self, x: Self::Line, y: Self::Line, mut sum: Self::Line) -> Self::Line {
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
            fn register(self, line: &[f32; LANES], part: usize) -> Self::Register {
                // SAFETY: as in `load`.
                unsafe { std::mem::transmute::<[f32; $width], $register>(line.as_chunks().0[part]) }
            }

            #[inline(always)]
            fn put(self, register: Self::Register, line: &mut [f32; LANES], part: usize) {
                // SAFETY: as in `load`.
                line.as_chunks_mut().0[part] =
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
                // SAFETY: reads nothing, and would not fault anywhere.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(numbers.as_ptr().cast()) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
machine!(
    /// 256-bit registers, sixteen of them, and fused multiplication.
    Avx2, __m256, 8, 6, 1, _mm256_set1_ps, _mm256_fmadd_ps
);

#[cfg(target_arch = "x86_64")]
machine!(
    /// 512-bit registers, thirty-two of them.
    Avx512, __m512, 16, 12, 2, _mm512_set1_ps, _mm512_fmadd_ps
);

/// Makes `fn name(isa, ...)`, which calls `body(machine, ...)` compiled for the machine that `isa` stands for. The body must
/// be `#[inline(always)]`: only what is inlined is compiled for the machine.
macro_rules! vectorised {
    ($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? = $body:ident;) => {
        $(#[$doc])*
        #[allow(clippy::too_many_arguments, reason = "as many as the body has")]
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
                // SAFETY: an `Isa` of this level is made by `Isa::detect` alone, and only where the processor and its operating
                // system have the features that `avx2` is compiled for.
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
