//! What is wanted of the documents.

use narrows_kernel::decode::columns::Kind;
use narrows_kernel::decode::members::Members;
use narrows_kernel::decode::program::{Place, Program, Read, Shape};
use narrows_kernel::transcode::program::Transcoding;

pub fn three_leaves() -> Program {
    Program {
        kinds: vec![Kind::Int64, Kind::Text, Kind::Int64],
        reads: (0..3).map(|column| Read::Scalar { column }).collect(),
        places: vec![
            object(&["c0", "c4", "b"], vec![1, 2, 3]),
            leaf(Some(0)),
            leaf(Some(1)),
            object(&["items"], vec![4]),
            Place { shape: Shape::Array(vec![0]), parts: vec![5], ..leaf(None) },
            object(&["x"], vec![6]),
            leaf(Some(2)),
        ],
        row: 0,
        outputs: vec![0, 1, 2],
        zone: Some(0),
        transcoding: Transcoding::default(),
    }
}

pub fn nothing() -> Program {
    flat(&[])
}

/// All 42 scalars, and the struct with its list.
pub fn everything() -> Program {
    let names: Vec<String> = (0..42).map(|column| format!("c{column}")).collect();
    let of = |column: usize| [Kind::Int64, Kind::Text, Kind::Float64][column % 3].clone();
    let named: Vec<_> = names.iter().enumerate().map(|(at, name)| (&**name, of(at))).collect();
    let mut program = flat(&named);
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    program.kinds.extend([
        Kind::Struct { names: names(&["c", "items"]), parts: vec![43, 44] },
        Kind::Int64,
        Kind::List { part: 45 },
        Kind::Struct { names: names(&["x", "y"]), parts: vec![46, 47] },
        Kind::Int64,
        Kind::Text,
    ]);
    let structs = |column, names: &[&str], reads| Read::Struct {
        column,
        members: members(names),
        reads,
        nulls: vec![],
    };
    program.reads.extend([
        structs(42, &["c", "items"], vec![43, 44]),
        Read::Scalar { column: 43 },
        Read::List { column: 44, part: 45, special: vec![], rest: 45 },
        structs(45, &["x", "y"], vec![46, 47]),
        Read::Scalar { column: 46 },
        Read::Scalar { column: 47 },
    ]);
    let mut keys: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
    keys.push("b");
    program.places[0].shape = Shape::Object(members(&keys));
    program.places[0].parts.push(43);
    program.places.push(leaf(Some(42)));
    program.outputs.push(42);
    program
}

/// Fields of TPC-H's `lineitem`.
pub fn lineitem(wanted: &[&str]) -> Program {
    let decimal = || Kind::Decimal { precision: 12, scale: 2 };
    let of = |name: &str| match name {
        "l_orderkey" | "l_partkey" | "l_suppkey" => Kind::Int64,
        "l_linenumber" => Kind::Int32,
        "l_quantity" | "l_extendedprice" | "l_discount" | "l_tax" => decimal(),
        "l_shipdate" | "l_commitdate" | "l_receiptdate" => Kind::Date,
        _ => Kind::Text,
    };
    flat(&wanted.iter().map(|name| (*name, of(name))).collect::<Vec<_>>())
}

/// Scalars of the row itself.
fn flat(fields: &[(&str, Kind)]) -> Program {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let mut places = vec![object(&names, (1..=fields.len()).collect())];
    places.extend((0..fields.len()).map(|read| leaf(Some(read))));
    Program {
        kinds: fields.iter().map(|(_, kind)| kind.clone()).collect(),
        reads: (0..fields.len()).map(|column| Read::Scalar { column }).collect(),
        places,
        row: 0,
        outputs: (0..fields.len()).collect(),
        zone: Some(0),
        transcoding: Transcoding::default(),
    }
}

fn object(names: &[&str], parts: Vec<usize>) -> Place {
    Place { shape: Shape::Object(members(names)), parts, ..leaf(None) }
}

fn leaf(read: Option<usize>) -> Place {
    Place {
        shape: Shape::Scalar,
        reads: read.into_iter().collect(),
        texts: vec![],
        presence: None,
        length: None,
        parts: vec![],
    }
}

fn members(names: &[&str]) -> Members {
    Members::new(names.iter().map(|name| name.as_bytes().into()).collect())
}
