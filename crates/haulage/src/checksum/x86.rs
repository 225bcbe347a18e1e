//! The steps of MD5 in the vectors of x86-64 processors: 8 lanes with AVX2, 8 or 16 with AVX-512.
//!
//! A step needs the result of the one before, so what counts is how long it takes, not how wide it is.
//! AVX-512 turns words, and computes any function of three, in one instruction: its 8 lanes pass 1.3 times
//! as much as those of AVX2, its 16 lanes twice as much.

use std::arch::x86_64::{
    __m256i, __m512i, _mm256_add_epi32, _mm256_and_si256, _mm256_andnot_si256, _mm256_extract_epi32,
    _mm256_or_si256, _mm256_permute2x128_si256, _mm256_rol_epi32, _mm256_set1_epi32, _mm256_setr_epi32,
    _mm256_setr_epi64x, _mm256_slli_epi32, _mm256_srli_epi32, _mm256_ternarylogic_epi32,
    _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
    _mm256_xor_si256, _mm512_add_epi32, _mm512_castsi256_si512, _mm512_extracti64x4_epi64,
    _mm512_inserti64x4, _mm512_rol_epi32, _mm512_set1_epi32, _mm512_setr_epi64, _mm512_shuffle_i32x4,
    _mm512_ternarylogic_epi32, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32,
    _mm512_unpacklo_epi64,
};
use std::array::from_fn;

use super::lanes::{CHUNK, States, Vectors};

/// The best that this processor has.
pub(super) fn vectors() -> Option<Vectors> {
    if has_avx512() {
        Some(Vectors { eight: avx512_eight, sixteen: Some(avx512_sixteen) })
    } else if is_x86_feature_detected!("avx2") {
        Some(Vectors { eight: avx2_eight, sixteen: None })
    } else {
        None
    }
}

/// All that this processor has.
#[cfg(test)]
pub(super) fn all() -> Vec<Vectors> {
    let narrow = is_x86_feature_detected!("avx2").then_some(Vectors { eight: avx2_eight, sixteen: None });
    narrow.into_iter().chain(vectors()).collect()
}

fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx2")
}

#[allow(unsafe_code)]
fn avx2_eight(states: &mut States<8>, data: &[&[[u8; CHUNK]]; 8]) {
    assert!(is_x86_feature_detected!("avx2"));
    // SAFETY: the processor has what the function is compiled for; nothing else is asked of the caller.
    unsafe { avx2::compress(states, data) }
}

#[allow(unsafe_code)]
fn avx512_eight(states: &mut States<8>, data: &[&[[u8; CHUNK]]; 8]) {
    assert!(has_avx512());
    // SAFETY: as above.
    unsafe { avx512::compress(states, data) }
}

#[allow(unsafe_code)]
fn avx512_sixteen(states: &mut States<16>, data: &[&[[u8; CHUNK]]; 16]) {
    assert!(has_avx512());
    // SAFETY: as above.
    unsafe { wide::compress(states, data) }
}

/// The constant of each step: 2^32 times the sine of its number, counted from 1 (RFC 1321, 3.4).
#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];

/// The 64 steps, for any vectors that have a `step` and the four functions: which word, how far to turn.
macro_rules! steps {
    ($words:ident, $a:ident $b:ident $c:ident $d:ident) => {
        steps!(@ f 0 $words $a $b $c $d [7 12 17 22] [0 1 2 3] [4 5 6 7] [8 9 10 11] [12 13 14 15]);
        steps!(@ g 16 $words $a $b $c $d [5 9 14 20] [1 6 11 0] [5 10 15 4] [9 14 3 8] [13 2 7 12]);
        steps!(@ h 32 $words $a $b $c $d [4 11 16 23] [5 8 11 14] [1 4 7 10] [13 0 3 6] [9 12 15 2]);
        steps!(@ i 48 $words $a $b $c $d [6 10 15 21] [0 7 14 5] [12 3 10 1] [8 15 6 13] [4 11 2 9]);
    };
    (@ $f:ident $first:literal $words:ident $a:ident $b:ident $c:ident $d:ident
        $turns:tt $one:tt $two:tt $three:tt $four:tt) => {
        steps!(@@ $f $first $words $a $b $c $d $turns $one);
        steps!(@@ $f ($first + 4) $words $a $b $c $d $turns $two);
        steps!(@@ $f ($first + 8) $words $a $b $c $d $turns $three);
        steps!(@@ $f ($first + 12) $words $a $b $c $d $turns $four);
    };
    (@@ $f:ident $at:tt $words:ident $a:ident $b:ident $c:ident $d:ident
        [$r:literal $s:literal $t:literal $u:literal] [$i:literal $j:literal $k:literal $l:literal]) => {
        $a = step::<$r, { 32 - $r }>($f($b, $c, $d), $a, $b, $words[$i], SINES[$at]);
        $d = step::<$s, { 32 - $s }>($f($a, $b, $c), $d, $a, $words[$j], SINES[$at + 1]);
        $c = step::<$t, { 32 - $t }>($f($d, $a, $b), $c, $d, $words[$k], SINES[$at + 2]);
        $b = step::<$u, { 32 - $u }>($f($c, $d, $a), $b, $c, $words[$l], SINES[$at + 3]);
    };
}

