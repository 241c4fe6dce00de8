//! Walks documents along a program and fills its columns.

use std::collections::HashSet;

use super::columns::{ColumnId, Columns, Data, offset};
use super::members::{Key, Members};
use super::memory::{Known, Memory};
use super::program::{Place, PlaceId, Program, Read, ReadId, Shape, Short};
use super::scalars::{Pushed, Stop, push, push_common, text};
use crate::json::document::{Cursor, Document, Token};
use crate::transcode::own_text::OwnText;
use crate::transcode::program::TextId;
use crate::transcode::{Piece, Pieces};

/// What is kept while documents are decoded.
pub struct State {
    pub columns: Columns,
    pub mistyped: usize,
    pub pieces: Pieces,
    /// So many documents are not asked whether they are their own text, because one was not.
    own_text_pause: u32,
    /// For each object place, then each struct read; none while its object is read.
    pub(super) memories: Vec<Option<Box<Memory>>>,
    pub(super) objects: u64,
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
            own_text_pause: 0,
            memories: of_places
                .chain(of_reads)
                .map(|count| Some(Memory::new(count).into()))
                .collect(),
            objects: 0,
        }
    }
}

/// Documents of a stream are mostly alike: where one is not its own text, most others are not.
const PAUSE: u32 = 32;

/// One document on its way into the columns.
pub struct Row<'a> {
    pub program: &'a Program,
    pub short_parts: &'a [Vec<Short>],
    pub own_text: Option<&'a OwnText>,
    pub document: Document<'a>,
    pub state: &'a mut State,
}

pub type Done = Result<(), Stop>;

