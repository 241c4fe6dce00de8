//! The kernel alone, on one thread, beside plain scans with SIMD JSON libraries.
//!
//!     cargo run --release
//!
//! Documents are those of `bench/wide_data.py`: 1.6 kB, 42 scalar columns and a struct with a list
//! of 20. Three leaves are wanted, the last of which stands at the end of the document, so that
//! nobody can stop early. Each side gets the same lines; figures are of the best of some rounds.

use std::hint::black_box;
use std::time::{Duration, Instant};

use narrows_kernel::decode::Decoder;
use narrows_kernel::decode::columns::Kind;
use narrows_kernel::decode::members::Members;
use narrows_kernel::decode::program::{Place, Program, Read, Shape};
use narrows_kernel::json::scan::Scan;
use narrows_kernel::lines::Lines;
use narrows_kernel::transcode::program::Transcoding;
use sonic_rs::{JsonValueTrait, PointerTree, pointer};

const DOCUMENTS: usize = 320; // half a megabyte: a block, which stays in the cache
const SECONDS: f64 = 1.5;

fn main() {
    let text = documents();
    let size = text.len() as f64;
    println!("{} documents, {} bytes each", DOCUMENTS, text.len() / DOCUMENTS);
    let measure = |name: &str, run: &mut dyn FnMut() -> i64| {
        let answer = run();
        let mut best = Duration::MAX;
        let until = Instant::now() + Duration::from_secs_f64(SECONDS);
        while Instant::now() < until {
            let started = Instant::now();
            black_box(run());
            best = best.min(started.elapsed());
        }
        println!("{name:58}{:8.0} MB/s   ({answer})", size / 1e6 / best.as_secs_f64());
    };

    let mut decoder = Decoder::new(three_leaves()).unwrap();
    measure("narrows: three leaves to Arrow, all validated", &mut || {
        let decoded = decoder.decode(Lines::new(&text).map(|(_, line)| line)).unwrap();
        decoded.rows as i64
    });
    let mut decoder = Decoder::new(nothing()).unwrap();
    measure("narrows: rows counted, all validated", &mut || {
        decoder.decode(Lines::new(&text).map(|(_, line)| line)).unwrap().rows as i64
    });
    let mut scan = Scan::default();
    measure("narrows: tokens found, all validated", &mut || {
        let mut tokens = 0;
        for (_, line) in Lines::new(&text) {
            scan.run(line).unwrap();
            tokens += scan.tokens().len() as i64;
        }
        tokens
    });
    measure("lines found", &mut || Lines::new(&text).count() as i64);

    let mut tree = PointerTree::new();
    tree.add_path(["c0"].iter());
    tree.add_path(["c4"].iter());
    tree.add_path(&pointer!["b", "items", 0, "x"]);
    measure("sonic-rs: get_many, three leaves, not all validated", &mut || {
        let mut sum = 0;
        for (_, line) in Lines::new(&text) {
            let found = sonic_rs::get_many(line, &tree).unwrap();
            sum += found[0].as_ref().unwrap().as_i64().unwrap();
            black_box(found[1].as_ref().unwrap().as_str());
            sum += found[2].as_ref().unwrap().as_i64().unwrap();
        }
        sum
    });
    measure("sonic-rs: get_many_unchecked, nothing validated", &mut || {
        let mut sum = 0;
        for (_, line) in Lines::new(&text) {
            // SAFETY: the lines are valid JSON, we made them.
            let found = unsafe { sonic_rs::get_many_unchecked(line, &tree) }.unwrap();
            sum += found[0].as_ref().unwrap().as_i64().unwrap();
            black_box(found[1].as_ref().unwrap().as_str());
            sum += found[2].as_ref().unwrap().as_i64().unwrap();
        }
        sum
    });
    measure("sonic-rs: members of each object stepped over, validated", &mut || {
        let mut members = 0;
        for (_, line) in Lines::new(&text) {
            members +=
                sonic_rs::to_object_iter(line).map(|member| i64::from(member.is_ok())).sum::<i64>();
        }
        members
    });
    let mut copy = Vec::new();
    let mut buffers = simd_json::Buffers::new(4096);
    measure("simd-json: to_tape_with_buffers, of a copy", &mut || {
        let mut nodes = 0;
        for (_, line) in Lines::new(&text) {
            copy.clear();
            copy.extend_from_slice(line);
            let tape = simd_json::to_tape_with_buffers(&mut copy, &mut buffers).unwrap();
            nodes += tape.0.len() as i64;
        }
        nodes
    });
}

fn three_leaves() -> Program {
    let object = |names: &[&str], parts: Vec<usize>| Place {
        shape: Shape::Object(members(names)),
        parts,
        ..leaf(None)
    };
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

fn nothing() -> Program {
    let row = Place { shape: Shape::Object(members(&[])), ..leaf(None) };
    Program {
        kinds: vec![],
        reads: vec![],
        places: vec![row],
        row: 0,
        outputs: vec![],
        zone: None,
        transcoding: Transcoding::default(),
    }
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

fn documents() -> Vec<u8> {
    let mut state = 11u64;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % limit
    };
    let mut text = String::new();
    for number in 0..DOCUMENTS {
        text += &format!("{{\"c0\":{number}");
        for column in 1..42 {
            text += &match column % 3 {
                0 => format!(",\"c{column}\":{}", below(1_000_000_000)),
                1 => format!(",\"c{column}\":\"value-{:06}-of-some-length\"", below(1_000_000)),
                _ => format!(",\"c{column}\":{}.{:03}", below(1000), below(1000)),
            };
        }
        text += &format!(",\"b\":{{\"c\":{},\"items\":[", below(1000));
        for item in 0..20 {
            let comma = if item == 0 { "" } else { "," };
            text += &format!(
                "{comma}{{\"x\":{},\"y\":\"text-{:04}\"}}",
                below(1_000_000),
                below(10_000)
            );
        }
        text += "]}}\n";
    }
    text.into_bytes()
}
