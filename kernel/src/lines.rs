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
    #[test]
    fn what_is_gone_through_ends_where_the_next_line_begins() {
        let mut lines = Lines::new(b"a\n\nbc\r\nd");
        assert_eq!(lines.gone(), 0);
        let mut gone = Vec::new();
        while lines.next().is_some() {
            gone.push(lines.gone());
        }
        assert_eq!(gone, vec![2, 7, 8]);
        assert_eq!(lines.gone(), lines.bytes.len());
    }

    /// What is blank is Python's `bytes.strip`: control characters beyond these are no white space.
    #[test]
    fn blanks_are_those_of_python() {
        for byte in 0..=255u8 {
            let is_blank = matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 11 | 12);
            assert_eq!(Lines::new(&[byte, byte]).next().is_none(), is_blank, "{byte}");
        }
    }
}
