//! Strings and bytes.

const HEX: &[u8; 16] = b"0123456789abcdef";

/// What is escaped: 0 for bytes that stand for themselves, `u` for those that need four digits.
static ESCAPES: [u8; 256] = escapes();

const fn escapes() -> [u8; 256] {
    let mut escapes = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        escapes[byte] = b'u';
        byte += 1;
    }
    escapes[8] = b'b';
    escapes[9] = b't';
    escapes[10] = b'n';
    escapes[12] = b'f';
    escapes[13] = b'r';
    escapes[b'"' as usize] = b'"';
    escapes[b'\\' as usize] = b'\\';
    escapes
}

/// Appends a text in quotes.
#[inline]
pub fn quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut left = text;
    while let Some(place) = left.iter().position(|byte| ESCAPES[*byte as usize] != 0) {
        out.extend_from_slice(&left[..place]);
        let byte = left[place];
        match ESCAPES[byte as usize] {
            b'u' => {
                let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&digits);
            }
            short => out.extend_from_slice(&[b'\\', short]),
        }
        left = &left[place + 1..];
    }
    out.extend_from_slice(left);
    out.push(b'"');
}

/// Are the escapes of a string, as it stands in a document, those that we would write?
///
/// Every escape is a right one: whoever asks has checked the document.
pub fn has_our_escapes(raw: &[u8]) -> bool {
    let mut left = raw;
    while let Some(place) = memchr::memchr(b'\\', left) {
        let rest = &left[place + 1..];
        let length = match rest {
            [b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 1,
            [b'u', b'0', b'0', high @ (b'0' | b'1'), low @ (b'0'..=b'9' | b'a'..=b'f'), ..] => {
                let digit = if *low > b'9' { low - b'a' + 10 } else { low - b'0' };
                if ESCAPES[usize::from((high - b'0') << 4 | digit)] != b'u' {
                    return false;
                }
                5
            }
            _ => return false,
        };
        left = &rest[length..];
    }
    true
}

/// Appends bytes in Base64, in quotes.
pub fn base64(bytes: &[u8], out: &mut Vec<u8>) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.push(b'"');
    let (groups, rest) = bytes.as_chunks::<3>();
    let six = |bits: u32, shift: u32| ALPHABET[(bits >> shift & 63) as usize];
    for [a, b, c] in groups {
        let bits = u32::from_be_bytes([0, *a, *b, *c]);
        out.extend_from_slice(&[six(bits, 18), six(bits, 12), six(bits, 6), six(bits, 0)]);
    }
    match rest {
        [a] => {
            let bits = u32::from_be_bytes([0, *a, 0, 0]);
            out.extend_from_slice(&[six(bits, 18), six(bits, 12), b'=', b'=']);
        }
        [a, b] => {
            let bits = u32::from_be_bytes([0, *a, *b, 0]);
            out.extend_from_slice(&[six(bits, 18), six(bits, 12), six(bits, 6), b'=']);
        }
        _ => {}
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn escapes() {
        let quote = |value: &str| text(|out| quoted(value.as_bytes(), out));
        assert_eq!(quote(""), r#""""#);
        assert_eq!(quote("grüße ☃ 😀/"), "\"grüße ☃ 😀/\"");
        assert_eq!(
            quote("\"\\\n\t\r\u{8}\u{c}\0\u{1f}\u{7f}"),
            "\"\\\"\\\\\\n\\t\\r\\b\\f\\u0000\\u001f\u{7f}\""
        );
    }

    #[test]
    fn what_may_be_copied() {
        for ours in ["", "plain é", r#"\"\\\b\f\n\r\t"#, r"\u0000", r"\u001f\u0001x", r"\\u0041"] {
            assert!(has_our_escapes(ours.as_bytes()), "{ours}");
        }
        for other in
            [r"\/", r"\u0041", r"\u001F", r"\u0008", r"\u000a", r"\u0020", r"\ud83d\ude00", r"x\/"]
        {
            assert!(!has_our_escapes(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn bytes() {
        for (value, expected) in
            [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj"), ("abcd", "YWJjZA==")]
        {
            assert_eq!(text(|out| base64(value.as_bytes(), out)), format!("\"{expected}\""));
        }
    }
}
