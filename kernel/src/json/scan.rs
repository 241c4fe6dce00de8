//! Where the tokens of a document begin, and whether it is valid: 64 bytes at a time, without a
//! branch per byte.
//!
//! A token is one of `{ } [ ] : ,`, the opening quote of a string, or the first byte of anything
//! else that is no white space. A document that is not refused here is valid JSON, and an object
//! or an array: whoever walks its tokens may step over what he does not want.

use super::grammar::{CONTEXT, Grammar, NOTHING_BEFORE, Open as OpenBrackets, STEP};
use super::literal;
use super::number::Number;
use super::numerals::Numerals;
use super::simd::{BLOCK, Block, Kinds, Room, Shape, Way, plain};

/// The document is not valid JSON, or not such that this crate can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// The tokens of one document. Reused from document to document, for its memory.
#[derive(Default)]
pub struct Scan {
    tokens: Vec<u32>,
    /// The first byte of each token: whoever walks them need not wait for the document. Before them
    /// stands what the grammar wants there.
    firsts: Vec<u8>,
    /// For each token that opens an object or array: the one that closes it.
    ends: Vec<u32>,
    count: usize,
    /// The tokens of the last document that was right, as far as the grammar tells them apart.
    shape: Vec<[u8; BLOCK]>,
    /// How many these are; 0 if there was none.
    shape_count: usize,
    open: OpenBrackets,
    pub has_escapes: bool,
}

/// Positions after the last token that are there to be looked at: they point behind the document.
const SPARE: usize = 8;
const LARGEST: usize = 1 << 30;

impl Scan {
    /// The positions of the tokens, then some that point behind the document.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens[..self.count + SPARE]
    }

    /// The first byte of each token; 0, which begins none, behind the document.
    pub fn firsts(&self) -> &[u8] {
        &self.firsts[CONTEXT..CONTEXT + self.count + SPARE]
    }

    /// For each token that opens something, the one that closes it; for others, anything.
    pub fn ends(&self) -> &[u32] {
        &self.ends[..self.count + SPARE]
    }

    /// Finds the tokens of a document, or that it is not valid.
    pub fn run(&mut self, document: &[u8]) -> Result<(), Refused> {
        if document.len() > LARGEST {
            return Err(Refused);
        }
        scan(self, document)
    }

    /// Makes room for the tokens of a document, of which there are at most as many as bytes.
    #[inline(always)]
    fn reserve(&mut self, bytes: usize) {
        if self.tokens.len() < bytes + BLOCK {
            self.grow(bytes + BLOCK);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, length: usize) {
        let length = length.next_multiple_of(4096);
        // Anew, so that memory which no token reaches is never touched.
        self.tokens = vec![0; length];
        self.ends = vec![0; length];
        self.firsts = vec![0; CONTEXT + length];
        self.firsts[..CONTEXT].copy_from_slice(&NOTHING_BEFORE);
        self.shape_count = 0; // as the ends are gone
    }
}

/// Room for tokens.
struct Tokens<'a> {
    places: &'a mut [u32],
    firsts: &'a mut [u8],
}

/// What the blocks before have left open. Nobody takes its address, so it stays in registers.
#[derive(Default)]
struct Open {
    /// All ones within a string.
    string: u64,
    /// 1 when the first byte is escaped.
    escaped: u64,
    /// 1 when the byte before belongs to a number or literal.
    scalar: u64,
    backslashes: u64,
    beyond_ascii: u64,
    wrong: u64,
    numerals: Numerals,
}

