//! The documents: half a megabyte of each kind, a block that stays in the cache.

/// Those of `bench/wide_data.py`: 1.5 kB, 42 scalars and a struct with a list of 20.
pub fn wide() -> Vec<u8> {
    wide_with(|_| 20)
}

/// The same with lists of 10 to 30: no two documents that follow each other are alike.
pub fn unlike() -> Vec<u8> {
    wide_with(|number| 10 + number * 7 % 21)
}

fn wide_with(items: impl Fn(usize) -> usize) -> Vec<u8> {
    let mut below = chance();
    let mut text = String::new();
    for number in 0..320 {
        text += &format!("{{\"c0\":{number}");
        for column in 1..42 {
            text += &match column % 3 {
                0 => format!(",\"c{column}\":{}", below(1_000_000_000)),
                1 => format!(",\"c{column}\":\"value-{:06}-of-some-length\"", below(1_000_000)),
                _ => format!(",\"c{column}\":{}.{:03}", below(1000), below(1000)),
            };
        }
        text += &format!(",\"b\":{{\"c\":{},\"items\":[", below(1000));
        for item in 0..items(number) {
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

/// Rows of TPC-H's `lineitem`, as Spark writes them.
pub fn lineitem() -> Vec<u8> {
    let mut below = chance();
    let mut text = String::new();
    for _ in 0..1400 {
        text += &format!(
            "{{\"l_orderkey\":{},\"l_partkey\":{},\"l_suppkey\":{},\"l_linenumber\":{}",
            1 + below(6_000_000),
            1 + below(200_000),
            1 + below(10_000),
            1 + below(7)
        );
        text += &format!(
            ",\"l_quantity\":{}.00,\"l_extendedprice\":{}.{:02},\"l_discount\":0.{:02},\
             \"l_tax\":0.{:02}",
            1 + below(50),
            900 + below(100_000),
            below(100),
            below(11),
            below(9)
        );
        text += &format!(
            ",\"l_returnflag\":\"{}\",\"l_linestatus\":\"{}\"",
            ["A", "N", "R"][below(3) as usize],
            ["F", "O"][below(2) as usize]
        );
        for name in ["ship", "commit", "receipt"] {
            text += &format!(
                ",\"l_{name}date\":\"199{}-{:02}-{:02}\"",
                2 + below(7),
                1 + below(12),
                1 + below(28)
            );
        }
        text += &format!(
            ",\"l_shipinstruct\":\"{}\",\"l_shipmode\":\"{}\",\"l_comment\":\"{}\"}}\n",
            ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"][below(4) as usize],
            ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"][below(7) as usize],
            &"ironic gifts. doggedly even dinos about the sly"[..10 + below(35) as usize]
        );
    }
    text.into_bytes()
}

/// Numbers below a limit: the same ones every time.
fn chance() -> impl FnMut(u64) -> u64 {
    let mut state = 11u64;
    move |limit| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % limit
    }
}
