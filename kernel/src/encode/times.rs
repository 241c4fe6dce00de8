//! Dates and times.

use super::Left;
use super::numbers::integer;

const DAY_10000: i64 = 2_932_897;
const SECONDS_PER_DAY: i64 = 86_400;

/// A wall clock, or the zone that times are shown in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    None,
    /// Seconds east of UTC.
    Fixed(i32),
}

/// Appends a day since 1970 as `"2026-11-15"`; years of five digits have a sign.
pub fn date(days: i32, out: &mut Vec<u8>) -> Result<(), Left> {
    let days = i64::from(days);
    out.push(b'"');
    if days >= DAY_10000 {
        out.push(b'+');
    }
    day(days, out)?;
    out.push(b'"');
    Ok(())
}

/// Appends microseconds since 1970 as `"2026-11-15T10:00:00.000Z"`.
pub fn timestamp(micros: i64, zone: Zone, out: &mut Vec<u8>) -> Result<(), Left> {
    let east = match zone {
        Zone::None => 0,
        Zone::Fixed(seconds) => i64::from(seconds),
    };
    let millis = micros.div_euclid(1_000) + east * 1_000;
    let seconds = millis.div_euclid(1_000);
    let of_day = seconds.rem_euclid(SECONDS_PER_DAY) as u32;
    out.push(b'"');
    if micros >= DAY_10000 * SECONDS_PER_DAY * 1_000_000 {
        out.push(b'+');
    }
    day(seconds.div_euclid(SECONDS_PER_DAY), out)?;
    out.push(b'T');
    two_digits(of_day / 3600, out);
    out.push(b':');
    two_digits(of_day / 60 % 60, out);
    out.push(b':');
    two_digits(of_day % 60, out);
    out.push(b'.');
    let fraction = millis.rem_euclid(1_000) as u32;
    out.push(b'0' + (fraction / 100) as u8);
    two_digits(fraction % 100, out);
    if let Zone::Fixed(east) = zone {
        offset(east, out)?;
    }
    out.push(b'"');
    Ok(())
}

fn offset(east: i32, out: &mut Vec<u8>) -> Result<(), Left> {
    let minutes = east.unsigned_abs() / 60;
    if east % 60 != 0 || minutes >= 24 * 60 {
        return Err(Left);
    }
    if east == 0 {
        out.push(b'Z');
        return Ok(());
    }
    out.push(if east < 0 { b'-' } else { b'+' });
    two_digits(minutes / 60, out);
    out.push(b':');
    two_digits(minutes % 60, out);
    Ok(())
}

fn day(days: i64, out: &mut Vec<u8>) -> Result<(), Left> {
    // Counted from the 1st of March of the year 0 on, so that the leap day is the last of its
    // year; 400 years are 146 097 days.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let year = era * 400 + year;
    match year {
        ..0 => return Err(Left),
        0..10_000 => {
            two_digits((year / 100) as u32, out);
            two_digits((year % 100) as u32, out);
        }
        _ => integer(year, out),
    }
    out.push(b'-');
    two_digits(month as u32, out);
    out.push(b'-');
    two_digits(day as u32, out);
    Ok(())
}

#[inline(always)]
fn two_digits(value: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'0' + (value / 10) as u8, b'0' + (value % 10) as u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>) -> Result<(), Left>) -> Result<String, Left> {
        let mut out = Vec::new();
        write(&mut out)?;
        Ok(String::from_utf8(out).unwrap().trim_matches('"').into())
    }

    #[test]
    fn dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (18_321, "2020-02-29"),
            (11_017, "2000-03-01"),
            (-719_528, "0000-01-01"),
            (-719_469, "0000-02-29"),
            (2_932_896, "9999-12-31"),
            (2_932_897, "+10000-01-01"),
        ] {
            assert_eq!(text(|out| date(days, out)), Ok(expected.into()));
        }
        assert_eq!(text(|out| date(-719_529, out)), Err(Left));
        assert_eq!(text(|out| date(i32::MAX, out)), Ok("+5881580-07-11".into()));
    }

    #[test]
    fn timestamps() {
        for (micros, zone, expected) in [
            (0, Zone::Fixed(0), "1970-01-01T00:00:00.000Z"),
            (-1, Zone::Fixed(0), "1969-12-31T23:59:59.999Z"),
            (1_234_567, Zone::None, "1970-01-01T00:00:01.234"),
            (0, Zone::Fixed(5_400), "1970-01-01T01:30:00.000+01:30"),
            (0, Zone::Fixed(-5_400), "1969-12-31T22:30:00.000-01:30"),
            (253_402_300_800_000_000, Zone::Fixed(0), "+10000-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(text(|out| timestamp(micros, zone, out)), Ok(expected.into()));
        }
        assert_eq!(text(|out| timestamp(i64::MIN, Zone::None, out)), Err(Left));
        assert_eq!(text(|out| timestamp(0, Zone::Fixed(1), out)), Err(Left));
        assert!(text(|out| timestamp(i64::MAX, Zone::Fixed(64_800), out)).is_ok());
    }
}
