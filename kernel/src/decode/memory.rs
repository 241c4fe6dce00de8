//! What is remembered of the last objects at a place, because the next one is probably alike.

use super::members::{Key, Members};

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
/// By length: ones where the text is.
const MASKS: [[u64; 2]; SIZE + 1] = {
    let mut masks = [[0; 2]; SIZE + 1];
    let mut length = 1;
    while length <= SIZE {
        let mask = u128::MAX >> (8 * (SIZE - length));
        masks[length] = [mask as u64, (mask >> 64) as u64];
        length += 1;
    }
    masks
};

impl Memory {
    pub fn new(members: usize) -> Self {
        Memory { keys: Vec::new(), seen: vec![0; members] }
    }

    /// The member that the key of this number is, if it is the same as last time. It has no escapes
    /// and begins at a place.
    #[inline(always)]
    pub fn recall(&self, number: usize, bytes: &[u8], start: usize) -> Option<Option<usize>> {
        let last = self.keys.get(number)?;
        let text = words(bytes.get(start..)?.first_chunk()?);
        let mask = MASKS[last.length as usize];
        let differs = ((text[0] ^ last.text[0]) & mask[0]) | ((text[1] ^ last.text[1]) & mask[1]);
        (differs == 0).then_some((last.member as usize).checked_sub(1))
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
}
