//! Which member of a struct a key is.

/// The wanted keys of an object, by number.
pub struct Members {
    names: Vec<Box<[u8]>>,
    /// Numbers plus one, by hash; 0 is empty. At most a quarter is used.
    table: Vec<u32>,
    /// Bit n: there is a name whose length, modulo 64, is n.
    lengths: u64,
}

impl Members {
    pub fn new(names: Vec<Box<[u8]>>) -> Self {
        let size = (names.len() * 4).next_power_of_two().max(8);
        let mut table = vec![0; size];
        let mut lengths = 0;
        for (number, name) in names.iter().enumerate() {
            lengths |= 1 << (name.len() % 64);
            let mut slot = hash(name) as usize & (size - 1);
            while table[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            table[slot] = number as u32 + 1;
        }
        Members { names, table, lengths }
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// The number of a key. Documents mostly have the order of the schema, so the guess, which is
    /// the number after the last one that was found, is tried first.
    #[inline(always)]
    pub fn find(&self, key: &[u8], guess: usize) -> Option<usize> {
        if self.lengths >> (key.len() % 64) & 1 == 0 {
            return None;
        }
        if self.names.get(guess).is_some_and(|name| **name == *key) {
            return Some(guess);
        }
        self.find_by_hash(key)
    }

    fn find_by_hash(&self, key: &[u8]) -> Option<usize> {
        let mask = self.table.len() - 1;
        let mut slot = hash(key) as usize & mask;
        loop {
            let number = (self.table[slot] as usize).checked_sub(1)?;
            if *self.names[number] == *key {
                return Some(number);
            }
            slot = (slot + 1) & mask;
        }
    }
}

/// Of all bytes: names that differ in the middle only are common.
#[inline(always)]
fn hash(key: &[u8]) -> u64 {
    let mut state = key.len() as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut mix = |word: u64| {
        let product = u128::from(state ^ word) * 0xd6e8_feb8_6659_fd93_a5a3_5625_e3d3_9b17_u128 as u64 as u128;
        state = (product as u64) ^ (product >> 64) as u64;
    };
    let (words, rest) = key.as_chunks::<8>();
    for word in words {
        mix(u64::from_le_bytes(*word));
    }
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        mix(u64::from_le_bytes(word));
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_nothing_else() {
        let name = |n: usize| format!("sensor_{n:05}_temperature_of_something").into_bytes().into_boxed_slice();
        let members = Members::new((0..15_000).map(name).collect());
        for number in 0..15_000 {
            for guess in [0, number, 14_999, 15_000] {
                assert_eq!(members.find(&name(number), guess), Some(number));
            }
        }
        assert_eq!(members.find(&name(15_000), 0), None);
        assert_eq!(members.find(b"", 0), None);
        assert_eq!(Members::new(vec![]).find(b"", 0), None);
        assert_eq!(Members::new(vec![Box::from(&b""[..])]).find(b"", 7), Some(0));
    }
}
