//! Base64 in its common form: padded at the end, without spaces.

const NONE: u8 = 255;
static SIXES: [u8; 256] = sixes();

const fn sixes() -> [u8; 256] {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut sixes = [NONE; 256];
    let mut value = 0;
    while value < 64 {
        sixes[alphabet[value] as usize] = value as u8;
        value += 1;
    }
    sixes
}

/// Appends the bytes; false, and some bytes perhaps, when the text has another form or none.
pub fn decode(text: &[u8], out: &mut Vec<u8>) -> bool {
    let (groups, []) = text.as_chunks::<4>() else { return false };
    let Some((last, groups)) = groups.split_last() else { return true };
    for group in groups {
        if !whole(group, 4, out) {
            return false;
        }
    }
    match last {
        [_, _, b'=', b'='] => whole(&[last[0], last[1], b'A', b'A'], 2, out),
        [_, _, _, b'='] => whole(&[last[0], last[1], last[2], b'A'], 3, out),
        _ => whole(last, 4, out),
    }
}

fn whole(group: &[u8; 4], characters: usize, out: &mut Vec<u8>) -> bool {
    let mut bits = 0u32;
    for character in group {
        let six = SIXES[*character as usize];
        if six == NONE {
            return false;
        }
        bits = bits << 6 | u32::from(six);
    }
    out.extend_from_slice(&bits.to_be_bytes()[1..characters]);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups() {
        let read = |text: &str| {
            let mut out = Vec::new();
            decode(text.as_bytes(), &mut out).then_some(out)
        };
        assert_eq!(read(""), Some(vec![]));
        assert_eq!(read("YWJj"), Some(b"abc".to_vec()));
        assert_eq!(read("YWJjYQ=="), Some(b"abca".to_vec()));
        assert_eq!(read("YWI="), Some(b"ab".to_vec()));
        assert_eq!(read("+/+/"), Some(vec![0xfb, 0xff, 0xbf]));
        for other in ["Y", "YQ", "YQ=", "Y===", "====", "YQ==YWI=", "Y Q=", "YW-_", "YQ=a"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
