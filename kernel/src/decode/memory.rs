//! What is remembered of the last objects at a place, because the next one is probably alike.

use super::members::{Key, Members};
use crate::json::document::{Cursor, Document};

/// The keys of the last object, in their order, and which members they are.
///
/// Documents of a stream mostly have the same keys in the same order. So the key at a place is
/// first compared with the one that stood there last time, its closing quote included: then its
/// end need not be found, and nothing is looked up.
#[derive(Default)]
pub struct Memory {
    keys: Vec<Remembered>,
    /// In which object each member was last found.
    pub seen: Vec<u64>,
}

/// Small, for there may be thousands: they should stay in the cache beside the document.
#[derive(Clone, Copy)]
struct Remembered {
    /// The key and its closing quote, zeros after them.
    text: [u64; 2],
    /// How many bytes that is.
    length: u32,
    /// The member's number plus one; 0 for none.
    member: u32,
}

const SIZE: usize = 16;
/// More are not remembered.
const MOST: usize = 1 << 15;
/// By length: ones where the text is. As many as make the remainder of a length cheap.
const MASKS: [[u64; 2]; 2 * SIZE] = {
    let mut masks = [[0; 2]; 2 * SIZE];
    let mut length = 1;
    while length <= SIZE {
        let mask = u128::MAX >> (8 * (SIZE - length));
        masks[length] = [mask as u64, (mask >> 64) as u64];
        length += 1;
    }
    masks
};

impl Remembered {
    /// Whether the key that begins at a place is this one.
    #[inline(always)]
    fn is_at(&self, bytes: &[u8], start: usize) -> bool {
        let Some(text) = bytes.get(start..).and_then(|rest| rest.first_chunk()) else {
            return false;
        };
        let (text, mask) = (words(text), MASKS[self.length as usize % MASKS.len()]);
        ((text[0] ^ self.text[0]) & mask[0]) | ((text[1] ^ self.text[1]) & mask[1]) == 0
    }
}

impl Memory {
    pub fn new(members: usize) -> Self {
        Memory { keys: Vec::new(), seen: vec![0; members] }
    }

    /// The member that the key of this number is, if it is the same as last time. It has no escapes
    /// and begins at a place.
    #[inline(always)]
    pub fn recall(&self, number: usize, bytes: &[u8], start: usize) -> Option<Option<usize>> {
        let last = self.keys.get(number)?;
        last.is_at(bytes, start).then_some((last.member as usize).checked_sub(1))
    }

    /// How many members, from the one of this number on, are as last time, wanted by nobody, and
    /// neither object nor array nor the last one. Most members of wide documents are: a loop of
    /// their own has less to ask.
    #[inline(always)]
    pub fn unwanted(&self, number: usize, document: &Document<'_>, at: Cursor) -> usize {
        let Some(keys) = self.keys.get(number..) else { return 0 };
        let mut count = 0;
        for (last, member) in keys.iter().zip(document.plain_members(at)) {
            if last.member != 0 || !last.is_at(document.bytes, member) {
                break;
            }
            count += 1;
        }
        count
    }

    /// Looks up the key of this number, which stands between two places, and remembers it.
    pub fn learn(
        &mut self,
        number: usize,
        bytes: &[u8],
        (start, end): (usize, usize),
        members: &Members,
        guess: usize,
    ) -> Option<usize> {
        let member = members.find(Key::within(bytes, start, end), guess);
        let length = end + 1 - start;
        if length <= SIZE && number <= self.keys.len() && number < MOST {
            let mut text = [0; SIZE];
            text[..length].copy_from_slice(&bytes[start..=end]);
            let key = Remembered {
                text: words(&text),
                length: length as u32,
                member: member.map_or(0, |member| member as u32 + 1),
            };
            match self.keys.get_mut(number) {
                Some(known) => *known = key,
                None => self.keys.push(key),
            }
        }
        member
    }
}

#[inline(always)]
fn words(bytes: &[u8; SIZE]) -> [u64; 2] {
    let both = u128::from_le_bytes(*bytes);
    [both as u64, (both >> 64) as u64]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::scan::Scan;

    #[test]
    fn only_the_same_key_is_recalled() {
        let members = Members::new(vec![Box::from(&b"ab"[..]), Box::from(&b"abcdefghij"[..])]);
        let mut memory = Memory::new(2);
        let spaces = "                ";
        let learn = |memory: &mut Memory, number: usize, key: &str| {
            memory.learn(number, format!("{key}\"{spaces}").as_bytes(), (0, key.len()), &members, 0)
        };
        let recall = |memory: &Memory, number: usize, key: &str| {
            memory.recall(number, format!("{key}\"{spaces}").as_bytes(), 0)
        };
        assert_eq!(recall(&memory, 0, "ab"), None);
        assert_eq!(learn(&mut memory, 0, "ab"), Some(0));
        assert_eq!(learn(&mut memory, 1, "xyz"), None);
        assert_eq!(learn(&mut memory, 2, "abcdefghij"), Some(1));
        assert_eq!(recall(&memory, 0, "ab"), Some(Some(0)));
        assert_eq!(recall(&memory, 1, "xyz"), Some(None));
        assert_eq!(recall(&memory, 2, "abcdefghij"), Some(Some(1)));
        for (number, other) in [(0, "a"), (0, "abc"), (0, ""), (1, "xy"), (2, "abcdefghik")] {
            assert_eq!(recall(&memory, number, other), None, "{other}");
        }
        assert_eq!(memory.recall(0, b"ab\"", 0), None); // too near the end to be sure
        let long = "k".repeat(16);
        assert_eq!(learn(&mut memory, 3, &long), None);
        assert_eq!(recall(&memory, 3, &long), None);
        assert_eq!(learn(&mut memory, 9, "ab"), Some(0));
        assert_eq!(recall(&memory, 9, "ab"), None);
    }

    #[test]
    fn members_that_nobody_wants_are_stepped_over_until_one_is_wanted_or_another() {
        let members = Members::new(vec![Box::from(&b"wanted"[..])]);
        let text = r#"{"a":1,"b":"x","c":null,"wanted":2,"d":3,"e":[4,5],"f":{},"g":6,"h":7}"#;
        let mut memory = Memory::new(1);
        let mut keys = Vec::new();
        with(text, |document| {
            let mut next = document.first(0);
            while let Some(at) = next {
                let number = keys.len();
                memory.learn(number, document.bytes, document.text_range(at), &members, 0);
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
