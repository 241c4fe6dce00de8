//! Short texts, copied without asking how short they are.

/// Copied at once: most texts have no more.
const SIZE: usize = 32;

/// Appends the bytes of a document from one place to another.
#[inline(always)]
pub fn append(out: &mut Vec<u8>, document: &[u8], start: usize, end: usize) {
    let length = end.wrapping_sub(start);
    let used = out.len();
    let Some(bytes) = document.get(start..).and_then(|rest| rest.first_chunk::<SIZE>()) else {
        return append_any(out, &document[start..end]);
    };
    if length > SIZE || out.capacity() - used < SIZE {
        return append_any(out, &document[start..end]);
    }
    // SAFETY: there is room for so many bytes behind those that are used, and of these the first
    // few, which `length` says, are part of the vector afterwards. The document is not in it, for
    // that is borrowed exclusively.
    unsafe {
        out.as_mut_ptr().add(used).cast::<[u8; SIZE]>().write_unaligned(*bytes);
        out.set_len(used + length);
    }
}

#[inline(never)]
fn append_any(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.reserve(SIZE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_is_what_stands_there() {
        let document: Vec<u8> = (0..100).collect();
        let mut found = Vec::new();
        let mut expected = Vec::new();
        for start in 0..=document.len() {
            for end in start..=document.len() {
                append(&mut found, &document, start, end);
                expected.extend_from_slice(&document[start..end]);
            }
            assert_eq!(found, expected);
            found.shrink_to_fit();
        }
    }

    #[test]
    #[should_panic]
    fn nothing_ends_before_it_begins() {
        append(&mut Vec::with_capacity(99), &[0; 99], 5, 4);
    }
}
