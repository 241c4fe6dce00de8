//! A projection as the kernel runs it: where in a row values are found, and what is made of them.
//!
//! The planner's side (`narrows/formats/json/native_program.py`) flattens the tree of places into lists that
//! refer to each other by number; here they are checked once, so that decoding need not.

use super::columns::{ColumnId, Kind};
use super::members::Members;
use crate::transcode::program::{TextId, Transcoding};

pub type PlaceId = usize;
pub type ReadId = usize;

/// A value in a row, and who wants what of it.
pub struct Place {
    pub shape: Shape,
    /// Columns that hold this value.
    pub reads: Vec<ReadId>,
    /// Texts that are made of this value.
    pub texts: Vec<TextId>,
    pub presence: Option<ColumnId>,
    pub length: Option<ColumnId>,
    /// Values in this one that are wanted as columns of their own.
    pub parts: Vec<PlaceId>,
}

pub enum Shape {
    Scalar,
    /// A struct or map: the name of each part.
    Object(Members),
    /// The index of each part, ascending.
    Array(Vec<u32>),
}

impl Place {
    /// Is anything wanted but the value itself?
    pub fn has_parts(&self) -> bool {
        self.presence.is_some() || self.length.is_some() || !self.parts.is_empty()
    }
}

/// What is done at a place, in short, and with small numbers: of a place that has thousands of
/// parts, it should be found without going through those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Short {
    /// One column of scalars is filled.
    Scalar(u32),
    /// One text is made, of a string.
    String(u32),
    /// Whatever the place says.
    Place(u32),
    /// A value is built that is no scalar.
    Read(u32),
}

/// How a value becomes that of a column.
pub enum Read {
    /// Nobody looks: NULL.
    Nothing {
        column: ColumnId,
    },
    Scalar {
        column: ColumnId,
    },
    Struct {
        column: ColumnId,
        members: Members,
        reads: Vec<ReadId>,
        /// Members that are built, although nobody looks at them here.
        nulls: Vec<ColumnId>,
    },
    List {
        column: ColumnId,
        part: ColumnId,
        /// Elements that are looked at in another way than the rest, ascending.
        special: Vec<(u32, ReadId)>,
        rest: ReadId,
    },
    Map {
        column: ColumnId,
        keys: ColumnId,
        values: ColumnId,
        special: Members,
        special_reads: Vec<ReadId>,
        rest: ReadId,
    },
}

impl Read {
    pub fn column(&self) -> ColumnId {
        match self {
            Read::Nothing { column }
            | Read::Scalar { column }
            | Read::Struct { column, .. }
            | Read::List { column, .. }
            | Read::Map { column, .. } => *column,
        }
    }
}

pub struct Program {
    pub kinds: Vec<Kind>,
    pub reads: Vec<Read>,
    pub places: Vec<Place>,
    pub row: PlaceId,
    /// The columns of the batch.
    pub outputs: Vec<ColumnId>,
    /// Seconds east of UTC of times that name no zone; None when it is a region.
    pub zone: Option<i32>,
    /// What is written of a row, instead of built.
    pub transcoding: Transcoding,
}

impl Program {
    /// For each place, then for each read: its parts in short. The program has been checked.
    pub fn short_parts(&self) -> Vec<Vec<Short>> {
        let short = |id: &PlaceId| {
            let place = &self.places[*id];
            let whole = Short::Place(*id as u32);
            match (&place.reads[..], &place.texts[..]) {
                _ if place.has_parts() => whole,
                ([read], []) => self.short_read(*read),
                ([], [text]) if self.transcoding.is_string(*text) => Short::String(*text as u32),
                _ => whole,
            }
        };
        let of_places = self.places.iter().map(|place| place.parts.iter().map(short).collect());
        let of_reads = self.reads.iter().map(|read| match read {
            Read::Struct { reads, .. } => reads.iter().map(|part| self.short_read(*part)).collect(),
            _ => Vec::new(),
        });
        of_places.chain(of_reads).collect()
    }

    #[inline(always)]
    pub fn short_read(&self, id: ReadId) -> Short {
        match self.reads[id] {
            Read::Scalar { column } => Short::Scalar(column as u32),
            _ => Short::Read(id as u32),
        }
    }

