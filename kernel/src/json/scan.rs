//! Where the tokens of a document begin: 64 bytes at a time, without a branch per byte.
//!
//! A token is one of `{ } [ ] : ,`, the opening quote of a string, or the first byte of anything
//! else that is no white space. Strings are checked here: that they end, that they have no control
//! characters, that their escapes are right, that the document is UTF-8. Everything else is up to
//! whoever walks the tokens.

/// The document is not valid JSON, or not such that this crate can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// The tokens of one document. Reused from document to document, for its memory.
#[derive(Default)]
pub struct Scan {
    tokens: Vec<u32>,
    /// The first byte of each token: whoever walks them need not wait for the document.
    firsts: Vec<u8>,
    count: usize,
    pub has_escapes: bool,
}

/// Positions after the last token that are there to be looked at: they point behind the document.
const SPARE: usize = 8;
const BLOCK: usize = 64;
const LARGEST: usize = 1 << 30;

impl Scan {
    /// The positions of the tokens, then some that point behind the document.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens[..self.count + SPARE]
    }

    /// The first byte of each token; 0, which begins none, behind the document.
    pub fn firsts(&self) -> &[u8] {
        &self.firsts[..self.count + SPARE]
    }

    /// Finds the tokens of a document, or that its strings are not right.
    pub fn run(&mut self, document: &[u8]) -> Result<(), Refused> {
        if document.len() > LARGEST {
            return Err(Refused);
        }
        self.count = 0;
        self.has_escapes = false;
        let found = scan(self, document);
        let end = document.len() as u32;
        self.reserve();
        self.tokens[self.count..self.count + SPARE].fill(end);
        self.firsts[self.count..self.count + SPARE].fill(0);
        if found? && simdutf8::basic::from_utf8(document).is_err() {
            return Err(Refused);
        }
        Ok(())
    }

    fn reserve(&mut self) {
        if self.tokens.len() < self.count + BLOCK {
            self.tokens.resize((self.count + BLOCK) * 2, 0);
            self.firsts.resize(self.tokens.len(), 0);
        }
    }

    /// Appends the tokens at the bits of a block.
    #[inline(always)]
    fn push(&mut self, start: usize, bytes: &[u8; BLOCK], bits: u64, push: &impl Push) {
        self.reserve();
        let range = self.count..self.count + BLOCK;
        let places = (&mut self.tokens[range.clone()]).try_into();
        let firsts = (&mut self.firsts[range]).try_into();
        let (Ok(places), Ok(firsts)) = (places, firsts) else { return }; // both are 64 long
        push(places, firsts, start as u32, bytes, bits);
        self.count += bits.count_ones() as usize;
    }
}

/// Writes the positions of the bits of a block that begins at a place, and the bytes there. What is
/// written after them does not matter.
trait Push: Fn(&mut [u32; BLOCK], &mut [u8; BLOCK], u32, &[u8; BLOCK], u64) {}
impl<F: Fn(&mut [u32; BLOCK], &mut [u8; BLOCK], u32, &[u8; BLOCK], u64)> Push for F {}

/// What the bytes of a block are: bit i is byte i.
#[derive(Default, Clone, Copy)]
struct Block {
    quotes: u64,
    backslashes: u64,
    operators: u64,
    spaces: u64,
    controls: u64,
    beyond_ascii: u64,
}

/// What the blocks before have left open.
#[derive(Default)]
struct Open {
    /// All ones within a string.
    string: u64,
    /// 1 when the first byte is escaped.
    escaped: u64,
    /// 1 when the byte before belongs to a number or literal.
    scalar: u64,
    beyond_ascii: u64,
    wrong: u64,
}

/// Scans a document; answers with whether it has bytes beyond ASCII.
fn scan(out: &mut Scan, document: &[u8]) -> Result<bool, Refused> {
    #[cfg(target_arch = "x86_64")]
    {
        if avx512::is_there() {
            // SAFETY: the function needs nothing of its caller but a processor with the features
            // that have just been found.
            return unsafe { avx512::scan(out, document) };
        }
        if avx2::is_there() {
            // SAFETY: as above.
            return unsafe { avx2::scan(out, document) };
        }
    }
    scan_with(out, document, classify, prefix_xor, push)
}