impl Row<'_> {
    /// The object at a token, as a row.
    #[inline]
    pub fn read(&mut self, at: Cursor) -> Done {
        self.state.pieces.written.clear();
        if let Some(own) = self.own_text
            && !self.document.has_escapes
        {
            if self.state.own_text_pause > 0 {
                self.state.own_text_pause -= 1;
            } else if self.push_own_text(own, at)? {
                return Ok(());
            } else {
                self.state.own_text_pause = PAUSE;
                self.state.pieces.written.clear();
            }
        }
        self.object_parts(self.program.row, at)?;
        self.push_fragments()
    }

    // --- places: values on the way to flat columns ------------------------------------------------

    /// The part of an object or array.
    #[inline(always)]
    pub(super) fn part(&mut self, short: Short, at: Cursor) -> Done {
        match short {
            Short::Scalar(column) => self.scalar(column as ColumnId, at),
            Short::Read(id) => self.nested(id as ReadId, at),
            Short::String(text) => self.transcode_string(text as TextId, at),
            Short::Place(id) => self.place(id as PlaceId, at),
        }
    }

    #[inline(never)]
    fn place(&mut self, id: PlaceId, at: Cursor) -> Done {
        let place = &self.program.places[id];
        for read in &place.reads {
            self.value(*read, at)?;
        }
        for text in &place.texts {
            self.transcode(*text, at)?;
        }
        if place.has_parts() { self.parts(id, place, at) } else { Ok(()) }
    }

    fn parts(&mut self, id: PlaceId, place: &Place, at: Cursor) -> Done {
        let opening = match place.shape {
            Shape::Scalar => 0, // begins no value
            Shape::Object(_) => b'{',
            Shape::Array(_) => b'[',
        };
        if self.document.byte(at) != opening {
            self.count_if_mistyped(at);
            self.absent(place);
            return Ok(());
        }
        if let Some(column) = place.presence {
            self.push_bool(column);
        }
        match &place.shape {
            Shape::Array(indices) => self.array_parts(id, place, indices, at),
            _ => {
                if let Some(column) = place.length {
                    self.push_key_count(column, at)?;
                }
                self.object_parts(id, at)
            }
        }
    }

    fn object_parts(&mut self, id: PlaceId, at: Cursor) -> Done {
        let program = self.program;
        match &program.places[id].shape {
            Shape::Object(members) => self.members(id, members, at),
            _ => Err(Stop::Payload),
        }
    }

    fn array_parts(&mut self, id: PlaceId, place: &Place, indices: &[u32], at: Cursor) -> Done {
        let parts = &self.short_parts[id];
        let document = self.document;
        let mut count = 0u32;
        let mut found = 0;
        let mut element = document.first(at);
        while let Some(at) = element {
            if found == indices.len() && place.length.is_none() {
                break;
            }
            if indices.get(found) == Some(&count) {
                self.part(parts[found], at)?;
                found += 1;
            }
            count += 1;
            element = document.next(at);
        }
        for part in &place.parts[found..] {
            self.absent_value(*part);
        }
        match place.length {
            Some(column) => self.push_length(column, count as usize),
            None => Ok(()),
        }
    }

    pub(super) fn absent_value(&mut self, id: PlaceId) {
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

    #[inline]
    fn value(&mut self, id: ReadId, at: Cursor) -> Done {
        self.part(self.program.short_read(id), at)
    }

    #[inline(never)]
    fn nested(&mut self, id: ReadId, at: Cursor) -> Done {
        let program = self.program;
        let read = &program.reads[id];
        let column = read.column();
        let opening = match read {
            Read::Scalar { .. } | Read::Nothing { .. } => {
                self.state.columns.push_null(column);
                return Ok(());
            }
            Read::List { .. } => b'[',
            Read::Struct { .. } | Read::Map { .. } => b'{',
        };
        if self.document.byte(at) != opening {
            self.count_if_mistyped(at);
            self.state.columns.push_null(column);
            return Ok(());
        }
        match read {
            Read::Struct { members, nulls, .. } => {
                self.members(program.places.len() + id, members, at)?;
                for column in nulls {
                    self.state.columns.push_null(*column);
                }
                self.state.columns[column].added();
                Ok(())
            }
            Read::List { part, special, rest, .. } => self.list(column, *part, special, *rest, at),
            _ => self.map(read, at),
        }
    }

    #[inline]
    fn scalar(&mut self, column: ColumnId, at: Cursor) -> Done {
        if self.document.has_escapes {
            return self.uncommon(column, at);
        }
        self.common_scalar(column, at, self.document.token(at))
    }

    /// Of a document without escapes, the value that is a token and stands at one.
    #[inline(always)]
    pub(super) fn common_scalar(&mut self, column: ColumnId, at: Cursor, token: Token) -> Done {
        let zone = self.program.zone;
        if push_common(&mut self.state.columns[column], &self.document, token, zone)? {
            return Ok(());
        }
        self.uncommon(column, at)
    }

    #[inline(never)]
    fn uncommon(&mut self, column: ColumnId, at: Cursor) -> Done {
        match push(&mut self.state.columns[column], &self.document, at, self.program.zone)? {
            Pushed::Value => {}
            Pushed::Null => self.state.columns.push_null(column),
            Pushed::Mistyped => {
                self.state.mistyped += 1;
                self.state.columns.push_null(column);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn structs(
        &mut self,
        memory: &mut Memory,
        known: &Known<'_>,
        column: ColumnId,
        nulls: &[ColumnId],
        at: Cursor,
    ) -> Done {
        self.object(memory, known, at)?;
        for column in nulls {
            self.state.columns.push_null(*column);
        }
        self.state.columns[column].added();
        Ok(())
    }

    fn list(
        &mut self,
        column: ColumnId,
        part: ColumnId,
        special: &[(u32, ReadId)],
        rest: ReadId,
        at: Cursor,
    ) -> Done {
        let first = self.document.first(at);
        match &self.program.reads[rest] {
            Read::Struct { members, nulls, .. } if special.is_empty() => {
                self.list_of_structs(rest, members, nulls, first)?;
            }
            _ => self.elements(special, rest, first)?,
        }
        self.push_end(column, part)
    }

    /// The memory is taken out once for all elements: see `members`.
    fn list_of_structs(
        &mut self,
        id: ReadId,
        members: &Members,
        nulls: &[ColumnId],
        mut element: Option<Cursor>,
    ) -> Done {
        let column = self.program.reads[id].column();
        let place = self.program.places.len() + id;
        let known = Known { members, parts: &self.short_parts[place] };
        let Some(mut memory) = self.state.memories[place].take() else { return Err(Stop::Payload) };
        let mut done = Ok(());
        while let (Some(at), Ok(())) = (element, &done) {
            if self.document.byte(at) == b'{' {
                done = self.structs(&mut memory, &known, column, nulls, at);
            } else {
                self.count_if_mistyped(at);
                self.state.columns.push_null(column);
            }
            element = self.document.next(at);
        }
        self.state.memories[place] = Some(memory);
        done
    }

    fn elements(
        &mut self,
        special: &[(u32, ReadId)],
        rest: ReadId,
        mut element: Option<Cursor>,
    ) -> Done {
        let document = self.document;
        let mut special = special.iter().peekable();
        let mut index = 0u32;
        while let Some(at) = element {
            let read = special.next_if(|(wanted, _)| *wanted == index).map_or(rest, |(_, r)| *r);
            self.value(read, at)?;
            index += 1;
            element = document.next(at);
        }
        Ok(())
    }

    fn map(&mut self, read: &Read, at: Cursor) -> Done {
        let Read::Map { column, keys, values, special, special_reads, rest } = read else {
            return Err(Stop::Payload);
        };
        let document = self.document;
        let mut seen = Keys::default();
        let mut member = document.first(at);
        while let Some(at) = member {
            let value = document.member(at);
            let key = text(&document, document.text(at))?;
            if seen.is_new(&key) {
                let keys = &mut self.state.columns[*keys];
                if let Data::Text { ends, bytes } = &mut keys.data {
                    bytes.extend_from_slice(&key);
                    ends.push(offset(bytes.len())?);
                }
                keys.added();
                let read =
                    special.find(Key::new(&key), 0).map_or(*rest, |found| special_reads[found]);
                self.value(read, value)?;
            }
            member = document.next(value);
        }
        self.push_end(*column, *values)
    }

    // --- pieces -----------------------------------------------------------------------------------

    fn push_key_count(&mut self, column: ColumnId, at: Cursor) -> Done {
        let document = self.document;
        let mut seen = Keys::default();
        let mut count = 0;
        let mut member = document.first(at);
        while let Some(at) = member {
            count += usize::from(seen.is_new(&text(&document, document.text(at))?));
            member = document.next(document.member(at));
        }
        self.push_length(column, count)
    }

    /// Counts a value that is not of the declared type; null is of every type.
    pub(crate) fn count_if_mistyped(&mut self, at: Cursor) {
        if !self.document.is_null(at) {
            self.state.mistyped += 1;
        }
    }

    fn push_bool(&mut self, column: ColumnId) {
        let column = &mut self.state.columns[column];
        if let Data::Bool(bits) = &mut column.data {
            bits.push(true);
        }
        column.added();
    }

    fn push_length(&mut self, column: ColumnId, length: usize) -> Done {
        let column = &mut self.state.columns[column];
        if let Data::Int32(values) = &mut column.data {
            values.push(offset(length)?);
        }
        column.added();
        Ok(())
    }

    /// Ends a list where its elements end.
    fn push_end(&mut self, column: ColumnId, part: ColumnId) -> Done {
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