    /// Checks that all numbers refer to something. Parts have greater numbers than what they are
    /// part of, so no walk goes round in circles.
    pub fn check(&self) -> Result<(), &'static str> {
        let later = |id: usize, of: usize, count: usize| {
            if of < id && id < count { Ok(()) } else { Err("a part does not come after its whole") }
        };
        let column = |id: ColumnId| {
            if id < self.kinds.len() { Ok(()) } else { Err("there is no such column") }
        };
        let counts = [self.kinds.len(), self.reads.len(), self.places.len()];
        if counts.into_iter().chain([self.transcoding.texts.len()]).any(|n| n > u32::MAX as usize) {
            return Err("there is too much");
        }
        for (id, kind) in self.kinds.iter().enumerate() {
            let count = self.kinds.len();
            match kind {
                Kind::Struct { parts, .. } => {
                    parts.iter().try_for_each(|part| later(*part, id, count))?;
                }
                Kind::List { part } => later(*part, id, count)?,
                Kind::Map { keys, values } => {
                    later(*keys, id, count)?;
                    later(*values, id, count)?;
                    if self.kinds[*keys] != Kind::Text {
                        return Err("keys are texts");
                    }
                }
                _ => {}
            }
        }
        for (id, read) in self.reads.iter().enumerate() {
            let count = self.reads.len();
            column(read.column())?;
            let kind = &self.kinds[read.column()];
            match (read, kind) {
                (Read::Nothing { .. }, _) => {}
                (
                    Read::Scalar { .. },
                    Kind::Struct { .. } | Kind::List { .. } | Kind::Map { .. },
                ) => {
                    return Err("a scalar is none");
                }
                (Read::Scalar { .. }, _) => {}
                (Read::Struct { members, reads, nulls, .. }, Kind::Struct { parts, .. }) => {
                    if members.len() != reads.len() || reads.len() + nulls.len() != parts.len() {
                        return Err("a struct has other members");
                    }
                    reads.iter().try_for_each(|read| later(*read, id, count))?;
                    let written = reads.iter().map(|read| self.reads[*read].column());
                    let mut written: Vec<ColumnId> = written.chain(nulls.iter().copied()).collect();
                    let mut parts = parts.clone();
                    written.sort_unstable();
                    parts.sort_unstable();
                    if written != parts {
                        return Err("a struct has other members");
                    }
                }
                (Read::List { part, special, rest, .. }, Kind::List { part: of }) => {
                    for read in special.iter().map(|(_, read)| *read).chain([*rest]) {
                        later(read, id, count)?;
                        if self.reads[read].column() != *part || part != of {
                            return Err("a list has other elements");
                        }
                    }
                }
                (
                    Read::Map { keys, values, special, special_reads, rest, .. },
                    Kind::Map { keys: of_keys, values: of_values },
                ) => {
                    if special.len() != special_reads.len() || keys != of_keys {
                        return Err("a map has other keys");
                    }
                    for read in special_reads.iter().chain([rest]) {
                        later(*read, id, count)?;
                        if self.reads[*read].column() != *values || values != of_values {
                            return Err("a map has other values");
                        }
                    }
                }
                _ => return Err("a nested value is of another kind"),
            }
        }
        for (id, place) in self.places.iter().enumerate() {
            place.parts.iter().try_for_each(|part| later(*part, id, self.places.len()))?;
            if place.reads.iter().any(|read| *read >= self.reads.len()) {
                return Err("there is no such read");
            }
            if place.texts.iter().any(|text| *text >= self.transcoding.texts.len()) {
                return Err("there is no such text");
            }
            let parts = match &place.shape {
                Shape::Scalar => 0,
                Shape::Object(members) => members.len(),
                Shape::Array(indices) => indices.len(),
            };
            if parts != place.parts.len() {
                return Err("a place has other parts");
            }
            for id in place.presence.iter().chain(&place.length) {
                column(*id)?;
            }
            if place.presence.is_some_and(|id| self.kinds[id] != Kind::Bool)
                || place.length.is_some_and(|id| self.kinds[id] != Kind::Int32)
            {
                return Err("a presence is a BOOLEAN and a length an INT");
            }
        }
        if !matches!(self.places.get(self.row), Some(Place { shape: Shape::Object(_), .. })) {
            return Err("a row is an object");
        }
        self.transcoding.check(&self.kinds)?;
        self.outputs.iter().try_for_each(|id| column(*id))
    }
}
