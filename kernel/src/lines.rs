//! The payloads in pieces of a file: lines, without their ends.

/// A piece of a file that consists of whole lines.
pub struct Lines<'a> {
    pub bytes: &'a [u8],
    place: usize,
}

impl<'a> Lines<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Lines { bytes, place: 0 }
    }

    /// How many bytes have been gone through.
    pub fn gone(&self) -> usize {
        self.place.min(self.bytes.len())
    }
}

impl<'a> Iterator for Lines<'a> {
    /// Lines that are not blank, with the place where each begins.
    type Item = (usize, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.place < self.bytes.len() {
            let start = self.place;
            let rest = &self.bytes[start..];
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            self.place = start + length + 1;
            let line = &rest[..length];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !is_blank(line) {
                return Some((start, line));
            }
        }
        None
    }
}

#[inline(always)]
fn is_blank(line: &[u8]) -> bool {
    match line.first() {
        Some(b'!'..) => false,
        _ => line.iter().all(|byte| matches!(byte, b' ' | 9..=13)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let read = |bytes: &'static [u8]| Lines::new(bytes).collect::<Vec<_>>();
        assert_eq!(
            read(b"a\r\n\n \t\r\nb\rc\n d"),
            vec![(0, &b"a"[..]), (8, b"b\rc"), (12, b" d")]
        );
        assert_eq!(read(b""), vec![]);
        assert_eq!(read(b"\r\r\n"), vec![]);
        assert_eq!(read(b"x\r\r\n"), vec![(0, &b"x\r"[..])]);
    }
}