#[inline(always)]
fn scan_with(
    out: &mut Scan,
    document: &[u8],
    classify: impl Fn(&[u8; BLOCK]) -> Block,
    prefix_xor: impl Fn(u64) -> u64,
    push: impl Push,
) -> Result<bool, Refused> {
    let mut open = Open::default();
    let (blocks, rest) = document.as_chunks::<BLOCK>();
    for (number, bytes) in blocks.iter().enumerate() {
        let tokens = step(out, document, number * BLOCK, classify(bytes), &mut open, &prefix_xor)?;
        out.push(number * BLOCK, bytes, tokens, &push);
    }
    if !rest.is_empty() {
        let mut padded = [b' '; BLOCK];
        padded[..rest.len()].copy_from_slice(rest);
        let start = blocks.len() * BLOCK;
        let tokens = step(out, document, start, classify(&padded), &mut open, &prefix_xor)?;
        out.push(start, &padded, tokens, &push);
    }
    if open.wrong != 0 || open.string != 0 || open.escaped != 0 {
        return Err(Refused);
    }
    Ok(open.beyond_ascii != 0)
}

/// The tokens of a block.
#[inline(always)]
fn step(
    out: &mut Scan,
    document: &[u8],
    start: usize,
    block: Block,
    open: &mut Open,
    prefix_xor: &impl Fn(u64) -> u64,
) -> Result<u64, Refused> {
    let mut quotes = block.quotes;
    if block.backslashes | open.escaped != 0 {
        quotes &= !escaped(out, document, start, block.backslashes, open)?;
    }
    // From each opening quote up to, but without, the closing one.
    let strings = prefix_xor(quotes) ^ open.string;
    open.string = ((strings as i64) >> 63) as u64;
    open.wrong |= block.controls & strings;
    open.beyond_ascii |= block.beyond_ascii;
    // A scalar begins where something is neither operator nor space, and does not continue one. A
    // quote right after a number is no beginning: whoever reads the number will find the quote.
    let scalars = !(block.operators | block.spaces);
    let plain = scalars & !quotes;
    let continued = plain << 1 | open.scalar;
    open.scalar = plain >> 63;
    let inside_or_closing = strings ^ quotes;
    Ok((block.operators | (scalars & !continued)) & !inside_or_closing)
}

/// Which bytes of a block are escaped. Wrong escapes are refused, wherever they stand: outside of
/// strings every backslash is wrong.
#[cold]
#[inline(never)]
fn escaped(
    out: &mut Scan,
    document: &[u8],
    start: usize,
    backslashes: u64,
    open: &mut Open,
) -> Result<u64, Refused> {
    out.has_escapes = true;
    let mut escaped = open.escaped;
    let mut left = backslashes & !open.escaped;
    open.escaped = 0;
    while left != 0 {
        let place = left.trailing_zeros();
        let after = start + place as usize + 1;
        match document.get(after) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {}
            Some(b'u') => {
                let digits = document.get(after + 1..after + 5).ok_or(Refused)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(Refused);
                }
            }
            _ => return Err(Refused),
        }
        left &= left - 1;
        if place == 63 {
            open.escaped = 1;
        } else {
            escaped |= 2 << place;
            left &= !(2 << place);
        }
    }
    Ok(escaped)
}

// --- without SIMD ---------------------------------------------------------------------------------

const QUOTE: u8 = 1;
const BACKSLASH: u8 = 2;
const OPERATOR: u8 = 4;
const SPACE: u8 = 8;
const CONTROL: u8 = 16;
const BEYOND_ASCII: u8 = 32;

static KINDS: [u8; 256] = kinds();

const fn kinds() -> [u8; 256] {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            b'"' => QUOTE,
            b'\\' => BACKSLASH,
            b'{' | b'}' | b'[' | b']' | b':' | b',' => OPERATOR,
            b' ' => SPACE,
            b'\t' | b'\n' | b'\r' => SPACE | CONTROL,
            0..0x20 => CONTROL,
            0x80.. => BEYOND_ASCII,
            _ => 0,
        };
        byte += 1;
    }
    kinds
}

/// May a number or literal end before this byte?
#[inline(always)]
pub fn ends_scalar(byte: u8) -> bool {
    KINDS[byte as usize] & (OPERATOR | SPACE) != 0
}

