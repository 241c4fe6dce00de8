//! The kernel alone, on one thread, beside plain scans with SIMD JSON libraries.
//!
//!     cargo run --release [part of a name]
//!
//! Documents are those of `bench/wide_data.py` and of TPC-H's `lineitem`. Of the *three leaves* the
//! last stands at the end of the document, so that nobody can stop early. Each side gets the same
//! lines; figures are of the best of some rounds.

mod documents;
mod programs;

use std::hint::black_box;
use std::time::{Duration, Instant};

use narrows_kernel::decode::Decoder;
use narrows_kernel::decode::program::Program;
use narrows_kernel::json::scan::Scan;
use narrows_kernel::lines::Lines;
use sonic_rs::{JsonValueTrait, PointerTree, pointer};

const SECONDS: f64 = 1.5;

/// The wanted fields of TPC-H's first and third query.
const Q1: [&str; 7] = [
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
    "l_returnflag",
    "l_linestatus",
    "l_shipdate",
];
const Q3: [&str; 4] = ["l_orderkey", "l_extendedprice", "l_discount", "l_shipdate"];

fn main() {
    let part = std::env::args().nth(1).unwrap_or_default();
    let (wide, lineitem) = (documents::wide(), documents::lineitem());
    let unlike = documents::unlike();
    let measure = |name: &str, text: &[u8], run: &mut dyn FnMut() -> i64| {
        if !name.contains(&part) {
            return;
        }
        let answer = run();
        let mut best = Duration::MAX;
        let until = Instant::now() + Duration::from_secs_f64(SECONDS);
        while Instant::now() < until {
            let started = Instant::now();
            black_box(run());
            best = best.min(started.elapsed());
        }
        let rate = text.len() as f64 / 1e6 / best.as_secs_f64();
        println!("{name:58}{rate:8.0} MB/s   ({answer})");
    };
    let decoded = |name: &str, text: &[u8], program: Program| {
        let mut decoder = Decoder::new(program).unwrap();
        measure(name, text, &mut || {
            decoder.decode(Lines::new(text).map(|(_, line)| line)).unwrap().rows as i64
        });
    };

    decoded("narrows: three leaves to Arrow, all validated", &wide, programs::three_leaves());
    decoded("narrows: three leaves, lists differ", &unlike, programs::three_leaves());
    decoded("narrows: everything to Arrow", &wide, programs::everything());
    decoded("narrows: everything, lists differ", &unlike, programs::everything());
    decoded("narrows: rows counted, all validated", &wide, programs::nothing());
    decoded("narrows: lineitem, 7 of 16 fields to Arrow", &lineitem, programs::lineitem(&Q1));
    decoded("narrows: lineitem, 4 of 16 fields to Arrow", &lineitem, programs::lineitem(&Q3));
    decoded("narrows: lineitem, rows counted", &lineitem, programs::nothing());
    let mut scan = Scan::default();
    for (name, text) in
        [("narrows: tokens found, all validated", &wide), ("narrows: lineitem, tokens", &lineitem)]
    {
        measure(name, text, &mut || {
            let mut tokens = 0;
            for (_, line) in Lines::new(text) {
                scan.run(line).unwrap();
                tokens += scan.tokens().len() as i64;
            }
            tokens
        });
    }
    measure("narrows: lines found", &wide, &mut || Lines::new(&wide).count() as i64);
    measure("narrows: lineitem, lines", &lineitem, &mut || Lines::new(&lineitem).count() as i64);

    let mut tree = PointerTree::new();
    tree.add_path(["c0"].iter());
    tree.add_path(["c4"].iter());
    tree.add_path(&pointer!["b", "items", 0, "x"]);
    measure("sonic-rs: get_many, three leaves, not all validated", &wide, &mut || {
        let mut sum = 0;
        for (_, line) in Lines::new(&wide) {
            let found = sonic_rs::get_many(line, &tree).unwrap();
            sum += found[0].as_ref().unwrap().as_i64().unwrap();
            black_box(found[1].as_ref().unwrap().as_str());
            sum += found[2].as_ref().unwrap().as_i64().unwrap();
        }
        sum
    });
    measure("sonic-rs: get_many_unchecked, nothing validated", &wide, &mut || {
        let mut sum = 0;
        for (_, line) in Lines::new(&wide) {
            // SAFETY: the lines are valid JSON, we made them.
            let found = unsafe { sonic_rs::get_many_unchecked(line, &tree) }.unwrap();
            sum += found[0].as_ref().unwrap().as_i64().unwrap();
            black_box(found[1].as_ref().unwrap().as_str());
            sum += found[2].as_ref().unwrap().as_i64().unwrap();
        }
        sum
    });
    measure("sonic-rs: members of each object stepped over, validated", &wide, &mut || {
        let mut members = 0;
        for (_, line) in Lines::new(&wide) {
            members +=
                sonic_rs::to_object_iter(line).map(|member| i64::from(member.is_ok())).sum::<i64>();
        }
        members
    });
    let mut copy = Vec::new();
    let mut buffers = simd_json::Buffers::new(4096);
    measure("simd-json: to_tape_with_buffers, of a copy", &wide, &mut || {
        let mut nodes = 0;
        for (_, line) in Lines::new(&wide) {
            copy.clear();
            copy.extend_from_slice(line);
            let tape = simd_json::to_tape_with_buffers(&mut copy, &mut buffers).unwrap();
            nodes += tape.0.len() as i64;
        }
        nodes
    });
}
