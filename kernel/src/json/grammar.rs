//! Does a document's sequence of tokens make sense? And where does each bracket end?
//!
//! Of tokens next to each other 64 pairs are judged at once, by bits. What bits cannot tell is in
//! which brackets a token stands; but between two brackets that is the same for all tokens. So
//! there is one step for each bracket, and none for keys, values, commas and colons.

use super::scan::Refused;
use super::simd::Kinds;

/// As deep as a document may be nested, here and in the portable kernel.
pub const MAX_DEPTH: usize = 1024;

/// The tokens that opened what is open: twice their number, plus one for objects.
pub struct Brackets([u32; MAX_DEPTH]);

impl Default for Brackets {
    fn default() -> Self {
        Brackets([0; MAX_DEPTH])
    }
}

/// What is kept from block to block.
pub struct Grammar<'a> {
    open: &'a mut [u32; MAX_DEPTH],
    depth: usize,
    before: Before,
}

/// What the block before ended with: its highest bits.
#[derive(Default)]
struct Before {
    open_objects: u64,
    open_arrays: u64,
    colons: u64,
    commas: u64,
    strings: u64,
    value_ends: u64,
}

impl<'a> Grammar<'a> {
    pub fn new(brackets: &'a mut Brackets) -> Self {
        Grammar { open: &mut brackets.0, depth: 0, before: Before::default() }
    }

    /// Looks at up to 64 of `count` tokens: those whose bit is set in `there`, the first of which is
    /// number `start`. Sets, for each token that opens something, which one closes it.
    #[inline(always)]
    pub fn step(
        &mut self,
        kinds: &Kinds,
        there: u64,
        start: usize,
        count: usize,
        ends: &mut [u32],
    ) -> Result<(), Refused> {
        let open_objects = kinds.open_objects & there;
        let open_arrays = kinds.open_arrays & there;
        let closing = (kinds.close_objects | kinds.close_arrays) & there;
        let opening = open_objects | open_arrays;
        let Kinds { colons, commas, strings, .. } = *kinds;
        let values = !(closing | colons | commas); // where some begin
        let value_ends = !(opening | colons | commas); // where some end

        let before = &self.before;
        let after = |bits: u64, before: u64| bits << 1 | before >> 63;
        let second_after = |bits: u64, before: u64| bits << 2 | before >> 62;
        let after_open_object = after(open_objects, before.open_objects);
        let after_comma = after(commas, before.commas);
        let after_string = after(strings, before.strings);
        let second_after_open_object = second_after(open_objects, before.open_objects);
        let second_after_comma = second_after(commas, before.commas);
        let may_be_colon = after_string & (second_after_open_object | second_after_comma);

        let wrong = (after_open_object & !(strings | kinds.close_objects))
            | (after_string & second_after_open_object & !colons)
            | (colons & !may_be_colon)
            | ((after(colons, before.colons) | after_comma) & !values)
            | (after(open_arrays, before.open_arrays) & !(values | kinds.close_arrays))
            | (after(value_ends, before.value_ends) & values);
        // An object's comma is followed by a key and a colon; an array has no colons.
        let wrong_in_object =
            (after_comma & !strings) | (after_string & second_after_comma & !colons);
        let wrong_in_array = colons;
        if wrong & there != 0 {
            return Err(Refused);
        }
        self.before = Before { open_objects, open_arrays, colons, commas, strings, value_ends };

        let objects = open_objects | kinds.close_objects;
        let mut brackets = opening | closing;
        let mut left = there;
        let mut wrong_here = if self.is_in_object() { wrong_in_object } else { wrong_in_array };
        while brackets != 0 {
            // What stands before the bracket, and itself, stands in what is open by now.
            let up_to_here = brackets ^ (brackets - 1);
            if wrong_here & left & up_to_here != 0 {
                return Err(Refused);
            }
            left &= !up_to_here;
            let bit = brackets.trailing_zeros();
            brackets &= brackets - 1;
            let token = start + bit as usize;
            let is_object = (objects >> bit) as u32 & 1;
            if opening >> bit & 1 == 1 {
                *self.open.get_mut(self.depth).ok_or(Refused)? = (token as u32) << 1 | is_object;
                self.depth += 1;
                wrong_here = if is_object == 1 { wrong_in_object } else { wrong_in_array };
            } else {
                self.depth = self.depth.checked_sub(1).ok_or(Refused)?;
                let opened = self.open[self.depth];
                ends[(opened >> 1) as usize] = token as u32;
                if opened & 1 != is_object || (self.depth == 0 && token + 1 != count) {
                    return Err(Refused);
                }
                wrong_here = if self.is_in_object() { wrong_in_object } else { wrong_in_array };
            }
        }
        if wrong_here & left == 0 { Ok(()) } else { Err(Refused) }
    }

    #[inline(always)]
    fn is_in_object(&self) -> bool {
        self.depth > 0 && self.open[self.depth - 1] & 1 == 1
    }

    pub fn is_closed(&self) -> bool {
        self.depth == 0
    }
}
