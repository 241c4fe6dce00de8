//! Walks values along their forms, and strings fragments together.

use super::own_text::OwnText;
use super::program::{Form, FormId, Fragment, TextId};
use super::scalars::{Made, scalar};
use super::{Piece, Pieces};
use crate::decode::columns::{Data, offset};
use crate::decode::members::{Key, Members};
use crate::decode::row::{Done, Keys, Row};
use crate::decode::scalars::{Stop, text};
use crate::encode::strings::quoted;
use crate::json::document::Cursor;

impl Row<'_> {
    /// Finds the piece of a text of a string column.
    #[inline]
    pub(crate) fn transcode_string(&mut self, id: TextId, at: Cursor) -> Done {
        let document = &self.document;
        if document.byte(at) != b'"' || document.has_escapes {
            return self.transcode(id, at);
        }
        let (start, end) = document.text_range(at);
        self.state.pieces.of_texts[id] = Piece::Document { start: start - 1, end: end + 1 };
        Ok(())
    }

    /// Finds the piece of a text.
    #[inline(never)]
    pub(crate) fn transcode(&mut self, id: TextId, at: Cursor) -> Done {
        let wanted = &self.program.transcoding.texts[id];
        let mistyped = self.state.mistyped;
        let piece = self.form(wanted.form, at)?;
        if !wanted.counts {
            self.state.mistyped = mistyped;
        }
        self.state.pieces.of_texts[id] = piece;
        Ok(())
    }

    /// The piece of a value. One that had to be written is the last thing that was.
    #[inline]
    fn form(&mut self, id: FormId, at: Cursor) -> Result<Piece, Stop> {
        let program = self.program;
        let form = &program.transcoding.forms[id];
        let opening = match form {
            Form::Scalar(kind) => {
                let Pieces { written, plain, .. } = &mut self.state.pieces;
                let start = written.len();
                let made = scalar(kind, &self.document, at, program.zone, written, plain)?;
                return Ok(match made {
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
                });
            }
            Form::List { .. } => b'[',
            Form::Struct { .. } | Form::Map { .. } => b'{',
        };
        if self.document.byte(at) != opening {
            self.count_if_mistyped(at);
            return Ok(Piece::Null);
        }
        let start = self.state.pieces.written.len();
        match form {
            Form::Struct { members, starts, parts } => {
                self.struct_text(members, starts, parts, at)?;
            }
            Form::List { part } => self.list_text(*part, at)?,
            Form::Map { values } => self.map_text(*values, at)?,
            Form::Scalar(_) => return Err(Stop::Payload), // was returned above
        }
        Ok(Piece::Written { start, end: self.state.pieces.written.len() })
    }

    fn struct_text(
        &mut self,
        members: &Members,
        starts: &[Box<[u8]>],
        parts: &[FormId],
        at: Cursor,
    ) -> Done {
        let document = self.document;
        let mark = self.state.pieces.written.len();
        let mut found: Vec<Option<Piece>> = vec![None; parts.len()];
        let mut guess = 0;
        let mut member = document.first(at);
        while let Some(at) = member {
            let value = document.member(at);
            let key = text(&document, document.text(at))?;
            if let Some(member) = members.find(Key::new(&key), guess)
                && found[member].is_none()
            {
                found[member] = Some(self.form(parts[member], value)?);
                guess = member + 1;
            }
            member = document.next(value);
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
        Ok(())
    }

    fn list_text(&mut self, part: FormId, at: Cursor) -> Done {
        let document = self.document;
        self.state.pieces.written.push(b'[');
        let mut element = document.first(at);
        while let Some(at) = element {
            self.append(part, at)?;
            element = document.next(at);
            if element.is_some() {
                self.state.pieces.written.push(b',');
            }
        }
        self.state.pieces.written.push(b']');
        Ok(())
    }

    fn map_text(&mut self, values: FormId, at: Cursor) -> Done {
        let document = self.document;
        let mut seen = Keys::default();
        let mut before = b'{';
        let mut member = document.first(at);
        while let Some(at) = member {
            let value = document.member(at);
            let key = text(&document, document.text(at))?;
            if seen.is_new(&key) {
                let written = &mut self.state.pieces.written;
                written.push(before);
                before = b',';
                quoted(&key, written);
                written.push(b':');
                self.append(values, value)?;
            }
            member = document.next(value);
        }
        self.state.pieces.written.extend_from_slice(if before == b'{' { b"{}" } else { b"}" });
        Ok(())
    }

    /// Appends a value to what is being written; NULL is `null`.
    fn append(&mut self, form: FormId, at: Cursor) -> Done {
        let piece = self.form(form, at)?;
        let written = &mut self.state.pieces.written;
        match piece {
            Piece::Null => written.extend_from_slice(b"null"),
            Piece::Document { start, end } => {
                written.extend_from_slice(&self.document.bytes[start..end]);
            }
            Piece::Written { .. } => {} // it is there already
        }
        Ok(())
    }

    /// Adds the object at a token to the only fragment, if it stands there as we would write it.
    pub(crate) fn push_own_text(&mut self, own: &OwnText, object: Cursor) -> Result<bool, Stop> {
        let forms = &self.program.transcoding.forms;
        let found = own.find(&self.document, object, forms, &mut self.state.pieces);
        let Some(members) = found else { return Ok(false) };
        let column = &mut self.state.columns[own.column];
        if let Data::Binary { ends, bytes } = &mut column.data {
            bytes.push(b',');
            bytes.extend_from_slice(&self.document.bytes[members]);
            ends.push(offset(bytes.len())?);
        }
        column.added();
        Ok(true)
    }

    /// Adds the row's fragments to their columns.
    pub(crate) fn push_fragments(&mut self) -> Done {
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
    for (before, text) in fragment.fields() {
        match pieces.of_texts[text] {
            Piece::Document { start, end } => {
                // `,"name":` may stand before the value as we would write it, too.
                if run.end + before.len() == start && document[run.end..start] == *before {
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
