//! Walks documents along a program and fills its columns.

use std::collections::HashSet;

use super::columns::{ColumnId, Columns, Data, offset};
use super::members::{Key, Members};
use super::program::{Place, PlaceId, Program, Read, ReadId, Shape};
use super::scalars::{Pushed, Stop, push, text};
use crate::json::document::{Cursor, Document, check_depth};
use crate::transcode::{Piece, Pieces};

/// What is kept while documents are decoded.
pub struct State {
    pub columns: Columns,
    pub mistyped: usize,
    pub pieces: Pieces,
    /// For each object place, then each struct read: in which object each member was last found.
    seen: Vec<Vec<u64>>,
    objects: u64,
}

impl State {
    pub fn new(program: &Program) -> Self {
        let of_places = program.places.iter().map(|place| place.parts.len());
        let of_reads = program.reads.iter().map(|read| match read {
            Read::Struct { reads, .. } => reads.len(),
            _ => 0,
        });
        State {
            columns: Columns::new(program.kinds.iter().cloned()),
            mistyped: 0,
            pieces: Pieces::new(program.transcoding.texts.len()),
            seen: of_places.chain(of_reads).map(|members| vec![0; members]).collect(),
            objects: 0,
        }
    }
}

/// One document on its way into the columns.
pub struct Row<'a> {
    pub program: &'a Program,
    pub document: Document<'a>,
    pub state: &'a mut State,
}

pub type Next = Result<Cursor, Stop>;

