//! What is written of a row, and how.

use crate::decode::columns::{ColumnId, Kind};
use crate::decode::members::Members;

pub type FormId = usize;
pub type TextId = usize;

/// How values of a type are written. Parts come before what they are part of.
pub enum Form {
    Scalar(Kind),
    Struct {
        members: Members,
        /// What stands before each member: `{"a":`, `,"b":`.
        starts: Vec<Box<[u8]>>,
        parts: Vec<FormId>,
    },
    List {
        part: FormId,
    },
    Map {
        values: FormId,
    },
}

/// A value that is written.
pub struct Text {
    pub form: FormId,
    /// Are values of the wrong type counted? Not if a column of the same value does that.
    pub counts: bool,
}

/// A column of texts: fields that stand next to each other in the output.
pub struct Fragment {
    pub column: ColumnId,
    pub omits_nulls: bool,
    /// What stands before the fields, `,"a":`, one after the other: there may be thousands.
    starts: Vec<u8>,
    /// Where in that the start of each field ends, and its value.
    fields: Vec<(usize, TextId)>,
}

impl Fragment {
    /// `fields` are what stands before each, `,"a":`, and its value.
    pub fn new(column: ColumnId, omits_nulls: bool, fields: Vec<(String, TextId)>) -> Self {
        let mut starts = Vec::new();
        let fields = fields
            .into_iter()
            .map(|(start, text)| {
                starts.extend_from_slice(start.as_bytes());
                (starts.len(), text)
            })
            .collect();
        Fragment { column, omits_nulls, starts, fields }
    }

    /// What stands before each field, and its value.
    #[inline]
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], TextId)> {
        let mut begin = 0;
        self.fields.iter().map(move |(end, text)| {
            let start = &self.starts[begin..*end];
            begin = *end;
            (start, *text)
        })
    }
}

#[derive(Default)]
pub struct Transcoding {
    pub forms: Vec<Form>,
    pub texts: Vec<Text>,
    pub fragments: Vec<Fragment>,
}

impl Transcoding {
    /// Is a text that of a string column?
    pub fn is_string(&self, id: TextId) -> bool {
        matches!(self.forms[self.texts[id].form], Form::Scalar(Kind::Text))
    }

    /// Checks that all numbers refer to something, as `Program::check` does.
    pub fn check(&self, kinds: &[Kind]) -> Result<(), &'static str> {
        for (id, form) in self.forms.iter().enumerate() {
            let parts = match form {
                Form::Scalar(Kind::Struct { .. } | Kind::List { .. } | Kind::Map { .. }) => {
                    return Err("a scalar is none");
                }
                Form::Scalar(_) => &[][..],
                Form::Struct { members, starts, parts } => {
                    if members.len() != parts.len() || starts.len() != parts.len() {
                        return Err("a struct has other members");
                    }
                    parts
                }
                Form::List { part: inner } | Form::Map { values: inner } => {
                    std::slice::from_ref(inner)
                }
            };
            if parts.iter().any(|part| *part >= id) {
                return Err("a part does not come before its whole");
            }
        }
        if self.texts.iter().any(|text| text.form >= self.forms.len()) {
            return Err("there is no such form");
        }
        for fragment in &self.fragments {
            if kinds.get(fragment.column) != Some(&Kind::Binary) {
                return Err("a fragment is a column of bytes");
            }
            if fragment.fields().any(|(_, text)| text >= self.texts.len()) {
                return Err("there is no such text");
            }
        }
        Ok(())
    }
}