fn scan(out: &mut Scan, document: &[u8]) -> Result<(), Refused> {
    #[cfg(target_arch = "x86_64")]
    {
        use super::simd::{avx2, avx512};
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
    scan_plainly(out, document)
}

fn scan_plainly(out: &mut Scan, document: &[u8]) -> Result<(), Refused> {
    let way = Way {
        classify: plain::classify,
        beyond_ascii: plain::beyond_ascii,
        kinds: plain::kinds,
        shape: plain::shape,
        prefix_xor: plain::prefix_xor,
        push: plain::push,
        tail: plain::tail,
    };
    scan_with(out, document, &way)
}

/// The scan, to be compiled for each way.
#[inline(always)]
pub fn scan_with<C, B, K, S, X, P, T>(
    out: &mut Scan,
    document: &[u8],
    way: &Way<C, B, K, S, X, P, T>,
) -> Result<(), Refused>
where
    C: Fn(&[u8; BLOCK]) -> Block,
    B: Fn(&[u8; BLOCK]) -> u64,
    K: Fn(&[u8; BLOCK]) -> Kinds,
    S: Fn(&[u8; BLOCK]) -> Shape,
    X: Fn(u64) -> u64,
    P: Fn(Room<'_>, u32, &[u8; BLOCK], u64),
    T: Fn(&[u8]) -> [u8; BLOCK],
{
    out.reserve(document.len());
    let mut open = Open::default();
    let mut count = 0;
    let mut room = Tokens { places: &mut out.tokens, firsts: &mut out.firsts[CONTEXT..] };
    let (blocks, rest) = document.as_chunks::<BLOCK>();
    for (number, bytes) in blocks.iter().enumerate() {
        count += scan_block(&mut room, count, document, number * BLOCK, bytes, &mut open, way)?;
    }
    if !rest.is_empty() {
        let (start, bytes) = (blocks.len() * BLOCK, (way.tail)(rest));
        count += scan_block(&mut room, count, document, start, &bytes, &mut open, way)?;
    }
    let count = count as usize;
    if open.wrong != 0 || open.string != 0 || open.escaped != 0 {
        return Err(Refused);
    }
    if open.beyond_ascii != 0 && simdutf8::basic::from_utf8(document).is_err() {
        return Err(Refused);
    }
    out.tokens[count..count + SPARE].fill(document.len() as u32);
    out.firsts[CONTEXT + count..CONTEXT + count + BLOCK].fill(0);
    out.count = count;
    out.has_escapes = open.backslashes != 0;
    if !has_last_shape(out, document, &way.shape)? {
        check(out, document, &way.kinds, &way.shape)?;
    }
    if open.numerals.odd != 0 { check_numbers(out, document) } else { Ok(()) }
}

/// Writes the tokens of a block, after so many; how many they are. (No closure of its caller: that
/// would not be inlined.)
#[inline(always)]
fn scan_block<C, B, K, S, X, P, T>(
    room: &mut Tokens<'_>,
    count: u32,
    document: &[u8],
    start: usize,
    bytes: &[u8; BLOCK],
    open: &mut Open,
    way: &Way<C, B, K, S, X, P, T>,
) -> Result<u32, Refused>
where
    C: Fn(&[u8; BLOCK]) -> Block,
    B: Fn(&[u8; BLOCK]) -> u64,
    X: Fn(u64) -> u64,
    P: Fn(Room<'_>, u32, &[u8; BLOCK], u64),
{
    let block = (way.classify)(bytes);
    let mut quotes = block.quotes;
    if block.backslashes | open.escaped != 0 {
        let (escaped, next) = escaped(document, start, block.backslashes, open.escaped)?;
        open.escaped = next;
        open.backslashes |= block.backslashes;
        quotes &= !escaped;
    }
    // From each opening quote up to, but without, the closing one.
    let strings = (way.prefix_xor)(quotes) ^ open.string;
    open.string = ((strings as i64) >> 63) as u64;
    if block.special != 0 {
        let beyond_ascii = (way.beyond_ascii)(bytes);
        open.beyond_ascii |= beyond_ascii;
        open.wrong |= (block.special ^ beyond_ascii) & strings; // controls
        open.wrong |= beyond_ascii & !strings;
    }
    let bits = tokens(quotes, strings, &block, open);
    let range = count as usize..count as usize + BLOCK;
    let places = room.places.get_mut(range.clone()).and_then(|places| places.try_into().ok());
    let firsts = room.firsts.get_mut(range).and_then(|firsts| firsts.try_into().ok());
    let (Some(places), Some(firsts)) = (places, firsts) else { return Err(Refused) }; // is there
    (way.push)(Room { places, firsts }, start as u32, bytes, bits);
    Ok(bits.count_ones())
}

/// The tokens of a block.
#[inline(always)]
fn tokens(quotes: u64, strings: u64, block: &Block, open: &mut Open) -> u64 {
    // A scalar begins where something is neither operator nor space, and does not continue one.
    let outside = !(strings | quotes);
    let scalars = outside & !(block.operators | block.spaces);
    let continued = scalars << 1 | open.scalar;
    open.scalar = scalars >> 63;
    let starts = scalars & !continued;
    let opening = strings & quotes;
    open.wrong |= opening & continued; // `1"a"` has no two tokens
    open.numerals.step(block, scalars, starts);
    (block.operators & outside) | starts | opening
}

/// Which bytes of a block are escaped, and 1 if the first of the next one is. Wrong escapes are
/// refused, wherever they stand: outside of strings every backslash is wrong.
#[cold]
#[inline(never)]
fn escaped(
    document: &[u8],
    start: usize,
    backslashes: u64,
    first: u64,
) -> Result<(u64, u64), Refused> {
    let mut escaped = first;
    let mut left = backslashes & !first;
    let mut next = 0;
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
            next = 1;
        } else {
            escaped |= 2 << place;
            left &= !(2 << place);
        }
    }
    Ok((escaped, next))
}

/// Is the sequence of the tokens the same as in the last document? Then it is right, and brackets
/// are closed where they were; only literals are to be checked.
#[inline(always)]
fn has_last_shape(
    out: &Scan,
    document: &[u8],
    shape: &impl Fn(&[u8; BLOCK]) -> Shape,
) -> Result<bool, Refused> {
    if out.count != out.shape_count || out.count == 0 {
        return Ok(false);
    }
    for (last, start) in out.shape.iter().zip((0..out.count).step_by(BLOCK)) {
        let shape = shape_at(out, start, shape)?;
        if shape.firsts != *last {
            return Ok(false);
        }
        check_literals(out, document, start, shape.literals)?;
    }
    Ok(true)
}

/// The shape of a block of tokens.
#[inline(always)]
fn shape_at(
    out: &Scan,
    start: usize,
    shape: &impl Fn(&[u8; BLOCK]) -> Shape,
) -> Result<Shape, Refused> {
    let Some(firsts) = out.firsts[CONTEXT + start..].first_chunk() else { return Err(Refused) }; // is there
    let there = u64::MAX >> BLOCK.saturating_sub(out.count - start);
    let shape = shape(firsts);
    Ok(Shape { literals: shape.literals & there, ..shape })
}

/// Checks the sequence of the tokens, and the literals.
#[inline(always)]
fn check(
    out: &mut Scan,
    document: &[u8],
    kinds: &impl Fn(&[u8; BLOCK]) -> Kinds,
    shape: &impl Fn(&[u8; BLOCK]) -> Shape,
) -> Result<(), Refused> {
    out.shape_count = 0;
    if !matches!(out.firsts[CONTEXT], b'{' | b'[') {
        return Err(Refused);
    }
    let count = out.count;
    let mut grammar = Grammar::new(&mut out.open, &mut out.ends);
    for start in (0..count).step_by(STEP) {
        let Some(firsts) = out.firsts[start..].first_chunk() else { return Err(Refused) }; // is there
        let there = u64::MAX >> STEP.saturating_sub(count - start) & u64::MAX << CONTEXT;
        grammar.step(&kinds(firsts), there, start)?;
    }
    if !grammar.is_closed() {
        return Err(Refused);
    }
    out.shape.clear();
    for start in (0..count).step_by(BLOCK) {
        let shape = shape_at(out, start, shape)?;
        check_literals(out, document, start, shape.literals)?;
        out.shape.push(shape.firsts);
    }
    out.shape_count = count;
    Ok(())
}

/// Checks those of a block of tokens that are neither operators nor strings or numbers.
#[inline(always)]
fn check_literals(
    out: &Scan,
    document: &[u8],
    start: usize,
    mut literals: u64,
) -> Result<(), Refused> {
    while literals != 0 {
        let token = start + literals.trailing_zeros() as usize;
        literals &= literals - 1;
        check_literal(document, out.tokens[token] as usize)?;
    }
    Ok(())
}

#[inline(always)]
fn check_literal(document: &[u8], place: usize) -> Result<(), Refused> {
    match document[place] {
        b't' => literal(document, place, b"true"),
        b'f' => literal(document, place, b"false"),
        b'n' => literal(document, place, b"null"),
        _ => Err(Refused),
    }
}

/// Checks the numbers one by one.
#[cold]
#[inline(never)]
fn check_numbers(out: &Scan, document: &[u8]) -> Result<(), Refused> {
    for (first, place) in out.firsts[CONTEXT..CONTEXT + out.count].iter().zip(&out.tokens) {
        if matches!(first, b'-' | b'0'..=b'9') {
            Number::at(document, *place as usize)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Way = fn(&mut Scan, &[u8]) -> Result<(), Refused>;

    fn ways() -> Vec<Way> {
        let mut ways: Vec<Way> = vec![scan_plainly];
        #[cfg(target_arch = "x86_64")]
        {
            use super::super::simd::{avx2, avx512};
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

    type Found = Result<(Vec<u32>, Vec<u8>, Vec<(usize, u32)>), Refused>;

    /// The positions of the tokens, their first bytes, and which close which; by all ways the same.
    fn found(document: &[u8]) -> Found {
        let mut all = ways().into_iter().map(|way| {
            let mut scan = Scan::default();
            way(&mut scan, document)?;
            let firsts = scan.firsts()[..scan.count].to_vec();
            let opening = (0..scan.count).filter(|at| matches!(firsts[*at], b'{' | b'['));
            let ends = opening.map(|at| (at, scan.ends[at])).collect();
            Ok((scan.tokens[..scan.count].to_vec(), firsts, ends))
        });
        let first = all.next().unwrap();
        assert!(all.all(|other| other == first), "{:?}", String::from_utf8_lossy(document));
        first
    }

    fn is_right(document: &str) -> bool {
        found(document.as_bytes()).is_ok()
    }

    #[test]
    fn tokens_are_operators_and_beginnings() {
        let (tokens, firsts, ends) = found(br#"{"a": 12, "b,": [true]}"#).unwrap();
        assert_eq!(tokens, vec![0, 1, 4, 6, 8, 10, 14, 16, 17, 21, 22]);
        assert_eq!(firsts, br#"{":1,":[t]}"#);
        assert_eq!(ends, vec![(0, 10), (7, 9)]);
        assert_eq!(found(b""), Err(Refused));
    }

    #[test]
    fn strings_are_checked() {
        for wrong in
            [&br#"""#[..], br#""\""#, br#""\x""#, br#""\u12g4""#, b"\"\n\"", b"\"\xff\"", b"\\"]
        {
            assert_eq!(found(&[b"[", wrong, b"]"].concat()), Err(Refused), "{wrong:?}");
        }
        assert!(is_right(r#"["\\"]"#));
        assert!(is_right(r#"["\\\"\u12aF\/"]"#));
    }

    #[test]
    fn grammar() {
        for right in [
            "{}",
            "[]",
            " [ ] ",
            "[1]",
            r#"{"a":1}"#,
            r#"{"a":{},"b":[],"c":"x"}"#,
            r#"[{"a":[1,[2,{"b":null}]],"c":true},"d",[[]]]"#,
            r#"{"a":1,"a":2}"#,
            "[-0.5e-3,0,1E5,false]",
        ] {
            assert!(is_right(right), "{right}");
        }
        for wrong in [
            "1",
            "\"a\"",
            "{",
            "}",
            "[",
            "]",
            "{}{}",
            "{},",
            "[],[]",
            "[}",
            "{]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\":1 \"b\":2}",
            "{\"a\" 1}",
            "{,}",
            "[,]",
            "[1,]",
            "[1 2]",
            "[1,,2]",
            "{\"a\"::1}",
            "{\"a\":1,\"b\"}",
            "{\"a\":1,2}",
            "[\"a\":1]",
            "[1,\"a\":1]",
            "{1:2}",
            "{\"a\":\"b\":\"c\"}",
            "{\"a\":[1}]",
            "[{\"a\":1,2}]",
            "{\"a\":1,[]}",
            "[[],\"a\":1]",
            "[{\"a\"]}",
            "{:}",
            "[:]",
            "[\"a\"\"b\"]",
            "[1\"b\"]",
            "[\"b\"1]",
            "[tru]",
            "[truex]",
            "[nul]",
            "[01]",
            "[1.]",
            "[.5]",
            "[+1]",
            "[-]",
            "[1e]",
            "[1.5.5]",
            "[\u{c}]",
            "{\"a\":1}x",
            "[1]]",
            "[[1]",
            "{\"a\":1,\"b\":2",
            "[1-1]",
            "[--1]",
        ] {
            assert!(!is_right(wrong), "{wrong}");
            for length in [55, 60, 61, 62, 63, 64, 127, 128] {
                let padded = format!("{}{wrong}", " ".repeat(length));
                assert!(!is_right(&padded), "{wrong}");
            }
        }
    }

    /// Cutting or changing a right document anywhere makes a wrong one, or else another right one:
    /// what is accepted must be accepted by a parser that goes byte by byte.
    #[test]
    fn accepted_is_right() {
        let alphabet = b"\"\\{}[]:, \n01-.eEtrufalsn";
        let seeds = [
            r#"{"a":[1,-2.5,{"b":null,"c":[]}],"d":{"e":"f"},"g":true,"h":[[0.1],["x","y"]],"i":{}}"#,
            r#"[{"x":1,"y":"a"},{"x":2,"y":"b"},[{"x":3.5,"y":"\n"}],false,{"z":{"z":{"z":[1,2]}}}]"#,
        ];
        let mut state = 1u64;
        let mut below = |limit: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % limit
        };
        let mut accepted = 0;
        for round in 0..60_000 {
            let mut document = vec![b' '; below(70)];
            document.extend_from_slice(seeds[round % 2].as_bytes());
            for _ in 0..1 + below(3) {
                let place = below(document.len());
                match below(3) {
                    0 => document[place] = alphabet[below(alphabet.len())],
                    1 => document.insert(place, alphabet[below(alphabet.len())]),
                    _ => drop(document.remove(place)),
                }
            }
            let is_accepted = found(&document).is_ok();
            assert_eq!(is_accepted, parses(&document), "{:?}", String::from_utf8_lossy(&document));
            accepted += usize::from(is_accepted);
        }
        assert!(accepted > 3_000, "{accepted}");
    }

    /// A parser as plain as can be.
    fn parses(document: &[u8]) -> bool {
        let mut place = 0;
        spaces(document, &mut place);
        let begins = matches!(document.get(place), Some(b'{' | b'['));
        let parsed = begins && value(document, &mut place).is_some();
        spaces(document, &mut place);
        parsed && place == document.len()
    }

    fn spaces(document: &[u8], place: &mut usize) {
        while matches!(document.get(*place), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            *place += 1;
        }
    }

    fn value(document: &[u8], place: &mut usize) -> Option<()> {
        spaces(document, place);
        let first = *document.get(*place)?;
        let closing = match first {
            b'"' => return string(document, place),
            b'{' => b'}',
            b'[' => b']',
            b't' | b'f' | b'n' => {
                let words = [&b"true"[..], b"false", b"null"];
                let word = words.into_iter().find(|word| document[*place..].starts_with(word))?;
                *place += word.len();
                return Some(());
            }
            _ => {
                let end = document[*place..].iter().position(|byte| ends_number(*byte));
                let end = end.map_or(document.len(), |length| *place + length);
                *place += Number::at(&document[..end], *place).ok()?.text.len();
                return (*place == end).then_some(());
            }
        };
        *place += 1;
        spaces(document, place);
        if document.get(*place) == Some(&closing) {
            *place += 1;
            return Some(());
        }
        loop {
            if first == b'{' {
                spaces(document, place);
                string(document, place)?;
                spaces(document, place);
                if document.get(*place) != Some(&b':') {
                    return None;
                }
                *place += 1;
            }
            value(document, place)?;
            spaces(document, place);
            let next = *document.get(*place)?;
            *place += 1;
            match next {
                b',' => {}
                _ => return (next == closing).then_some(()),
            }
        }
    }

    fn ends_number(byte: u8) -> bool {
        !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
    }

    fn string(document: &[u8], place: &mut usize) -> Option<()> {
        if document.get(*place) != Some(&b'"') {
            return None;
        }
        *place += 1;
        loop {
            match document.get(*place)? {
                b'"' => break,
                0..0x20 => return None,
                b'\\' => match document.get(*place + 1)? {
                    b'u' => {
                        let digits = document.get(*place + 2..*place + 6)?;
                        digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
                        *place += 6;
                    }
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => *place += 2,
                    _ => return None,
                },
                _ => *place += 1,
            }
        }
        *place += 1;
        Some(())
    }

    #[test]
    fn every_byte_is_classified_alike() {
        for byte in 0..=255 {
            for place in [1, 62, 63, 64] {
                let mut document = vec![b'['; place];
                document.push(byte);
                document.resize(2 * place + 1, b']');
                found(&document).ok();
                document[place - 1] = b'"';
                document[place + 1] = b'"';
                found(&document).ok();
            }
        }
    }

    /// Whatever was scanned before, tokens and ends are those that a new scan finds.
    #[test]
    fn what_is_found_does_not_depend_on_the_last_document() {
        let list = |item: &str, count: usize| format!("[{}]", vec![item; count].join(","));
        let mut documents: Vec<String> = [
            r#"{"a":1,"b":[2,"x"]}"#,
            r#"{"a":"","b":[true,"x"]}"#,
            r#"{"a":-1.5,"b":[null,"y,"]}"#,
            r#"{"a":1,"b":[tru,"x"]}"#,
            r#"{"a":1,"b":[01,"x"]}"#,
            r#"{"a":1,"b":[2:"x"]}"#,
            r#"{"a":1,"b":{2,"x"}}"#,
            r#"{"a":1,"b":{"c":2}}"#,
            r#"[[1,2],[3],[4,5,6]]"#,
            r#"[[1,2,3],[4],[5,6]]"#,
            r#"[[1,2,3],[4],[5,6}]"#,
            "[",
            "{}",
            "[]",
            "",
        ]
        .map(String::from)
        .into();
        for count in [31, 32, 64] {
            for item in ["1", "\"\"", "true", "[]", "{}", "{\"a\":[2]}", "{\"a\":{}}"] {
                documents.push(list(item, count));
            }
            let wrong = list("1", count);
            documents.push(wrong.replace("1]", "x]"));
            documents.push(wrong.replace("1]", "{]"));
        }
        for way in ways() {
            for first in &documents {
                for second in &documents {
                    let (mut used, mut new) = (Scan::default(), Scan::default());
                    way(&mut used, first.as_bytes()).ok();
                    let found = way(&mut used, second.as_bytes());
                    assert_eq!(found, way(&mut new, second.as_bytes()), "{first} {second}");
                    if found.is_err() {
                        continue;
                    }
                    assert_eq!(used.tokens(), new.tokens(), "{first} {second}");
                    assert_eq!(used.firsts(), new.firsts(), "{first} {second}");
                    for at in 0..used.count {
                        if matches!(used.firsts()[at], b'{' | b'[') {
                            assert_eq!(used.ends[at], new.ends[at], "{first} {second}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(is_right(&nested(1024)));
        assert!(!is_right(&nested(1025)));
        assert!(!is_right(&"[".repeat(100_000)));
    }
}