fn classify(bytes: &[u8; BLOCK]) -> Block {
    let mut block = Block::default();
    for (place, byte) in bytes.iter().enumerate() {
        let kind = KINDS[*byte as usize];
        let bit = |of: u8| u64::from(kind & of != 0) << place;
        block.quotes |= bit(QUOTE);
        block.backslashes |= bit(BACKSLASH);
        block.operators |= bit(OPERATOR);
        block.spaces |= bit(SPACE);
        block.controls |= bit(CONTROL);
        block.beyond_ascii |= bit(BEYOND_ASCII);
    }
    block
}

#[inline(always)]
fn push(
    places: &mut [u32; BLOCK],
    firsts: &mut [u8; BLOCK],
    start: u32,
    bytes: &[u8; BLOCK],
    mut bits: u64,
) {
    // Eight at a time whether or not there are so many: that saves a branch for each.
    for (places, firsts) in
        places.as_chunks_mut::<8>().0.iter_mut().zip(firsts.as_chunks_mut::<8>().0)
    {
        if bits == 0 {
            return;
        }
        for (place, first) in places.iter_mut().zip(firsts) {
            let bit = bits.trailing_zeros();
            *place = start.wrapping_add(bit);
            *first = bytes[bit as usize % BLOCK];
            bits &= bits.wrapping_sub(1);
        }
    }
}

/// Bit i of the result says whether the number of bits up to and with bit i is odd.
fn prefix_xor(mut bits: u64) -> u64 {
    for distance in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << distance;
    }
    bits
}

// --- AVX2 -----------------------------------------------------------------------------------------

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{BLOCK, Block, Refused, Scan, push, scan_with};
    use std::arch::x86_64::*;

    pub(super) fn is_there() -> bool {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("popcnt")
    }

    #[target_feature(enable = "avx2,pclmulqdq,bmi1,popcnt")]
    pub(super) fn scan(out: &mut Scan, document: &[u8]) -> Result<bool, Refused> {
        scan_with(out, document, |bytes| classify(bytes), |bits| prefix_xor(bits), push)
    }

    #[target_feature(enable = "pclmulqdq")]
    pub(super) fn prefix_xor(bits: u64) -> u64 {
        // A product without carries with all ones: each bit is added to all bits above it.
        let product = _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, bits as i64), _mm_set1_epi8(-1));
        _mm_cvtsi128_si64(product) as u64
    }

    #[target_feature(enable = "avx2")]
    fn classify(bytes: &[u8; BLOCK]) -> Block {
        // SAFETY: both loads lie within the 64 bytes, and need no alignment.
        let (low, high) = unsafe {
            let start = bytes.as_ptr();
            (_mm256_loadu_si256(start.cast()), _mm256_loadu_si256(start.add(32).cast()))
        };
        let (low_kinds, high_kinds) = (operators_and_spaces(low), operators_and_spaces(high));
        Block {
            quotes: join(equal(low, b'"'), equal(high, b'"')),
            backslashes: join(equal(low, b'\\'), equal(high, b'\\')),
            operators: join(low_kinds.0, high_kinds.0),
            spaces: join(low_kinds.1, high_kinds.1),
            controls: join(control(low), control(high)),
            beyond_ascii: join(low, high),
        }
    }

    /// The highest bits of all bytes.
    #[target_feature(enable = "avx2")]
    fn join(low: __m256i, high: __m256i) -> u64 {
        let (low, high) = (_mm256_movemask_epi8(low), _mm256_movemask_epi8(high));
        u64::from(low as u32) | u64::from(high as u32) << 32
    }

    #[target_feature(enable = "avx2")]
    fn equal(bytes: __m256i, byte: u8) -> __m256i {
        _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte as i8))
    }

    #[target_feature(enable = "avx2")]
    fn control(bytes: __m256i) -> __m256i {
        _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes)
    }

    /// Each half of a byte selects a set of groups, and a byte is in the groups that both select:
    /// 1 is `,`, 2 is `:`, 4 are the brackets, 8 are TAB, LF and CR, 16 is the space.
    #[target_feature(enable = "avx2")]
    fn operators_and_spaces(bytes: __m256i) -> (__m256i, __m256i) {
        #[rustfmt::skip]
        let by_low = _mm256_setr_epi8(
            16, 0, 0, 0, 0, 0, 0, 0, 0, 8, 8 | 2, 4, 1, 8 | 4, 0, 0,
            16, 0, 0, 0, 0, 0, 0, 0, 0, 8, 8 | 2, 4, 1, 8 | 4, 0, 0,
        );
        #[rustfmt::skip]
        let by_high = _mm256_setr_epi8(
            8, 0, 16 | 1, 2, 0, 4, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0,
            8, 0, 16 | 1, 2, 0, 4, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0,
        );
        let nibble = _mm256_set1_epi8(0x0f);
        let groups = _mm256_and_si256(
            _mm256_shuffle_epi8(by_low, bytes),
            _mm256_shuffle_epi8(by_high, _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), nibble)),
        );
        let operators = _mm256_and_si256(groups, _mm256_set1_epi8(7));
        let spaces = _mm256_and_si256(groups, _mm256_set1_epi8(24));
        let zero = _mm256_setzero_si256();
        (_mm256_cmpgt_epi8(operators, zero), _mm256_cmpgt_epi8(spaces, zero))
    }
}