/// The function that takes the lanes through their data, for vectors `$V` with these features.
macro_rules! compress {
    ($features:literal, $lanes:literal, $add:ident) => {
        #[target_feature(enable = $features)]
        pub(super) fn compress(states: &mut States<$lanes>, data: &[&[[u8; CHUNK]]; $lanes]) {
            let [mut a, mut b, mut c, mut d] = [pack(states[0]), pack(states[1]), pack(states[2]), pack(states[3])];
            let chunks = data.iter().map(|data| data.len()).min().unwrap_or(0);
            for at in 0..chunks {
                let words = words(data, at);
                let before = (a, b, c, d);
                steps!(words, a b c d);
                (a, b, c, d) = ($add(a, before.0), $add(b, before.1), $add(c, before.2), $add(d, before.3));
            }
            *states = [unpack(a), unpack(b), unpack(c), unpack(d)];
        }
    };
}

/// The four functions and the step, for vectors `$V` of AVX-512, which has any function of three words in one
/// instruction: its number is the function's truth table.
macro_rules! functions {
    ($features:literal, $V:ty, $of_three:ident, $add:ident, $all:ident, $turn:ident) => {
        #[target_feature(enable = $features)]
        #[inline]
        fn f(b: $V, c: $V, d: $V) -> $V {
            $of_three::<0xca>(b, c, d)
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn g(b: $V, c: $V, d: $V) -> $V {
            $of_three::<0xe4>(b, c, d)
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn h(b: $V, c: $V, d: $V) -> $V {
            $of_three::<0x96>(b, c, d)
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn i(b: $V, c: $V, d: $V) -> $V {
            $of_three::<0x39>(b, c, d)
        }

        /// One step; all but the result of the one before is added early.
        #[target_feature(enable = $features)]
        #[inline]
        fn step<const LEFT: i32, const _RIGHT: i32>(f: $V, a: $V, b: $V, word: $V, sine: u32) -> $V {
            let sum = $add($add(a, $add(word, $all(sine as i32))), f);
            $add(b, $turn::<LEFT>(sum))
        }
    };
}

/// Eight bytes of a chunk.
fn quad(chunk: &[u8; CHUNK], index: usize) -> i64 {
    i64::from_le_bytes(chunk.as_chunks().0[index])
}

mod avx2 {
    use super::*;

    compress!("avx2", 8, _mm256_add_epi32);

    #[target_feature(enable = "avx2")]
    #[inline]
    fn f(b: __m256i, c: __m256i, d: __m256i) -> __m256i {
        _mm256_xor_si256(d, _mm256_and_si256(b, _mm256_xor_si256(c, d)))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn g(b: __m256i, c: __m256i, d: __m256i) -> __m256i {
        _mm256_or_si256(_mm256_and_si256(d, b), _mm256_andnot_si256(d, c))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn h(b: __m256i, c: __m256i, d: __m256i) -> __m256i {
        _mm256_xor_si256(b, _mm256_xor_si256(c, d))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn i(b: __m256i, c: __m256i, d: __m256i) -> __m256i {
        _mm256_xor_si256(c, _mm256_or_si256(b, _mm256_xor_si256(d, _mm256_set1_epi32(-1))))
    }

    /// One step; all but the result of the one before is added early.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn step<const LEFT: i32, const RIGHT: i32>(
        f: __m256i,
        a: __m256i,
        b: __m256i,
        word: __m256i,
        sine: u32,
    ) -> __m256i {
        let sum =
            _mm256_add_epi32(_mm256_add_epi32(a, _mm256_add_epi32(word, _mm256_set1_epi32(sine as i32))), f);
        let turned = _mm256_or_si256(_mm256_slli_epi32::<LEFT>(sum), _mm256_srli_epi32::<RIGHT>(sum));
        _mm256_add_epi32(b, turned)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn pack(words: [u32; 8]) -> __m256i {
        let [a, b, c, d, e, f, g, h] = words.map(u32::cast_signed);
        _mm256_setr_epi32(a, b, c, d, e, f, g, h)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn unpack(v: __m256i) -> [u32; 8] {
        let (a, b) = (_mm256_extract_epi32::<0>(v), _mm256_extract_epi32::<1>(v));
        let (c, d) = (_mm256_extract_epi32::<2>(v), _mm256_extract_epi32::<3>(v));
        let (e, f) = (_mm256_extract_epi32::<4>(v), _mm256_extract_epi32::<5>(v));
        let (g, h) = (_mm256_extract_epi32::<6>(v), _mm256_extract_epi32::<7>(v));
        [a, b, c, d, e, f, g, h].map(i32::cast_unsigned)
    }

    /// The 16 words of chunk `at`, each of all lanes.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn words(data: &[&[[u8; CHUNK]]; 8], at: usize) -> [__m256i; 16] {
        // The compiler makes one load of these.
        let row = |lane: usize, half: usize| {
            let [a, b, c, d] = from_fn(|index| quad(&data[lane][at], half * 4 + index));
            _mm256_setr_epi64x(a, b, c, d)
        };
        let first = transpose(from_fn(|lane| row(lane, 0)));
        let second = transpose(from_fn(|lane| row(lane, 1)));
        from_fn(|word| if word < 8 { first[word] } else { second[word - 8] })
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn transpose(rows: [__m256i; 8]) -> [__m256i; 8] {
        // Four rows at a time: `fours[n][w]` has their words w and w + 4.
        let fours: [[__m256i; 4]; 2] = from_fn(|n| {
            let [a, b, c, d] = from_fn(|row| rows[n * 4 + row]);
            let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
            let (ab_high, cd_high) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
            [
                _mm256_unpacklo_epi64(ab, cd),
                _mm256_unpackhi_epi64(ab, cd),
                _mm256_unpacklo_epi64(ab_high, cd_high),
                _mm256_unpackhi_epi64(ab_high, cd_high),
            ]
        });
        from_fn(|word| match word {
            0..4 => _mm256_permute2x128_si256::<0x20>(fours[0][word], fours[1][word]),
            _ => _mm256_permute2x128_si256::<0x31>(fours[0][word - 4], fours[1][word - 4]),
        })
    }
}

mod avx512 {
    use super::avx2::{pack, unpack, words};
    use super::*;

    compress!("avx2,avx512f,avx512vl", 8, _mm256_add_epi32);

    functions!(
        "avx2,avx512f,avx512vl",
        __m256i,
        _mm256_ternarylogic_epi32,
        _mm256_add_epi32,
        _mm256_set1_epi32,
        _mm256_rol_epi32
    );
}

mod wide {
    use super::*;

    compress!("avx2,avx512f", 16, _mm512_add_epi32);

    functions!(
        "avx2,avx512f",
        __m512i,
        _mm512_ternarylogic_epi32,
        _mm512_add_epi32,
        _mm512_set1_epi32,
        _mm512_rol_epi32
    );

    #[target_feature(enable = "avx2,avx512f")]
    #[inline]
    fn pack(words: [u32; 16]) -> __m512i {
        let half = |at: usize| avx2::pack(from_fn(|lane| words[at + lane]));
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(half(0)), half(8))
    }

    #[target_feature(enable = "avx2,avx512f")]
    #[inline]
    fn unpack(v: __m512i) -> [u32; 16] {
        let low = avx2::unpack(_mm512_extracti64x4_epi64::<0>(v));
        let high = avx2::unpack(_mm512_extracti64x4_epi64::<1>(v));
        from_fn(|lane| if lane < 8 { low[lane] } else { high[lane - 8] })
    }

    #[target_feature(enable = "avx2,avx512f")]
    #[inline]
    fn load(chunk: &[u8; CHUNK]) -> __m512i {
        let [a, b, c, d, e, f, g, h] = from_fn(|index| quad(chunk, index));
        _mm512_setr_epi64(a, b, c, d, e, f, g, h)
    }

    /// The 16 words of chunk `at`, each of all lanes.
    #[target_feature(enable = "avx2,avx512f")]
    #[inline]
    fn words(data: &[&[[u8; CHUNK]]; 16], at: usize) -> [__m512i; 16] {
        // Words 0 to 3 of four lanes, each with the words 4, 8 and 12 after it. No function, because it
        // would not be inlined.
        macro_rules! four {
            ($lane:literal) => {{
                let (a, b) = (load(&data[$lane][at]), load(&data[$lane + 1][at]));
                let (c, d) = (load(&data[$lane + 2][at]), load(&data[$lane + 3][at]));
                let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
                let (ab_high, cd_high) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
                [
                    _mm512_unpacklo_epi64(ab, cd),
                    _mm512_unpackhi_epi64(ab, cd),
                    _mm512_unpacklo_epi64(ab_high, cd_high),
                    _mm512_unpackhi_epi64(ab_high, cd_high),
                ]
            }};
        }
        let fours = [four!(0), four!(4), four!(8), four!(12)];
        // Then the quarters of the four of each word.
        let columns: [[__m512i; 4]; 4] = from_fn(|word| {
            let [a, b, c, d] = from_fn(|n| fours[n][word]);
            let (ab_even, cd_even) = (_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0x88>(c, d));
            let (ab_odd, cd_odd) = (_mm512_shuffle_i32x4::<0xdd>(a, b), _mm512_shuffle_i32x4::<0xdd>(c, d));
            [
                _mm512_shuffle_i32x4::<0x88>(ab_even, cd_even),
                _mm512_shuffle_i32x4::<0x88>(ab_odd, cd_odd),
                _mm512_shuffle_i32x4::<0xdd>(ab_even, cd_even),
                _mm512_shuffle_i32x4::<0xdd>(ab_odd, cd_odd),
            ]
        });
        from_fn(|word| columns[word % 4][word / 4])
    }
}
