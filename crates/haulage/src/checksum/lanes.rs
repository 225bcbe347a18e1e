//! The MD5 of several messages side by side, one in each lane of a vector.

use md5::Digest as _;

/// The four words of a state, each for `N` lanes.
pub(super) type States<const N: usize> = [[u32; N]; 4];

/// Takes every lane's state over the same number of 64-byte chunks of its own data.
pub(super) type Compress<const N: usize> = fn(&mut States<N>, &[&[[u8; CHUNK]]; N]);

/// What MD5 takes at once.
pub(super) const CHUNK: usize = 64;

/// The state before the first byte (RFC 1321, 3.3).
const SEED: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// The vectors of this processor.
#[derive(Clone, Copy)]
pub(super) struct Vectors {
    pub(super) eight: Compress<8>,
    pub(super) sixteen: Option<Compress<16>>,
}

/// How many messages are hashed at once on this processor; 1 where it has no vectors that we know.
pub(super) fn width() -> usize {
    vectors().map_or(1, |vectors| if vectors.sixteen.is_some() { 16 } else { 8 })
}

#[cfg(target_arch = "x86_64")]
fn vectors() -> Option<Vectors> {
    super::x86::vectors()
}

#[cfg(not(target_arch = "x86_64"))]
fn vectors() -> Option<Vectors> {
    None
}

/// The MD5 of each input, in their order.
pub(super) fn digests(inputs: &[&[u8]]) -> Vec<[u8; 16]> {
    match vectors() {
        Some(vectors) if inputs.len() > 1 => side_by_side(inputs, vectors),
        _ => inputs.iter().map(|input| md5::Md5::digest(input).into()).collect(),
    }
}

fn side_by_side(inputs: &[&[u8]], vectors: Vectors) -> Vec<[u8; 16]> {
    // Those of about the same length go together, lest lanes idle.
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    order.sort_by_key(|&index| inputs[index].len());
    let mut digests = vec![[0; 16]; inputs.len()];
    let mut left = order.as_slice();
    while !left.is_empty() {
        let sixteen = vectors.sixteen.filter(|_| left.len() > 8);
        let (group, rest) = left.split_at(left.len().min(if sixteen.is_some() { 16 } else { 8 }));
        match sixteen {
            Some(compress) => hash_group(inputs, group, compress, &mut digests),
            None => hash_group(inputs, group, vectors.eight, &mut digests),
        }
        left = rest;
    }
    digests
}

/// Hashes the inputs that `group` names, at most `N`.
fn hash_group<const N: usize>(
    inputs: &[&[u8]],
    group: &[usize],
    compress: Compress<N>,
    digests: &mut [[u8; 16]],
) {
    let mut bodies: [&[[u8; CHUNK]]; N] = [&[]; N];
    let mut ends = [([[0; CHUNK]; 2], 0); N];
    for (lane, &index) in group.iter().enumerate() {
        let (body, rest) = inputs[index].as_chunks();
        bodies[lane] = body;
        ends[lane] = end(rest, inputs[index].len());
    }
    let mut states = SEED.map(|word| [word; N]);
    advance(&mut states, bodies, compress);
    advance(&mut states, std::array::from_fn(|lane| &ends[lane].0[..ends[lane].1]), compress);
    for (lane, &index) in group.iter().enumerate() {
        for (bytes, word) in digests[index].chunks_exact_mut(4).zip(&states) {
            bytes.copy_from_slice(&word[lane].to_le_bytes());
        }
    }
}

/// The last chunks of a message of `len` bytes: the rest, a one bit, zeros, the length in bits.
fn end(rest: &[u8], len: usize) -> ([[u8; CHUNK]; 2], usize) {
    let mut end = [[0; CHUNK]; 2];
    let bits = (len as u64).wrapping_mul(8).to_le_bytes();
    end[0][..rest.len()].copy_from_slice(rest);
    end[0][rest.len()] = 0x80;
    let chunks = if rest.len() < CHUNK - 8 { 1 } else { 2 };
    end[chunks - 1][CHUNK - 8..].copy_from_slice(&bits);
    (end, chunks)
}

/// Takes every state over all of its data; a lane whose data ends keeps its state.
fn advance<const N: usize>(states: &mut States<N>, mut left: [&[[u8; CHUNK]]; N], compress: Compress<N>) {
    while let Some(busy) = left.iter().copied().filter(|data| !data.is_empty()).min_by_key(|data| data.len())
    {
        let before = *states;
        // A lane at its end goes with another's data, because a vector cannot leave one out.
        compress(states, &left.map(|data| if data.is_empty() { busy } else { &data[..busy.len()] }));
        for (lane, data) in left.iter_mut().enumerate() {
            if data.is_empty() {
                (0..4).for_each(|word| states[word][lane] = before[word][lane]);
            } else {
                *data = &data[busy.len()..];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every set of vectors of this processor, the narrow ones too.
    fn kinds() -> Vec<Vectors> {
        #[cfg(target_arch = "x86_64")]
        return super::super::x86::all();
        #[cfg(not(target_arch = "x86_64"))]
        Vec::new()
    }

    fn check(inputs: &[Vec<u8>]) -> Result<(), TestCaseError> {
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let wanted: Vec<[u8; 16]> = inputs.iter().map(|input| md5::Md5::digest(input).into()).collect();
        prop_assert_eq!(&digests(&inputs), &wanted);
        for vectors in kinds() {
            prop_assert_eq!(&side_by_side(&inputs, vectors), &wanted);
        }
        Ok(())
    }

    #[test]
    fn every_length_around_the_ends_of_chunks() {
        for count in [1, 2, 7, 8, 9, 16, 17, 33] {
            let inputs: Vec<Vec<u8>> =
                (0..200).map(|len| (0..len).map(|at| (at * 7 + len) as u8).collect()).collect();
            inputs.chunks(count).for_each(|inputs| check(inputs).unwrap());
        }
    }

    #[test]
    fn nothing_has_no_digest() {
        assert!(digests(&[]).is_empty());
    }

    proptest! {
        // Some thirty inputs each.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn many_agree_with_the_digest_of_each(
            inputs in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(any::<u8>(), 0..300),
                    prop::collection::vec(any::<u8>(), 4096),
                    prop::collection::vec(any::<u8>(), 0..9000),
                ],
                0..40,
            ),
        ) {
            check(&inputs)?;
        }
    }
}
