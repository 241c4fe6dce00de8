//! Walks documents along a program and fills its columns.

use std::collections::HashSet;

use super::columns::{ColumnId, Columns, Data, offset};
use super::members::{Key, Members};
use super::memory::Memory;
use super::program::{Place, PlaceId, Program, Read, ReadId, Shape, Short};
use super::scalars::{Pushed, Stop, push, push_common, text};
use crate::json::document::{Cursor, Document};
use crate::transcode::own_text::OwnText;
use crate::transcode::{Piece, Pieces};

/// What is kept while documents are decoded.
pub struct State {
    pub columns: Columns,
    pub mistyped: usize,
    pub pieces: Pieces,
    /// So many documents are not asked whether they are their own text, because one was not.
    own_text_pause: u32,
    /// For each object place, then each struct read.
    memories: Vec<Memory>,
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
            own_text_pause: 0,
            memories: of_places.chain(of_reads).map(Memory::new).collect(),
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
    fn part(&mut self, short: Short, at: Cursor) -> Done {
        match short {
            Short::Scalar(column) => self.scalar(column, at),
            Short::String(text) => self.transcode_string(text, at),
            Short::Place(id) => self.place(id, at),
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
        let place = &program.places[id];
        let Shape::Object(members) = &place.shape else { return Err(Stop::Payload) };
        let parts = &self.short_parts[id];
        let object =
            self.members(id, members, at, |row, member, at| row.part(parts[member], at))?;
        if let Some(object) = object {
            for (member, part) in place.parts.iter().enumerate() {
                if self.state.memories[id].seen[member] != object {
                    self.absent_value(*part);
                }
            }
        }
        Ok(())
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

    #[inline]
    fn value(&mut self, id: ReadId, at: Cursor) -> Done {
        match self.program.reads[id] {
            Read::Scalar { column } => self.scalar(column, at),
            _ => self.nested(id, at),
        }
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
            Read::Struct { members, reads, nulls, .. } => {
                self.structs(id, column, members, reads, nulls, at)
            }
            Read::List { part, special, rest, .. } => self.list(column, *part, special, *rest, at),
            _ => self.map(read, at),
        }
    }

    #[inline]
    fn scalar(&mut self, column: ColumnId, at: Cursor) -> Done {
        if push_common(&mut self.state.columns[column], &self.document, at)? {
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

    fn structs(
        &mut self,
        id: ReadId,
        column: ColumnId,
        members: &Members,
        reads: &[ReadId],
        nulls: &[ColumnId],
        at: Cursor,
    ) -> Done {
        let memory = self.program.places.len() + id;
        let object =
            self.members(memory, members, at, |row, member, at| row.value(reads[member], at))?;
        if let Some(object) = object {
            for (member, read) in reads.iter().enumerate() {
                if self.state.memories[memory].seen[member] != object {
                    self.state.columns.push_null(self.program.reads[*read].column());
                }
            }
        }
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
        let document = self.document;
        let mut special = special.iter().peekable();
        let mut index = 0u32;
        let mut element = document.first(at);
        while let Some(at) = element {
            let read = special.next_if(|(wanted, _)| *wanted == index).map_or(rest, |(_, r)| *r);
            self.value(read, at)?;
            index += 1;
            element = document.next(at);
        }
        self.push_end(column, part)
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

    /// Reads the wanted members of an object, each where it is found first. If some are missing,
    /// answers with the number by which its memory tells those that are not.
    #[inline(always)]
    fn members(
        &mut self,
        id: usize,
        members: &Members,
        at: Cursor,
        read: impl FnMut(&mut Self, usize, Cursor) -> Done,
    ) -> Result<Option<u64>, Stop> {
        self.state.objects += 1;
        let object = self.state.objects;
        // Taken out while members are read: no object is part of itself, so nobody misses it.
        let mut memory = std::mem::take(&mut self.state.memories[id]);
        let missing = self.find_members(&mut memory, members, object, at, read);
        self.state.memories[id] = memory;
        Ok((missing? > 0).then_some(object))
    }

    /// How many are missing.
    #[inline(always)]
    fn find_members(
        &mut self,
        memory: &mut Memory,
        members: &Members,
        object: u64,
        at: Cursor,
        mut read: impl FnMut(&mut Self, usize, Cursor) -> Done,
    ) -> Result<usize, Stop> {
        let document = self.document;
        let mut missing = members.len();
        let mut guess = 0;
        let mut number = 0;
        let mut member = document.first(at);
        while let Some(mut at) = member {
            if missing == 0 {
                break;
            }
            if !document.has_escapes {
                let unwanted = memory.unwanted(number, &document, at);
                at = document.after_plain_members(at, unwanted);
                number += unwanted;
            }
            let value = document.member(at);
            let found = if document.has_escapes {
                members.find(Key::new(&text(&document, document.text(at))?), guess)
            } else {
                match memory.recall(number, document.bytes, document.place(at) + 1) {
                    Some(found) => found,
                    None => {
                        let range = document.text_range(at);
                        memory.learn(number, document.bytes, range, members, guess)
                    }
                }
            };
            if let Some(found) = found
                && memory.seen[found] != object
            {
                memory.seen[found] = object;
                missing -= 1;
                guess = found + 1;
                read(self, found, value)?;
            }
            number += 1;
            member = document.next(value);
        }
        Ok(missing)
    }

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
