//! Strings: what their escapes mean.

use super::scan::Refused;

/// Appends the text that a string's escapes, which `scan` has checked, stand for.
///
/// Half of a surrogate pair is refused: it is no text.
pub fn unescape(raw: &[u8], out: &mut Vec<u8>) -> Result<(), Refused> {
    let mut left = raw;
    while let Some(place) = memchr::memchr(b'\\', left) {
        out.extend_from_slice(&left[..place]);
        let kind = *left.get(place + 1).ok_or(Refused)?;
        left = &left[place + 2..];
        match kind {
            b'u' => {
                let character = character(&mut left)?;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            itself => out.push(itself),
        }
    }
    out.extend_from_slice(left);
    Ok(())
}

fn character(left: &mut &[u8]) -> Result<char, Refused> {
    let mut code = unit(left)?;
    if (0xd800..0xdc00).contains(&code) {
        *left = left.strip_prefix(b"\\u").ok_or(Refused)?;
        let second = unit(left)?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(Refused);
        }
        code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
    }
    char::from_u32(code).ok_or(Refused)
}

fn unit(left: &mut &[u8]) -> Result<u32, Refused> {
    let (digits, rest) = left.split_at_checked(4).ok_or(Refused)?;
    *left = rest;
    digits
        .iter()
        .try_fold(0, |code, digit| Ok(code * 16 + char::from(*digit).to_digit(16).ok_or(Refused)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        let read = |raw: &str| {
            let mut out = Vec::new();
            unescape(raw.as_bytes(), &mut out).map(|()| String::from_utf8(out).unwrap())
        };
        assert_eq!(read(r#"a\"\\\/\b\f\n\r\tz"#), Ok("a\"\\/\u{8}\u{c}\n\r\tz".into()));
        assert_eq!(read(r"\u00e9\ud83d\ude00\u0000"), Ok("é😀\0".into()));
        for half in [r"\ud800", r"\udc00", r"\ud800\ud800", r"\ud800x", r"\ud800\n"] {
            assert_eq!(read(half), Err(Refused), "{half}");
        }
    }
}