// --- AVX-512 --------------------------------------------------------------------------------------

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::avx2::prefix_xor;
    use super::{BLOCK, Block, Refused, Scan, scan_with};
    use std::arch::x86_64::*;

    pub(super) fn is_there() -> bool {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi2")
            && super::avx2::is_there()
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx2,pclmulqdq,bmi1,popcnt")]
    pub(super) fn scan(out: &mut Scan, document: &[u8]) -> Result<bool, Refused> {
        scan_with(
            out,
            document,
            |bytes| classify(bytes),
            |bits| prefix_xor(bits),
            |places, firsts, start, bytes, bits| push(places, firsts, start, bytes, bits),
        )
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    fn classify(bytes: &[u8; BLOCK]) -> Block {
        let bytes = from_bytes(bytes);
        let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8));
        // The same groups as with AVX2.
        #[rustfmt::skip]
        let by_low = _mm512_broadcast_i32x4(_mm_setr_epi8(
            16, 0, 0, 0, 0, 0, 0, 0, 0, 8, 8 | 2, 4, 1, 8 | 4, 0, 0,
        ));
        #[rustfmt::skip]
        let by_high = _mm512_broadcast_i32x4(_mm_setr_epi8(
            8, 0, 16 | 1, 2, 0, 4, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0,
        ));
        let high = _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), _mm512_set1_epi8(0x0f));
        let groups = _mm512_and_si512(
            _mm512_shuffle_epi8(by_low, bytes),
            _mm512_shuffle_epi8(by_high, high),
        );
        Block {
            quotes: equal(b'"'),
            backslashes: equal(b'\\'),
            operators: _mm512_test_epi8_mask(groups, _mm512_set1_epi8(7)),
            spaces: _mm512_test_epi8_mask(groups, _mm512_set1_epi8(24)),
            controls: _mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(0x20)),
            beyond_ascii: _mm512_movepi8_mask(bytes),
        }
    }

    /// The numbers 0 to 63, and the bytes, without those whose bit is not set.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    fn push(
        places: &mut [u32; BLOCK],
        firsts: &mut [u8; BLOCK],
        start: u32,
        bytes: &[u8; BLOCK],
        bits: u64,
    ) {
        *firsts = to_bytes(_mm512_maskz_compress_epi8(bits, from_bytes(bytes)));
        let numbers = _mm512_maskz_compress_epi8(bits, from_bytes(&NUMBERS));
        let start = _mm512_set1_epi32(start as i32);
        let count = bits.count_ones();
        let places = places.as_chunks_mut::<16>().0;
        let quarter = |numbers: __m128i| _mm512_add_epi32(_mm512_cvtepu8_epi32(numbers), start);
        store(&mut places[0], quarter(_mm512_castsi512_si128(numbers)));
        if count > 16 {
            store(&mut places[1], quarter(_mm512_extracti32x4_epi32::<1>(numbers)));
        }
        if count > 32 {
            store(&mut places[2], quarter(_mm512_extracti32x4_epi32::<2>(numbers)));
            store(&mut places[3], quarter(_mm512_extracti32x4_epi32::<3>(numbers)));
        }
    }

    const NUMBERS: [u8; BLOCK] = {
        let mut numbers = [0; BLOCK];
        let mut number = 0;
        while number < BLOCK {
            numbers[number] = number as u8;
            number += 1;
        }
        numbers
    };

    #[target_feature(enable = "avx512f")]
    fn from_bytes(bytes: &[u8; BLOCK]) -> __m512i {
        // SAFETY: the load is of the 64 bytes, and needs no alignment.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    fn to_bytes(values: __m512i) -> [u8; BLOCK] {
        let mut bytes = [0; BLOCK];
        // SAFETY: the store is of the 64 bytes, and needs no alignment.
        unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), values) }
        bytes
    }

    #[target_feature(enable = "avx512f")]
    fn store(out: &mut [u32; 16], values: __m512i) {
        // SAFETY: 16 values of 32 bits are the 64 bytes that are written; no alignment is needed.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), values) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(document: &[u8]) -> Result<Vec<u32>, Refused> {
        let mut scan = Scan::default();
        scan.run(document)?;
        Ok(scan.tokens()[..scan.count].to_vec())
    }

    #[test]
    fn tokens_are_operators_and_beginnings() {
        assert_eq!(
            tokens(br#"{"a": 12, "b,": [true]}"#),
            Ok(vec![0, 1, 4, 6, 8, 10, 14, 16, 17, 21, 22])
        );
        assert_eq!(tokens(b""), Ok(vec![]));
    }

    #[test]
    fn strings_are_checked() {
        for wrong in
            [&br#"""#[..], br#""\""#, br#""\x""#, br#""\u12g4""#, b"\"\n\"", b"\"\xff\"", b"\\"]
        {
            assert_eq!(tokens(wrong), Err(Refused), "{wrong:?}");
        }
        assert_eq!(tokens(br#""\\""#), Ok(vec![0]));
        assert_eq!(tokens(br#""\\\"\u12aF\/""#), Ok(vec![0]));
    }

    type Way = fn(&mut Scan, &[u8]) -> Result<bool, Refused>;

    fn ways() -> Vec<Way> {
        let mut ways: Vec<Way> =
            vec![|out, document| scan_with(out, document, classify, prefix_xor, push)];
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: the processor has been asked whether it has what the functions need.
            if avx2::is_there() {
                ways.push(|out, document| unsafe { avx2::scan(out, document) });
            }
            if avx512::is_there() {
                ways.push(|out, document| unsafe { avx512::scan(out, document) });
            }
        }
        ways
    }

    /// The same with and without SIMD, wherever a block ends.
    #[test]
    fn all_ways_agree() {
        let alphabet = b"\"\\\"{}[]:, \n\t\r\x01az09-u\x0c\x1a\x7f\xc3\xa9{}[]:,{}[]:,";
        let mut state = 1u64;
        for round in 0..6_000 {
            let mut document = Vec::new();
            for _ in 0..round % 200 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let mut byte = alphabet[(state >> 33) as usize % alphabet.len()];
                if (byte == b'\\' && round % 2 == 0) || (byte == b'"' && round % 3 == 0) {
                    byte = b'x'; // most documents would be refused right away, or be one string
                }
                document.push(byte);
            }
            let found: Vec<_> = ways()
                .into_iter()
                .map(|way| {
                    let mut scan = Scan::default();
                    let result = way(&mut scan, &document);
                    scan.tokens.truncate(scan.count);
                    scan.firsts.truncate(scan.count);
                    (result, result.is_ok().then_some((scan.tokens, scan.firsts)))
                })
                .collect();
            if let Some((tokens, firsts)) = &found[0].1 {
                assert!(
                    tokens.iter().zip(firsts).all(|(at, byte)| document[*at as usize] == *byte)
                );
            }
            assert!(found.windows(2).all(|two| two[0] == two[1]), "{document:?}: {found:?}");
        }
    }

    #[test]
    fn every_byte_is_classified_alike() {
        for byte in 0..=255 {
            for way in ways() {
                let mut scan = Scan::default();
                let is_token = way(&mut scan, &[byte]).is_ok() && scan.count == 1;
                let expected = !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\\');
                assert_eq!(is_token, expected, "{byte}");
            }
        }
    }
}
