//! The members of an object: which are wanted, and what is done with them.
//!
//! Most objects have the keys of the last one at their place, in the same order. These are *on
//! track*: a loop with little to ask reads them. Others leave the track where they differ.

use super::columns::ColumnId;
use super::members::{Key, Members};
use super::memory::{Known, Memory, Remembered, unwanted};
use super::program::{PlaceId, ReadId, Short};
use super::row::{Done, Row};
use super::scalars::{Stop, text};
use crate::json::document::Cursor;
use crate::transcode::Piece;
use crate::transcode::program::TextId;

/// How far an object has been gone through.
struct Walk {
    /// The next key.
    next: Option<Cursor>,
    /// How many keys stand before that.
    number: usize,
    /// How many of the wanted members have not been found.
    missing: usize,
}

impl Row<'_> {
    /// Reads the wanted members of an object, each where it is found first.
    pub(super) fn members(&mut self, id: usize, members: &Members, at: Cursor) -> Done {
        let known = Known { members, parts: &self.short_parts[id] };
        // Taken out while members are read: no object is part of itself, so nobody misses it.
        let Some(mut memory) = self.state.memories[id].take() else { return Err(Stop::Payload) };
        let done = self.object(&mut memory, &known, at);
        self.state.memories[id] = Some(memory);
        done
    }

    #[inline(always)]
    pub(super) fn object(&mut self, memory: &mut Memory, known: &Known<'_>, at: Cursor) -> Done {
        let mut walk =
            Walk { next: self.document.first(at), number: 0, missing: known.members.len() };
        if !self.document.has_escapes {
            self.on_track(memory.track(), &mut walk)?;
        }
        if walk.missing == 0 { Ok(()) } else { self.off_track(memory, known, walk) }
    }

    /// Reads members as long as their keys are those of the track.
    #[inline(always)]
    fn on_track(&mut self, track: &[Remembered], walk: &mut Walk) -> Done {
        let document = self.document;
        let Some(mut at) = walk.next else { return Ok(()) };
        while let Some(known) = track.get(walk.number) {
            let member = document.whole_member(at);
            if !known.is_at(document.bytes, member.key()) {
                break;
            }
            if let Some(part) = known.part() {
                let value = document.member(at);
                match part {
                    Short::Scalar(column) => {
                        self.common_scalar(column as ColumnId, value, member.value())?;
                    }
                    part => self.other_part(part, value)?,
                }
                walk.missing -= 1;
                if walk.missing == 0 {
                    return Ok(());
                }
            } else {
                let count = unwanted(&track[walk.number..], &document, at);
                if count > 0 {
                    walk.number += count;
                    at = document.after_plain_members(at, count);
                    continue;
                }
            }
            walk.number += 1;
            let Some(next) = document.after(at, &member) else {
                walk.next = None;
                return Ok(());
            };
            at = next;
        }
        walk.next = Some(at);
        Ok(())
    }

    /// Reads the members of an object that is not, or no longer, like the last.
    #[inline(never)]
    fn off_track(&mut self, memory: &mut Memory, known: &Known<'_>, walk: Walk) -> Done {
        let document = self.document;
        self.state.objects += 1;
        let object = self.state.objects;
        let Walk { mut next, mut number, mut missing } = walk;
        let mut guess = memory.leave_track(number, object);
        let mut is_remembered = true;
        while let Some(mut at) = next {
            if missing == 0 {
                break;
            }
            if !document.has_escapes {
                let unwanted = memory.unwanted(number, &document, at);
                at = document.after_plain_members(at, unwanted);
                if is_remembered {
                    memory.lengthen_track(number, number + unwanted);
                }
                number += unwanted;
            }
            let value = document.member(at);
            let found = if document.has_escapes {
                is_remembered = false;
                known.members.find(Key::new(&text(&document, document.text(at))?), guess)
            } else {
                match memory.recall(number, document.bytes, document.place(at) + 1) {
                    Some(found) => found,
                    None => {
                        let range = document.text_range(at);
                        let (found, learnt) =
                            memory.learn(number, document.bytes, range, known, guess);
                        is_remembered &= learnt;
                        found
                    }
                }
            };
            let is_new = found.is_none_or(|found| memory.seen[found] != object);
            if is_remembered && is_new {
                memory.lengthen_track(number, number + 1);
            }
            if let Some(found) = found
                && is_new
            {
                memory.seen[found] = object;
                missing -= 1;
                guess = found + 1;
                self.part(known.parts[found], value)?;
            }
            number += 1;
            next = document.next(value);
        }
        if missing > 0 {
            for (part, seen) in known.parts.iter().zip(&memory.seen) {
                if *seen != object {
                    self.absent_part(*part);
                }
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn other_part(&mut self, part: Short, at: Cursor) -> Done {
        self.part(part, at)
    }

    fn absent_part(&mut self, part: Short) {
        match part {
            Short::Scalar(column) => self.state.columns.push_null(column as ColumnId),
            Short::String(text) => self.state.pieces.of_texts[text as TextId] = Piece::Null,
            Short::Place(id) => self.absent_value(id as PlaceId),
            Short::Read(id) => {
                self.state.columns.push_null(self.program.reads[id as ReadId].column());
            }
        }
    }
}
