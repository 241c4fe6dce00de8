//! Walks values along their forms, and strings fragments together.

use super::program::{Form, FormId, Fragment, TextId};
use super::scalars::{Made, scalar};
use super::{Piece, Pieces};
use crate::decode::columns::{Data, offset};
use crate::decode::members::{Key, Members};
use crate::decode::row::{Keys, Next, Row};
use crate::decode::scalars::{Stop, text};
use crate::encode::strings::quoted;
use crate::json::document::{Cursor, check_depth};

type Found = Result<(Cursor, Piece), Stop>;

impl Row<'_> {
    /// Finds the piece of a text; what comes after the value.
    #[inline]
    pub(crate) fn transcode(&mut self, id: TextId, at: Cursor, depth: usize) -> Next {
        let wanted = &self.program.transcoding.texts[id];
        let mistyped = self.state.mistyped;
        let (next, piece) = self.form(wanted.form, at, depth)?;
        if !wanted.counts {
            self.state.mistyped = mistyped;
        }
        self.state.pieces.of_texts[id] = piece;
        Ok(next)
    }

    /// The piece of a value. One that had to be written is the last thing that was.
    #[inline]
    fn form(&mut self, id: FormId, at: Cursor, depth: usize) -> Found {
        let program = self.program;
        let form = &program.transcoding.forms[id];
        let opening = match form {
            Form::Scalar(kind) => {
                let next = match self.document.byte(at) {
                    b'{' | b'[' => self.document.skip(at, depth)?,
                    _ => at + 1,
                };
                let Pieces { written, plain, .. } = &mut self.state.pieces;
                let start = written.len();
                let made = scalar(kind, &self.document, at, next, program.zone, written, plain)?;
                let piece = match made {
                    Made::Same(length) => {
                        let start = self.document.place(at);
                        Piece::Document { start, end: start + length }
                    }
                    Made::Written => Piece::Written { start, end: written.len() },
                    Made::Null => Piece::Null,
                    Made::Mistyped => {
                        self.state.mistyped += 1;
                        Piece::Null
                    }
                };
                return Ok((next, piece));
            }
            Form::List { .. } => b'[',
            Form::Struct { .. } | Form::Map { .. } => b'{',
        };
        if self.document.byte(at) != opening {
            self.count_if_mistyped(at)?;
            return Ok((self.document.skip(at, depth)?, Piece::Null));
        }
        check_depth(depth + 1)?;
        let start = self.state.pieces.written.len();
        let next = match form {
            Form::Struct { members, starts, parts } => {
                self.struct_text(members, starts, parts, at + 1, depth + 1)?
            }
            Form::List { part } => self.list_text(*part, at + 1, depth + 1)?,
            Form::Map { values } => self.map_text(*values, at + 1, depth + 1)?,
            Form::Scalar(_) => return Err(Stop::Payload), // was returned above
        };
        Ok((next, Piece::Written { start, end: self.state.pieces.written.len() }))
    }

    fn struct_text(
        &mut self,
        members: &Members,
        starts: &[Box<[u8]>],
        parts: &[FormId],
        at: Cursor,
        depth: usize,
    ) -> Next {
        let document = self.document;
        let mark = self.state.pieces.written.len();
        let mut found: Vec<Option<Piece>> = vec![None; parts.len()];
        let mut at = at;
        let mut guess = 0;
        if document.byte(at) == b'}' {
            at += 1;
        } else {
            loop {
                document.check_key(at)?;
                let key = text(&document, document.text(at))?;
                match members.find(Key::new(&key), guess) {
                    Some(member) if found[member].is_none() => {
                        let (next, piece) = self.form(parts[member], at + 2, depth)?;
                        found[member] = Some(piece);
                        guess = member + 1;
                        at = next;
                    }
                    _ => at = document.skip(at + 2, depth)?,
                }
                match document.byte(at) {
                    b',' => at += 1,
                    b'}' => {
                        at += 1;
                        break;
                    }
                    _ => return Err(Stop::Payload),
                }
            }
        }
        // The members were found, and written, in the document's order; now in that of the type.
        let written = &mut self.state.pieces.written;
        let whole = written.len();
        for (start, piece) in starts.iter().zip(&found) {
            written.extend_from_slice(start);
            match piece.unwrap_or(Piece::Null) {
                Piece::Null => written.extend_from_slice(b"null"),
                Piece::Document { start, end } => {
                    written.extend_from_slice(&document.bytes[start..end]);
                }
                Piece::Written { start, end } => written.extend_from_within(start..end),
            }
        }
        written.extend_from_slice(if starts.is_empty() { b"{}" } else { b"}" });
        written.copy_within(whole.., mark);
        written.truncate(mark + written.len() - whole);
        Ok(at)
    }

    fn list_text(&mut self, part: FormId, at: Cursor, depth: usize) -> Next {
        let mut at = at;
        let mut before = b'[';
        if self.document.byte(at) == b']' {
            self.state.pieces.written.push(b'[');
            at += 1;
        } else {
            loop {
                self.state.pieces.written.push(before);
                before = b',';
                at = self.append(part, at, depth)?;
                match self.document.byte(at) {
                    b',' => at += 1,
                    b']' => {
                        at += 1;
                        break;
                    }
                    _ => return Err(Stop::Payload),
                }
            }
        }
        self.state.pieces.written.push(b']');
        Ok(at)
    }

    fn map_text(&mut self, values: FormId, at: Cursor, depth: usize) -> Next {
        let document = self.document;
        let mut at = at;
        let mut seen = Keys::default();
        let mut before = b'{';
        if document.byte(at) == b'}' {
            self.state.pieces.written.push(b'{');
            at += 1;
        } else {
            loop {
                document.check_key(at)?;
                let key = text(&document, document.text(at))?;
                if seen.is_new(&key) {
                    let written = &mut self.state.pieces.written;
                    written.push(before);
                    before = b',';
                    quoted(&key, written);
                    written.push(b':');
                    at = self.append(values, at + 2, depth)?;
                } else {
                    at = document.skip(at + 2, depth)?;
                }
                match document.byte(at) {
                    b',' => at += 1,
                    b'}' => {
                        at += 1;
                        break;
                    }
                    _ => return Err(Stop::Payload),
                }
            }
        }
        self.state.pieces.written.push(b'}');
        Ok(at)
    }

    /// Appends a value to what is being written; NULL is `null`.
    fn append(&mut self, form: FormId, at: Cursor, depth: usize) -> Next {
        let (next, piece) = self.form(form, at, depth)?;
        let written = &mut self.state.pieces.written;
        match piece {
            Piece::Null => written.extend_from_slice(b"null"),
            Piece::Document { start, end } => {
                written.extend_from_slice(&self.document.bytes[start..end]);
            }
            Piece::Written { .. } => {} // it is there already
        }
        Ok(next)
    }

    /// Adds the row's fragments to their columns.
    pub(crate) fn push_fragments(&mut self) -> Result<(), Stop> {
        for fragment in &self.program.transcoding.fragments {
            let column = &mut self.state.columns[fragment.column];
            if let Data::Binary { ends, bytes } = &mut column.data {
                string_together(fragment, self.document.bytes, &self.state.pieces, bytes);
                ends.push(offset(bytes.len())?);
            }
            column.added();
        }
        Ok(())
    }
}

fn string_together(fragment: &Fragment, document: &[u8], pieces: &Pieces, out: &mut Vec<u8>) {
    // What has been decided to be copied from the document, but not yet been.
    let mut run = 0..0;
    for (before, text) in &fragment.fields {
        match pieces.of_texts[*text] {
            Piece::Document { start, end } => {
                // `,"name":` may stand before the value as we would write it, too.
                if run.end + before.len() == start && document[run.end..start] == **before {
                    run.end = end;
                } else {
                    out.extend_from_slice(&document[run]);
                    out.extend_from_slice(before);
                    run = start..end;
                }
            }
            Piece::Null if fragment.omits_nulls => {}
            piece => {
                out.extend_from_slice(&document[run]);
                run = 0..0;
                out.extend_from_slice(before);
                match piece {
                    Piece::Written { start, end } => {
                        out.extend_from_slice(&pieces.written[start..end]);
                    }
                    _ => out.extend_from_slice(b"null"),
                }
            }
        }
    }
    out.extend_from_slice(&document[run]);
}
