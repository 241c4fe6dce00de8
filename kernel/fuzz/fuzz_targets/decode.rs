//! Whatever the bytes are: no panic, no hang, as many values in each column as there are rows, and
//! fragments that make valid JSON.
//!
//! The program has a column of every kind, lists with special elements, maps, lengths, presences,
//! and writes all that into a fragment, too; the names in it are short, so that the fuzzer finds
//! them.

#![no_main]

use arrow_array::Array;
use arrow_array::cast::AsArray;
use libfuzzer_sys::fuzz_target;
use narrows_kernel::decode::Decoder;
use narrows_kernel::decode::columns::Kind;
use narrows_kernel::decode::members::Members;
use narrows_kernel::decode::program::{Place, Program, Read, Shape};
use narrows_kernel::lines::Lines;
use narrows_kernel::transcode::program::{Form, Fragment, Text, Transcoding};

fuzz_target!(|data: &[u8]| {
    let mut decoder = Decoder::new(program()).expect("the program is right");
    for _ in 0..2 {
        // The second time with what the first has left behind in the decoder.
        let decoded =
            decoder.decode(Lines::new(data).map(|(_, line)| line)).expect("a small batch");
        assert_eq!(decoded.columns.len(), decoded.rows);
        assert!(decoded.left.len() <= decoded.payloads);
        let unusual: usize = decoded.unusual.iter().map(|(_, rows)| rows).sum();
        let plain = decoded.payloads - decoded.left.len() - decoded.unusual.len();
        assert_eq!(decoded.rows, plain + unusual);
        let fragments = decoded.columns.columns().last().expect("the fragment").as_binary::<i32>();
        let objects: Vec<Vec<u8>> = fragments
            .iter()
            .map(|text| [b"{", &text.expect("never NULL")[1..], b"}"].concat())
            .collect();
        let mut checker = Decoder::new(nothing()).expect("the program is right");
        let checked = checker.decode(objects.iter().map(Vec::as_slice)).expect("a small batch");
        assert_eq!(checked.left, Vec::<usize>::new());
    }
});

/// Counts rows, and checks that they are JSON.
fn nothing() -> Program {
    Program {
        kinds: vec![],
        reads: vec![],
        places: vec![Place { shape: Shape::Object(members(&[])), ..leaf(vec![]) }],
        row: 0,
        outputs: vec![],
        zone: None,
        transcoding: Transcoding::default(),
    }
}

fn members(names: &[&str]) -> Members {
    Members::new(names.iter().map(|name| name.as_bytes().into()).collect())
}

fn leaf(reads: Vec<usize>) -> Place {
    Place {
        shape: Shape::Scalar,
        reads,
        texts: vec![],
        presence: None,
        length: None,
        parts: vec![],
    }
}

fn program() -> Program {
    let scalars = [
        Kind::Bool,
        Kind::Int8,
        Kind::Int16,
        Kind::Int32,
        Kind::Int64,
        Kind::Float32,
        Kind::Float64,
        Kind::Date,
        Kind::Timestamp,
        Kind::Decimal { precision: 10, scale: 2 },
        Kind::Text,
        Kind::Binary,
    ];
    let count = scalars.len();
    let mut kinds = scalars.to_vec();
    let mut reads: Vec<Read> = (0..count).map(|column| Read::Scalar { column }).collect();
    let mut names: Vec<String> = ('a'..).take(count).map(String::from).collect();
    let mut places = vec![leaf(vec![])];
    places.extend((0..count).map(|read| leaf(vec![read])));
    let mut parts: Vec<usize> = (1..=count).collect();

    // l: a list of structs {x, y}, of which the element 1 is looked at for x only; and its length
    // and the x of its element 0 as columns of their own.
    let list = kinds.len();
    kinds.extend([
        Kind::List { part: list + 1 },
        Kind::Struct { names: vec!["x".into(), "y".into()], parts: vec![list + 2, list + 3] },
        Kind::Int64,
        Kind::Text,
        Kind::Int32,
        Kind::Int64,
    ]);
    let read = reads.len();
    let pair = |at: usize, names: &[&str], nulls: Vec<usize>| Read::Struct {
        column: list + 1,
        members: members(names),
        reads: (at..at + names.len()).collect(),
        nulls,
    };
    reads.extend([
        Read::List { column: list, part: list + 1, special: vec![(1, read + 1)], rest: read + 3 },
        pair(read + 2, &["x"], vec![list + 3]),
        Read::Scalar { column: list + 2 },
        pair(read + 4, &["x", "y"], vec![]),
        Read::Scalar { column: list + 2 },
        Read::Scalar { column: list + 3 },
        Read::Scalar { column: list + 5 },
    ]);
    let place = places.len();
    names.push("l".into());
    parts.push(place);
    places.push(Place {
        shape: Shape::Array(vec![0]),
        length: Some(list + 4),
        parts: vec![place + 1],
        ..leaf(vec![read])
    });
    places.push(Place {
        shape: Shape::Object(members(&["x"])),
        parts: vec![place + 2],
        ..leaf(vec![])
    });
    places.push(leaf(vec![read + 6]));

    // m: a map of texts, nobody looks at its key `k`; whether it is there, and how long it is.
    let map = kinds.len();
    kinds.extend([
        Kind::Map { keys: map + 1, values: map + 2 },
        Kind::Text,
        Kind::Text,
        Kind::Bool,
        Kind::Int32,
    ]);
    let read = reads.len();
    reads.extend([
        Read::Map {
            column: map,
            keys: map + 1,
            values: map + 2,
            special: members(&["k"]),
            special_reads: vec![read + 1],
            rest: read + 2,
        },
        Read::Nothing { column: map + 2 },
        Read::Scalar { column: map + 2 },
    ]);
    names.push("m".into());
    parts.push(places.len());
    places.push(Place {
        shape: Shape::Object(members(&[])),
        presence: Some(map + 3),
        length: Some(map + 4),
        ..leaf(vec![read])
    });

    let names: Vec<&str> = names.iter().map(String::as_str).collect();

    // All of them as text: scalars, then l, then m.
    let mut forms: Vec<Form> = scalars.iter().cloned().map(Form::Scalar).collect();
    forms.extend([
        Form::Struct {
            members: members(&["x", "y"]),
            starts: vec![b"{\"x\":"[..].into(), b",\"y\":"[..].into()],
            parts: vec![4, 10],
        },
        Form::List { part: count },
        Form::Map { values: 10 },
    ]);
    let texts = (0..count).chain([count + 1, count + 2]).map(|form| Text { form, counts: true });
    for (text, part) in parts.iter().enumerate() {
        places[*part].texts.push(text);
    }
    let starts = names.iter().map(|name| format!(",\"{name}\":"));
    let column = kinds.len();
    kinds.push(Kind::Binary);
    let transcoding = Transcoding {
        forms,
        texts: texts.collect(),
        fragments: vec![Fragment::new(column, false, starts.zip(0..).collect())],
    };

    places[0] = Place { shape: Shape::Object(members(&names)), parts, ..leaf(vec![]) };
    let mut outputs: Vec<usize> = (0..count).collect();
    outputs.extend([list, list + 4, list + 5, map, map + 3, map + 4, column]);
    Program { kinds, reads, places, row: 0, outputs, zone: Some(0), transcoding }
}
