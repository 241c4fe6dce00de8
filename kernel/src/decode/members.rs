//! Which member of a struct a key is.

/// The wanted keys of an object, by number.
pub struct Members {
    names: Vec<Name>,
    /// Numbers plus one, by hash; 0 is empty. At most a quarter is used.
    table: Vec<u32>,
    /// Bit n: there is a name whose length, modulo 64, is n.
    lengths: u64,
}

struct Name {
    /// The first eight bytes, zeros after the end: enough to tell most names apart.
    head: u64,
    text: Box<[u8]>,
}

/// A key in a document, or anywhere else.
#[derive(Clone, Copy)]
pub struct Key<'a> {
    head: u64,
    text: &'a [u8],
}

impl<'a> Key<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Key { head: head(text), text }
    }

    /// The key from `start` to `end` of a text that may go on, so that eight bytes can be read.
    #[inline(always)]
    pub fn within(bytes: &'a [u8], start: usize, end: usize) -> Self {
        let text = &bytes[start..end];
        match bytes.get(start..start + 8) {
            Some(eight) => {
                let word = u64::from_le_bytes(eight.try_into().expect("eight bytes"));
                let unused = 8usize.saturating_sub(text.len());
                // All eight unused is the empty key: shifting by 64 would overflow.
                let head = if unused == 8 { 0 } else { word & (u64::MAX >> (8 * unused)) };
                Key { head, text }
            }
            None => Key::new(text),
        }
    }

    #[inline(always)]
    fn is(&self, name: &Name) -> bool {
        self.head == name.head
            && self.text.len() == name.text.len()
            && (self.text.len() <= 8 || self.text[8..] == name.text[8..])
    }

    /// Of all bytes: names that differ in the middle only are common.
    #[inline(always)]
    fn hash(&self) -> usize {
        let mut state = mix(self.head ^ (self.text.len() as u64) << 56);
        if self.text.len() > 8 {
            for part in self.text[8..].chunks(8) {
                state = mix(state ^ head(part));
            }
        }
        state as usize
    }
}

#[inline(always)]
fn mix(word: u64) -> u64 {
    let product = u128::from(word ^ 0x9e37_79b9_7f4a_7c15) * 0xa5a3_5625_e3d3_9b17;
    product as u64 ^ (product >> 64) as u64
}

fn head(text: &[u8]) -> u64 {
    let mut word = [0; 8];
    let length = text.len().min(8);
    word[..length].copy_from_slice(&text[..length]);
    u64::from_le_bytes(word)
}

impl Members {
    pub fn new(names: Vec<Box<[u8]>>) -> Self {
        let size = (names.len() * 4).next_power_of_two().max(8);
        let mut table = vec![0; size];
        let mut lengths = 0;
        for (number, name) in names.iter().enumerate() {
            lengths |= 1 << (name.len() % 64);
            let mut slot = Key::new(name).hash() & (size - 1);
            while table[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            table[slot] = number as u32 + 1;
        }
        let names = names.into_iter().map(|text| Name { head: head(&text), text }).collect();
        Members { names, table, lengths }
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub fn name(&self, number: usize) -> &[u8] {
        &self.names[number].text
    }

    /// The number of a key. Documents mostly have the order of the schema, so the guess, which is
    /// the number after the last one that was found, is tried first.
    #[inline(always)]
    pub fn find(&self, key: Key<'_>, guess: usize) -> Option<usize> {
        if self.names.get(guess).is_some_and(|name| key.is(name)) {
            return Some(guess);
        }
        if self.lengths >> (key.text.len() % 64) & 1 == 0 {
            return None;
        }
        self.find_by_hash(key)
    }

    fn find_by_hash(&self, key: Key<'_>) -> Option<usize> {
        let mask = self.table.len() - 1;
        let mut slot = key.hash() & mask;
        loop {
            let number = (self.table[slot] as usize).checked_sub(1)?;
            if key.is(&self.names[number]) {
                return Some(number);
            }
            slot = (slot + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_nothing_else() {
        let name = |n: usize| {
            format!("sensor_{n:05}_temperature_of_something").into_bytes().into_boxed_slice()
        };
        let members = Members::new((0..15_000).map(name).collect());
        for number in 0..15_000 {
            for guess in [0, number, 14_999, 15_000] {
                assert_eq!(members.find(Key::new(&name(number)), guess), Some(number));
            }
        }
        let find = |members: &Members, key: &[u8]| members.find(Key::new(key), 7);
        assert_eq!(find(&members, &name(15_000)), None);
        assert_eq!(find(&members, b""), None);
        assert_eq!(find(&Members::new(vec![]), b""), None);
        assert_eq!(find(&Members::new(vec![Box::from(&b""[..])]), b""), Some(0));
        assert_eq!(find(&Members::new(vec![Box::from(&b"a\0"[..])]), b"a"), None);
    }

    #[test]
    fn a_key_is_the_same_wherever_it_stands() {
        let bytes = b"abcdefghijkl";
        for start in 0..=bytes.len() {
            for end in start..=bytes.len() {
                let (one, other) = (Key::within(bytes, start, end), Key::new(&bytes[start..end]));
                assert_eq!((one.head, one.text), (other.head, other.text));
                assert_eq!(one.hash(), other.hash());
            }
        }
    }
}
