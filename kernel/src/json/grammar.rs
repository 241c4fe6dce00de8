//! Does a document's sequence of tokens make sense? And where does each bracket end?
//!
//! Of tokens next to each other many pairs are judged at once, by bits. What bits cannot tell is in
//! which brackets a token stands; but between two brackets that is the same for all tokens. So
//! there is a step for each bracket, and none for keys, values, commas and colons. Brackets that
//! have no others in them take half a step.

use super::scan::Refused;
use super::simd::{BLOCK, Kinds};

/// As deep as a document may be nested, here and in the portable kernel.
pub const MAX_DEPTH: usize = 1024;

/// Tokens before those that are judged, which must be known to judge them.
pub const CONTEXT: usize = 2;

/// Tokens that are judged at once.
pub const STEP: usize = BLOCK - CONTEXT;

/// What is judged as if it stood before the first token: any value may follow.
pub const NOTHING_BEFORE: [u8; CONTEXT] = [b','; CONTEXT];

/// The tokens that opened what is open: twice their number, plus one for objects.
pub struct Open([u32; MOST]);

/// Brackets that have no others in them need not be kept, and what is deepest has none.
const MOST: usize = MAX_DEPTH - 1;

impl Default for Open {
    fn default() -> Self {
        Open([0; MOST])
    }
}

/// What is kept from step to step.
pub struct Grammar<'a> {
    open: &'a mut [u32; MOST],
    depth: usize,
    /// For each token that opens something, which one closes it.
    ends: &'a mut [u32],
}

/// What stands where it must not.
struct Wrong {
    in_object: u64,
    in_array: u64,
    outside: u64,
}

impl<'a> Grammar<'a> {
    pub fn new(open: &'a mut Open, ends: &'a mut [u32]) -> Self {
        Grammar { open: &mut open.0, depth: 0, ends }
    }

    pub fn is_closed(&self) -> bool {
        self.depth == 0
    }

    /// Judges the tokens from number `start` on, as many as are `there`: of the kinds, the first two
    /// are of the tokens before them.
    #[inline(always)]
    pub fn step(&mut self, kinds: &Kinds, there: u64, start: usize) -> Result<(), Refused> {
        let wrong = neighbours(kinds, there, start == 0)?;
        let opening = (kinds.open_objects | kinds.open_arrays) & there;
        let closing = (kinds.close_objects | kinds.close_arrays) & there;
        let mut brackets = opening | closing;

        // A bit that is added behind each opening bracket is carried to the next bracket.
        let next = (!brackets).wrapping_add(opening << 1);
        let inner_closing = next & closing;
        let mut inner_opening = 0;
        let mut left = inner_closing;
        while left != 0 {
            let close = left.trailing_zeros();
            left &= left - 1;
            let open = (opening & ((1 << close) - 1)).ilog2();
            inner_opening |= 1 << open;
            self.ends[start + open as usize - CONTEXT] = (start + close as usize - CONTEXT) as u32;
        }
        // From behind each opening bracket up to and with the closing one.
        let within = |open: u64, close: u64| (close << 1).wrapping_sub(open << 1);
        let objects = (inner_opening & kinds.open_objects, inner_closing & kinds.close_objects);
        let arrays = (inner_opening & kinds.open_arrays, inner_closing & kinds.close_arrays);
        let in_objects = within(objects.0, objects.1);
        let in_arrays = within(arrays.0, arrays.1);
        // Where a bracket is closed by one of the other sort, the two overlap, or have gaps.
        let in_any = within(inner_opening, inner_closing);
        let mut bad = (in_objects & in_arrays)
            | ((in_objects | in_arrays) ^ in_any)
            | (in_objects & wrong.in_object)
            | (in_arrays & wrong.in_array);

        brackets &= !(inner_opening | inner_closing);
        let mut left = there & !in_any;
        let objects = kinds.open_objects | kinds.close_objects;
        while brackets != 0 {
            // What stands before the bracket, and itself, stands in what is open by now.
            let up_to_here = brackets ^ (brackets - 1);
            bad |= self.wrong_here(&wrong) & left & up_to_here;
            left &= !up_to_here;
            let bit = brackets.trailing_zeros();
            brackets &= brackets - 1;
            let token = start + bit as usize - CONTEXT;
            let is_object = (objects >> bit) as u32 & 1;
            if opening >> bit & 1 == 1 {
                *self.open.get_mut(self.depth).ok_or(Refused)? = (token as u32) << 1 | is_object;
                self.depth += 1;
            } else {
                self.depth = self.depth.checked_sub(1).ok_or(Refused)?;
                let opened = self.open[self.depth];
                self.ends[(opened >> 1) as usize] = token as u32;
                bad |= u64::from((opened ^ is_object) & 1);
            }
        }
        bad |= self.wrong_here(&wrong) & left;
        if bad == 0 { Ok(()) } else { Err(Refused) }
    }

    #[inline(always)]
    fn wrong_here(&self, wrong: &Wrong) -> u64 {
        match self.depth.checked_sub(1) {
            None => wrong.outside,
            Some(last) if self.open[last] & 1 == 1 => wrong.in_object,
            Some(_) => wrong.in_array,
        }
    }
}

/// Refuses what must not stand beside or near each other, wherever it is; what depends on the
/// brackets around it is the result.
#[inline(always)]
fn neighbours(kinds: &Kinds, there: u64, is_first: bool) -> Result<Wrong, Refused> {
    let Kinds { open_objects, open_arrays, close_objects, close_arrays, .. } = *kinds;
    let Kinds { colons, commas, strings, .. } = *kinds;
    let closing = close_objects | close_arrays;
    let value_starts = !(closing | colons | commas);
    let value_ends = !(open_objects | open_arrays | colons | commas);
    // A key stands behind `{` or a comma, and before a colon.
    let behind_open_object = open_objects << 2 & strings << 1;
    let behind_comma = commas << 2 & strings << 1;
    let wrong = (open_objects << 1 & !(strings | close_objects))
        | (behind_open_object & !colons)
        | (colons & !(behind_open_object | behind_comma))
        | ((colons | commas) << 1 & !value_starts)
        | (open_arrays << 1 & !(value_starts | close_arrays))
        | (value_ends << 1 & value_starts);
    if wrong & there != 0 {
        return Err(Refused);
    }
    // An object's comma is followed by a key and a colon; an array has no colons; outside of both
    // there is nothing but the first token.
    Ok(Wrong {
        in_object: (commas << 1 & !strings) | (behind_comma & !colons),
        in_array: colons,
        outside: if is_first { !(1 << CONTEXT) } else { u64::MAX },
    })
}
