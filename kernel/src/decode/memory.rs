//! What is remembered of the last objects at a place, because the next one is probably alike.

use super::members::{Key, Members};
use super::program::Short;
use crate::json::document::{Cursor, Document};

/// The keys of the last object, in their order, and which members they are.
///
/// Documents of a stream mostly have the same keys in the same order. So the key at a place is
/// first compared with the one that stood there last time, its closing quote included: then its
/// end need not be found, and nothing is looked up. An object whose keys were the same so far is
/// *on track*: then it is also known which of its members have been found.
#[derive(Default)]
pub struct Memory {
    keys: Vec<Remembered>,
    /// So many keys from the first on are no member that one before them is.
    track: usize,
    /// In which object that left the track each member was last found.
    pub seen: Vec<u64>,
}

/// Small, for there may be thousands: they should stay in the cache beside the document.
#[derive(Clone, Copy)]
pub struct Remembered {
    /// The key and its closing quote, zeros after them.
    text: [u8; SIZE],
    /// A bit for each byte of that.
    bytes: u16,
    /// The member's number, and what is done with it; none if nobody wants it.
    member: Option<(u32, Short)>,
}

const SIZE: usize = 16;
/// More are not remembered.
const MOST: usize = 1 << 15;
impl Remembered {
    /// What is done with this member, if anything.
    #[inline(always)]
    pub fn part(&self) -> Option<Short> {
        self.member.map(|(_, part)| part)
    }

    /// Whether the key that begins at a place is this one.
    #[inline(always)]
    pub fn is_at(&self, bytes: &[u8], start: usize) -> bool {
        let text = bytes.get(start..).and_then(|rest| rest.first_chunk());
        text.is_some_and(|text| !equal(text, &self.text) & self.bytes == 0)
    }
}

impl Memory {
    pub fn new(members: usize) -> Self {
        Memory { keys: Vec::new(), track: 0, seen: vec![0; members] }
    }

    /// The keys that an object on track has.
    #[inline(always)]
    pub fn track(&self) -> &[Remembered] {
        self.keys.get(..self.track).unwrap_or_default()
    }

    /// Says that an object had so many keys of the track, and then had another or none. Answers with
    /// the number after that of the last member.
    pub fn leave_track(&mut self, keys: usize, object: u64) -> usize {
        let mut after = 0;
        for (member, _) in self.keys.iter().take(keys).filter_map(|key| key.member) {
            self.seen[member as usize] = object;
            after = member as usize + 1;
        }
        after
    }

    /// Says of an object whose keys are all remembered that those of some numbers are no members
    /// that were found before.
    #[inline(always)]
    pub fn lengthen_track(&mut self, from: usize, to: usize) {
        if self.track >= from {
            self.track = self.track.max(to);
        }
    }

    /// The member that the key of this number is, if it is the same as last time. It has no escapes
    /// and begins at a place.
    #[inline(always)]
    pub fn recall(&self, number: usize, bytes: &[u8], start: usize) -> Option<Option<usize>> {
        let last = self.keys.get(number)?;
        last.is_at(bytes, start).then_some(last.member.map(|(member, _)| member as usize))
    }

    /// How many members, from the one of this number on, are stepped over.
    #[inline(always)]
    pub fn unwanted(&self, number: usize, document: &Document<'_>, at: Cursor) -> usize {
        self.keys.get(number..).map_or(0, |keys| unwanted(keys, document, at))
    }

    /// Looks up the key of this number, which stands between two places, and remembers it. Answers
    /// with its member, and whether it is remembered.
    pub fn learn(
        &mut self,
        number: usize,
        bytes: &[u8],
        (start, end): (usize, usize),
        known: &Known<'_>,
        guess: usize,
    ) -> (Option<usize>, bool) {
        let member = known.members.find(Key::within(bytes, start, end), guess);
        let length = end + 1 - start;
        if length > SIZE || number > self.keys.len() || number >= MOST {
            return (member, false);
        }
        let mut text = [0; SIZE];
        text[..length].copy_from_slice(&bytes[start..=end]);
        let key = Remembered {
            text,
            bytes: u16::MAX >> (SIZE - length),
            member: member.map(|member| (member as u32, known.parts[member])),
        };
        match self.keys.get_mut(number) {
            Some(known) => *known = key,
            None => self.keys.push(key),
        }
        self.track = self.track.min(number);
        (member, true)
    }
}

/// How many members, from the one at a token on, have these keys, are wanted by nobody, and neither
/// object nor array nor the last one. Most members of wide documents are: a loop of their own has
/// less to ask.
#[inline(always)]
pub fn unwanted(keys: &[Remembered], document: &Document<'_>, at: Cursor) -> usize {
    let mut count = 0;
    for (last, member) in keys.iter().zip(document.plain_members(at)) {
        if last.member.is_some() || !last.is_at(document.bytes, member) {
            break;
        }
        count += 1;
    }
    count
}