impl Row<'_> {
    /// The object at a token, as a row; `depth` is that of what it stands in.
    pub fn read(&mut self, at: Cursor, depth: usize) -> Next {
        self.state.pieces.written.clear();
        let next = self.object_parts(self.program.row, at + 1, depth + 1)?;
        self.push_fragments()?;
        Ok(next)
    }

    // --- places: values on the way to flat columns ------------------------------------------------

    fn place(&mut self, id: PlaceId, at: Cursor, depth: usize) -> Next {
        let program = self.program;
        let place = &program.places[id];
        let mut next = None;
        for read in &place.reads {
            next = Some(self.value(*read, at, depth)?);
        }
        for text in &place.texts {
            next = Some(self.transcode(*text, at, depth)?);
        }
        match next {
            Some(next) if !place.has_parts() => Ok(next),
            _ => self.parts(id, place, at, depth),
        }
    }

    fn parts(&mut self, id: PlaceId, place: &Place, at: Cursor, depth: usize) -> Next {
        let opening = match place.shape {
            Shape::Scalar => 0, // begins no value
            Shape::Object(_) => b'{',
            Shape::Array(_) => b'[',
        };
        if self.document.byte(at) != opening {
            self.count_if_mistyped(at)?;
            self.absent(place);
            return Ok(self.document.skip(at, depth)?);
        }
        if let Some(column) = place.presence {
            self.push_bool(column);
        }
        match &place.shape {
            Shape::Array(indices) => self.array_parts(place, indices, at + 1, depth + 1),
            _ => {
                if let Some(column) = place.length {
                    self.push_key_count(column, at + 1, depth + 1)?;
                }
                self.object_parts(id, at + 1, depth + 1)
            }
        }
    }

    /// Members of an object, from the token after its `{` on.
    fn object_parts(&mut self, id: PlaceId, at: Cursor, depth: usize) -> Next {
        let program = self.program;
        let place = &program.places[id];
        let Shape::Object(members) = &place.shape else { return Err(Stop::Payload) };
        let (next, object) = self.members(id, members, at, depth, |row, member, at| {
            row.place(place.parts[member], at, depth)
        })?;
        if let Some(object) = object {
            for (member, part) in place.parts.iter().enumerate() {
                if self.state.seen[id][member] != object {
                    self.absent_value(*part);
                }
            }
        }
        Ok(next)
    }

    /// Elements of an array, from the token after its `[` on.
    fn array_parts(&mut self, place: &Place, indices: &[u32], at: Cursor, depth: usize) -> Next {
        check_depth(depth)?;
        let mut at = at;
        let mut count = 0u32;
        let mut found = 0;
        if self.document.byte(at) == b']' {
            at += 1;
        } else {
            loop {
                if found == indices.len() && place.length.is_none() {
                    at = self.document.skip_elements(at, depth)?;
                    break;
                }
                if indices.get(found) == Some(&count) {
                    at = self.place(place.parts[found], at, depth)?;
                    found += 1;
                } else {
                    at = self.document.skip(at, depth)?;
                }
                count += 1;
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
        for part in &place.parts[found..] {
            self.absent_value(*part);
        }
        if let Some(column) = place.length {
            self.push_length(column, count as usize)?;
        }
        Ok(at)
    }

    fn absent_value(&mut self, id: PlaceId) {
        let program = self.program;
        let place = &program.places[id];
        for read in &place.reads {
            self.state.columns.push_null(program.reads[*read].column());
        }
        for text in &place.texts {
            self.state.pieces.of_texts[*text] = Piece::Null;
        }
        self.absent(place);
    }

    /// What is collected at a place, and in it, when there is nothing.
    fn absent(&mut self, place: &Place) {
        if let Some(column) = place.presence {
            let column = &mut self.state.columns[column];
            if let Data::Bool(bits) = &mut column.data {
                bits.push(false);
            }
            column.added();
        }
        if let Some(column) = place.length {
            self.state.columns.push_null(column);
        }
        for part in &place.parts {
            self.absent_value(*part);
        }
    }

    // --- values: what is built --------------------------------------------------------------------

    fn value(&mut self, id: ReadId, at: Cursor, depth: usize) -> Next {
        let program = self.program;
        let read = &program.reads[id];
        let column = read.column();
        let opening = match read {
            Read::Scalar { .. } => return self.scalar(column, at, depth),
            Read::Nothing { .. } => {
                self.state.columns.push_null(column);
                return Ok(self.document.skip(at, depth)?);
            }
            Read::List { .. } => b'[',
            Read::Struct { .. } | Read::Map { .. } => b'{',
        };
        if self.document.byte(at) != opening {
            self.count_if_mistyped(at)?;
            self.state.columns.push_null(column);
            return Ok(self.document.skip(at, depth)?);
        }
        check_depth(depth + 1)?;
        match read {
            Read::Struct { members, reads, nulls, .. } => {
                self.structs(id, column, members, reads, nulls, at + 1, depth + 1)
            }
            Read::List { part, special, rest, .. } => {
                self.list(column, *part, special, *rest, at + 1, depth + 1)
            }
            _ => self.map(read, at + 1, depth + 1),
        }
    }

    #[inline]
    fn scalar(&mut self, column: ColumnId, at: Cursor, depth: usize) -> Next {
        let next = match self.document.byte(at) {
            b'{' | b'[' => self.document.skip(at, depth)?,
            _ => at + 1,
        };
        let pushed =
            push(&mut self.state.columns[column], &self.document, at, next, self.program.zone)?;
        match pushed {
            Pushed::Value => {}
            Pushed::Null => self.state.columns.push_null(column),
            Pushed::Mistyped => {
                self.state.mistyped += 1;
                self.state.columns.push_null(column);
            }
        }
        Ok(next)
    }

    #[allow(clippy::too_many_arguments)]
    fn structs(
        &mut self,
        id: ReadId,
        column: ColumnId,
        members: &Members,
        reads: &[ReadId],
        nulls: &[ColumnId],
        at: Cursor,
        depth: usize,
    ) -> Next {
        let seen = self.program.places.len() + id;
        let (next, object) = self.members(seen, members, at, depth, |row, member, at| {
            row.value(reads[member], at, depth)
        })?;
        if let Some(object) = object {
            for (member, read) in reads.iter().enumerate() {
                if self.state.seen[seen][member] != object {
                    self.state.columns.push_null(self.program.reads[*read].column());
                }
            }
        }
        for column in nulls {
            self.state.columns.push_null(*column);
        }
        self.state.columns[column].added();
        Ok(next)
    }

    fn list(
        &mut self,
        column: ColumnId,
        part: ColumnId,
        special: &[(u32, ReadId)],
        rest: ReadId,
        at: Cursor,
        depth: usize,
    ) -> Next {
        let mut at = at;
        let mut special = special.iter();
        let mut next_special = special.next();
        let mut index = 0u32;
        if self.document.byte(at) == b']' {
            at += 1;
        } else {
            loop {
                let mut read = rest;
                if let Some((wanted, other)) = next_special
                    && *wanted == index
                {
                    read = *other;
                    next_special = special.next();
                }
                at = self.value(read, at, depth)?;
                index += 1;
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
        self.push_end(column, part)?;
        Ok(at)
    }

    fn map(&mut self, read: &Read, at: Cursor, depth: usize) -> Next {
        let Read::Map { column, keys, values, special, special_reads, rest } = read else {
            return Err(Stop::Payload);
        };
        let mut at = at;
        let mut seen = Keys::default();
        if self.document.byte(at) == b'}' {
            at += 1;
        } else {
            loop {
                self.document.check_key(at)?;
                let key = text(&self.document, self.document.text(at))?;
                if seen.is_new(&key) {
                    let keys = &mut self.state.columns[*keys];
                    if let Data::Text { ends, bytes } = &mut keys.data {
                        bytes.extend_from_slice(&key);
                        ends.push(offset(bytes.len())?);
                    }
                    keys.added();
                    let read =
                        special.find(Key::new(&key), 0).map_or(*rest, |found| special_reads[found]);
                    at = self.value(read, at + 2, depth)?;
                } else {
                    at = self.document.skip(at + 2, depth)?;
                }
                match self.document.byte(at) {
                    b',' => at += 1,
                    b'}' => {
                        at += 1;
                        break;
                    }
                    _ => return Err(Stop::Payload),
                }
            }
        }
        self.push_end(*column, *values)?;
        Ok(at)
    }

    // --- pieces -----------------------------------------------------------------------------------

    /// Reads the wanted members of an object, each where it is found first; what comes after the
    /// object, and if some are missing the number by which `seen` tells those that are not.
    #[inline(always)]
    fn members(
        &mut self,
        seen: usize,
        members: &Members,
        at: Cursor,
        depth: usize,
        mut read: impl FnMut(&mut Self, usize, Cursor) -> Next,
    ) -> Result<(Cursor, Option<u64>), Stop> {
        check_depth(depth)?;
        self.state.objects += 1;
        let object = self.state.objects;
        let document = self.document;
        let mut at = at;
        let mut missing = members.len();
        if document.byte(at) == b'}' {
            return Ok((at + 1, (missing > 0).then_some(object)));
        }
        let mut guess = 0;
        loop {
            if missing == 0 {
                return Ok((document.skip_members(at, depth)?, None));
            }
            document.check_key(at)?;
            let found = if document.has_escapes {
                members.find(Key::new(&text(&document, document.text(at))?), guess)
            } else {
                let (start, end) = document.text_range(at);
                members.find(Key::within(document.bytes, start, end), guess)
            };
            match found {
                Some(member) if self.state.seen[seen][member] != object => {
                    self.state.seen[seen][member] = object;
                    missing -= 1;
                    guess = member + 1;
                    at = read(self, member, at + 2)?;
                }
                _ => at = document.skip(at + 2, depth)?,
            }
            match document.byte(at) {
                b',' => at += 1,
                b'}' => return Ok((at + 1, (missing > 0).then_some(object))),
                _ => return Err(Stop::Payload),
            }
        }
    }

    fn push_key_count(&mut self, column: ColumnId, at: Cursor, depth: usize) -> Result<(), Stop> {
        let mut at = at;
        let mut seen = Keys::default();
        let mut count = 0;
        if self.document.byte(at) != b'}' {
            loop {
                self.document.check_key(at)?;
                count += usize::from(seen.is_new(&text(&self.document, self.document.text(at))?));
                at = self.document.skip(at + 2, depth)?;
                match self.document.byte(at) {
                    b',' => at += 1,
                    _ => break, // whoever walks the object after us sees whether it ends here
                }
            }
        }
        self.push_length(column, count)
    }

    /// Counts a value that is not of the declared type; null is of every type.
    pub(crate) fn count_if_mistyped(&mut self, at: Cursor) -> Result<(), Stop> {
        if !self.document.is_null(at)? {
            self.state.mistyped += 1;
        }
        Ok(())
    }

    fn push_bool(&mut self, column: ColumnId) {
        let column = &mut self.state.columns[column];
        if let Data::Bool(bits) = &mut column.data {
            bits.push(true);
        }
        column.added();
    }

    fn push_length(&mut self, column: ColumnId, length: usize) -> Result<(), Stop> {
        let column = &mut self.state.columns[column];
        if let Data::Int32(values) = &mut column.data {
            values.push(offset(length)?);
        }
        column.added();
        Ok(())
    }

    /// Ends a list where its elements end.
    fn push_end(&mut self, column: ColumnId, part: ColumnId) -> Result<(), Stop> {
        let end = offset(self.state.columns[part].count())?;
        let column = &mut self.state.columns[column];
        if let Data::Ends(ends) = &mut column.data {
            ends.push(end);
        }
        column.added();
        Ok(())
    }
}

/// The keys of an object so far.
#[derive(Default)]
pub struct Keys {
    few: Vec<Box<[u8]>>,
    many: HashSet<Box<[u8]>>,
}

impl Keys {
    pub fn is_new(&mut self, key: &[u8]) -> bool {
        const FEW: usize = 16;
        if self.few.iter().any(|known| **known == *key) {
            return false;
        }
        if self.few.len() < FEW {
            self.few.push(key.into());
            return true;
        }
        self.many.insert(key.into())
    }
}
