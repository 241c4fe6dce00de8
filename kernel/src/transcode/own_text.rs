//! Documents that are their own text: they begin with the members of the select list, in its order,
//! without white space, each written as we would. Of such a document that stretch is copied, and
//! nothing is noted of its members, of which there may be thousands. What comes behind them is
//! not wanted: other members, or some of the same names, of which the first counts.

use std::ops::Range;

use super::Pieces;
use super::program::{Form, FormId, Transcoding};
use super::scalars::{Made, scalar};
use crate::decode::columns::{ColumnId, Kind};
use crate::decode::program::{Program, Shape};
use crate::json::document::{Cursor, Document};

/// What a document must have to be its own text.
pub struct OwnText {
    /// The column of the only fragment.
    pub column: ColumnId,
    /// What stands before the members, `,"a":`, one after the other.
    starts: Vec<u8>,
    members: Vec<Member>,
    writes_nulls: bool,
    zone: Option<i32>,
}

/// Small, for there may be thousands: they should stay in the cache beside the document.
struct Member {
    /// Where in `starts` its start ends.
    end: u32,
    form: u32,
}

/// The form of strings, which need no program to be looked at.
const STRING: u32 = u32::MAX;

impl OwnText {
    /// If all that is made of a row is one fragment, whose fields are members of the row under
    /// their own names, in the order of the schema.
    pub fn new(program: &Program) -> Option<Self> {
        let Transcoding { forms, texts, fragments } = &program.transcoding;
        let row = &program.places[program.row];
        let ([fragment], Shape::Object(names)) = (&fragments[..], &row.shape) else { return None };
        let is_alone = program.outputs == [fragment.column]
            && row.reads.is_empty()
            && row.texts.is_empty()
            && row.presence.is_none()
            && row.length.is_none()
            && fragment.fields().count() == names.len();
        if !is_alone {
            return None;
        }
        let (mut starts, mut members) = (Vec::new(), Vec::new());
        for (number, (before, text)) in fragment.fields().enumerate() {
            let place = &program.places[row.parts[number]];
            let is_member = place.texts == [text] && place.reads.is_empty() && !place.has_parts();
            if !is_member || !is_start_of(before, names.name(number)) {
                return None;
            }
            let form: FormId = texts[text].form;
            let form = match forms[form] {
                Form::Scalar(Kind::Text) => STRING,
                Form::Scalar(_) => u32::try_from(form).ok()?,
                _ => return None,
            };
            starts.extend_from_slice(before);
            members.push(Member { end: u32::try_from(starts.len()).ok()?, form });
        }
        let writes_nulls = !fragment.omits_nulls;
        Some(OwnText { column: fragment.column, starts, members, writes_nulls, zone: program.zone })
    }

    /// Where the members of the object at a token stand, if they are what would be written. The
    /// document has no escapes.
    pub fn find(
        &self,
        document: &Document<'_>,
        object: Cursor,
        forms: &[Form],
        pieces: &mut Pieces,
    ) -> Option<Range<usize>> {
        let begin = document.place(object);
        // The brace, or the comma, behind which the next member is to stand: its token, its place.
        let (mut token, mut place) = (object, begin);
        let mut start = 0;
        for member in &self.members {
            let before = &self.starts[start..member.end as usize];
            start = member.end as usize;
            let value = place + before.len();
            // Where the object has ended, no quote follows.
            let is_next = document.place(token + 3) == value
                && same(document.bytes.get(place + 1..value)?, &before[1..]);
            if !is_next {
                return None;
            }
            let end = document.place(token + 4);
            let is_string = member.form == STRING
                && document.byte(token + 3) == b'"'
                && document.bytes[end - 1] == b'"';
            if !is_string {
                let form = forms.get(member.form as usize);
                if self.length(form, document, token + 3, pieces)? != end - value {
                    return None;
                }
            }
            (token, place) = (token + 4, end);
        }
        Some(begin + 1..place)
    }

    /// How long the value at a token is, if it would be written as it stands there.
    #[inline(never)]
    fn length(
        &self,
        form: Option<&Form>,
        document: &Document<'_>,
        at: Cursor,
        pieces: &mut Pieces,
    ) -> Option<usize> {
        if self.writes_nulls && document.is_null(at) {
            return Some(b"null".len());
        }
        let Some(Form::Scalar(kind)) = form else { return None };
        let Pieces { written, plain, .. } = pieces;
        match scalar(kind, document, at, self.zone, written, plain) {
            Ok(Made::Same(length)) => Some(length),
            _ => None,
        }
    }
}

/// Is this `,"name":`?
fn is_start_of(before: &[u8], name: &[u8]) -> bool {
    let inner = before.strip_prefix(b",\"").and_then(|rest| rest.strip_suffix(b"\":"));
    inner == Some(name)
}

/// Are two texts the same? For short ones, where calling a function costs more than comparing.
#[inline(always)]
fn same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let (Some(last), Some(other_last)) = (one.last_chunk::<8>(), other.last_chunk::<8>()) else {
        return one == other;
    };
    let (parts, _) = one.as_chunks::<8>();
    let (other_parts, _) = other.as_chunks::<8>();
    let mut differs = u64::from_le_bytes(*last) ^ u64::from_le_bytes(*other_last);
    for (part, other_part) in parts.iter().zip(other_parts) {
        differs |= u64::from_le_bytes(*part) ^ u64::from_le_bytes(*other_part);
    }
    differs == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_same_if_all_their_bytes_are() {
        for length in 0..40 {
            let one: Vec<u8> = (0..length).collect();
            assert!(same(&one, &one.clone()));
            assert!(!same(&one, &[&one[..], b"x"].concat()));
            for place in 0..one.len() {
                let mut other = one.clone();
                other[place] ^= 0x80;
                assert!(!same(&one, &other), "{length} {place}");
            }
        }
    }

    #[test]
    fn a_start_has_the_name_and_nothing_else() {
        assert!(is_start_of(b",\"a\":", b"a"));
        assert!(is_start_of(b",\"\":", b""));
        for other in [&b",\"b\":"[..], b",\"a\": ", b"\"a\":", b",\"a\"", b",\":", b""] {
            assert!(!is_start_of(other, b"a"), "{other:?}");
        }
    }
}