/// The members of the objects at a place, and what is done with each.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    pub members: &'a Members,
    pub parts: &'a [Short],
}

/// A bit for each byte that is the same in both.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn equal(one: &[u8; SIZE], other: &[u8; SIZE]) -> u16 {
    use std::arch::x86_64::*;
    // SAFETY: all of this needs nothing but SSE2, which every x86-64 has; the loads are of 16 bytes
    // each, and need no alignment.
    unsafe {
        let load = |bytes: &[u8; SIZE]| _mm_loadu_si128(bytes.as_ptr().cast());
        _mm_movemask_epi8(_mm_cmpeq_epi8(load(one), load(other))) as u16
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn equal(one: &[u8; SIZE], other: &[u8; SIZE]) -> u16 {
    let pairs = one.iter().zip(other).enumerate();
    pairs.fold(0, |bits, (place, (one, other))| bits | u16::from(one == other) << place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::scan::Scan;

    #[test]
    fn only_the_same_key_is_recalled() {
        let members = Members::new(vec![Box::from(&b"ab"[..]), Box::from(&b"abcdefghij"[..])]);
        let known = Known { members: &members, parts: &[Short::Scalar(0), Short::Scalar(1)] };
        let mut memory = Memory::new(2);
        let spaces = "                ";
        let learn = |memory: &mut Memory, number: usize, key: &str| {
            let bytes = format!("{key}\"{spaces}");
            memory.learn(number, bytes.as_bytes(), (0, key.len()), &known, 0)
        };
        let recall = |memory: &Memory, number: usize, key: &str| {
            memory.recall(number, format!("{key}\"{spaces}").as_bytes(), 0)
        };
        assert_eq!(recall(&memory, 0, "ab"), None);
        assert_eq!(learn(&mut memory, 0, "ab"), (Some(0), true));
        assert_eq!(learn(&mut memory, 1, "xyz"), (None, true));
        assert_eq!(learn(&mut memory, 2, "abcdefghij"), (Some(1), true));
        assert_eq!(recall(&memory, 0, "ab"), Some(Some(0)));
        assert_eq!(recall(&memory, 1, "xyz"), Some(None));
        assert_eq!(recall(&memory, 2, "abcdefghij"), Some(Some(1)));
        for (number, other) in [(0, "a"), (0, "abc"), (0, ""), (1, "xy"), (2, "abcdefghik")] {
            assert_eq!(recall(&memory, number, other), None, "{other}");
        }
        assert_eq!(memory.recall(0, b"ab\"", 0), None); // too near the end to be sure
        let long = "k".repeat(16);
        assert_eq!(learn(&mut memory, 3, &long), (None, false));
        assert_eq!(recall(&memory, 3, &long), None);
        assert_eq!(learn(&mut memory, 9, "ab"), (Some(0), false));
        assert_eq!(recall(&memory, 9, "ab"), None);
    }

    #[test]
    fn members_that_nobody_wants_are_stepped_over_until_one_is_wanted_or_another() {
        let members = Members::new(vec![Box::from(&b"wanted"[..])]);
        let text = r#"{"a":1,"b":"x","c":null,"wanted":2,"d":3,"e":[4,5],"f":{},"g":6,"h":7}"#;
        let known = Known { members: &members, parts: &[Short::Scalar(0)] };
        let mut memory = Memory::new(1);
        let mut keys = Vec::new();
        with(text, |document| {
            let mut next = document.first(0);
            while let Some(at) = next {
                let number = keys.len();
                memory.learn(number, document.bytes, document.text_range(at), &known, 0);
                keys.push(at);
                next = document.next(document.member(at));
            }
            let counts: Vec<_> = (0..keys.len())
                .map(|number| memory.unwanted(number, &document, keys[number]))
                .collect();
            // At the last one there is no comma, and no certainty so near the end.
            assert_eq!(counts, [3, 2, 1, 0, 1, 0, 0, 0, 0]);
            assert_eq!(memory.unwanted(keys.len(), &document, keys[0]), 0);
            assert_eq!(document.after_plain_members(keys[0], 3), keys[3]);
        });
        let other = text.replace("\"c\"", "\"k\"");
        with(&other, |document| assert_eq!(memory.unwanted(0, &document, keys[0]), 2));
        let nested = text.replace("\"x\"", "[]");
        with(&nested, |document| assert_eq!(memory.unwanted(0, &document, keys[0]), 1));
    }

    fn with(text: &str, look: impl FnOnce(Document)) {
        let mut scan = Scan::default();
        scan.run(text.as_bytes()).expect(text);
        look(Document::new(text.as_bytes(), &scan));
    }
}
