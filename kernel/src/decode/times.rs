//! Dates and times in their common forms. The portable kernel knows all others.

/// What a text is as a value of a type.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<T> {
    Value(T),
    /// It is surely none.
    Mistyped,
    /// It may be one in an uncommon form.
    Unsure,
}

/// Days since 1970 of `2026-01-31`.
#[inline]
pub fn date(text: &[u8]) -> Found<i32> {
    match days(text) {
        Some(days) => Found::Value(days as i32),
        None => odd(text),
    }
}

/// Microseconds since 1970 of `2026-01-31T10:20:30.123456+01:00`, without fraction or zone as well.
#[inline]
pub fn timestamp(text: &[u8], zone: Option<i32>) -> Found<i64> {
    match common(text, zone) {
        Some(micros) => Found::Value(micros),
        None => odd(text),
    }
}

fn common(text: &[u8], zone: Option<i32>) -> Option<i64> {
    let (second, rest) = text.split_at_checked(19)?;
    if !matches!(second[10], b' ' | b'T') || second[13] != b':' || second[16] != b':' {
        return None;
    }
    let days = days(&second[..10])?;
    let hours = two_digits(second[11], second[12])?;
    let minutes = two_digits(second[14], second[15])?;
    let seconds = two_digits(second[17], second[18])?;
    if hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let mut zone_text = rest;
    let mut micros = 0;
    if let [b'.', fraction @ ..] = rest {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut unit = 100_000;
        for digit in &fraction[..digits.min(6)] {
            micros += i64::from(digit - b'0') * unit;
            unit /= 10;
        }
        zone_text = &fraction[digits..];
    }
    let east = match zone_text {
        [] => i64::from(zone?),
        [b'Z'] => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (two_digits(*h1, *h2)?, two_digits(*m1, *m2)?);
            if hours > 17 || minutes > 59 {
                return None;
            }
            let east = i64::from(hours * 3600 + minutes * 60);
            if *sign == b'-' { -east } else { east }
        }
        _ => return None,
    };
    let seconds = days * 86_400 + i64::from(hours * 3600 + minutes * 60 + seconds) - east;
    Some(seconds * 1_000_000 + micros)
}

/// The years 0 to 9999 in the Gregorian calendar.
#[inline]
fn days(text: &[u8]) -> Option<i64> {
    let &[y1, y2, y3, y4, dash, m1, m2, other_dash, d1, d2] = text else { return None };
    // Digits become 0 to 9, dashes 0; adding 0x76 sets the highest bit of what is more.
    let word = u64::from_le_bytes([y1, y2, y3, y4, dash, m1, m2, other_dash])
        ^ u64::from_le_bytes(*b"0000-00-");
    let odd = (word | word.wrapping_add(0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080;
    if odd | (word & 0xff00_00ff_0000_0000) != 0 {
        return None;
    }
    let twos = word * 10 + (word >> 8); // each byte, with the one after it, as a number of two digits
    let two = |place: u32| (twos >> (8 * place)) as u32 & 0xff;
    let year = two(0) * 100 + two(2);
    let (month, day) = (two(5), two_digits(d1, d2)?);
    if !(1..=12).contains(&month) || day == 0 || (day > 28 && day > days_of(month, year)) {
        return None;
    }
    // Counted from March on, so that the leap day is the last of its year; 400 years are 146 097
    // days, and the 1st of March of the year -400 is 865 565 days before 1970.
    let (year, month) = (i64::from(year), i64::from(month));
    let (year, month) = if month > 2 { (year + 400, month - 3) } else { (year + 399, month + 9) };
    let before = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5;
    Some(before + i64::from(day) - 1 - 865_565)
}

fn days_of(month: u32, year: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[inline(always)]
fn two_digits(first: u8, second: u8) -> Option<u32> {
    let (first, second) = (first.wrapping_sub(b'0'), second.wrapping_sub(b'0'));
    (first < 10 && second < 10).then(|| u32::from(first) * 10 + u32::from(second))
}

/// Texts that begin with neither a digit, a sign, a space nor the `G` of `GMT` are no dates.
fn odd<T>(text: &[u8]) -> Found<T> {
    match text.first() {
        None => Found::Mistyped,
        Some(b'G' | b'+' | b'-' | b'0'..=b'9' | 0..=b' ' | 0x7f..) => Found::Unsure,
        Some(_) => Found::Mistyped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let read = |text: &str| date(text.as_bytes());
        assert_eq!(read("1970-01-01"), Found::Value(0));
        assert_eq!(read("1969-12-31"), Found::Value(-1));
        assert_eq!(read("2000-03-01"), Found::Value(11_017));
        assert_eq!(read("2020-02-29"), Found::Value(18_321));
        assert_eq!(read("0000-02-29"), Found::Value(-719_469));
        assert_eq!(read("9999-12-31"), Found::Value(2_932_896));
        assert_eq!(read("1970-04-30"), Found::Value(119));
        for unsure in [
            "2021-02-29",
            "2020-04-31",
            "2020-01-32",
            "2020-13-01",
            "2020-00-10",
            "2020-1-1",
            "2020/01-01",
            "2020-01/01",
            "2020-01-0/",
            "2020-01-:1",
            "202:-01-01",
            "20/0-01-01",
            "2020-0\u{7f}-1",
            "2020",
            "GMT",
            " 2020-01-01",
        ] {
            assert_eq!(read(unsure), Found::Unsure, "{unsure}");
        }
        for none in ["", "n/a", "[]"] {
            assert_eq!(read(none), Found::Mistyped, "{none}");
        }
    }

    /// All days of four centuries follow each other.
    #[test]
    fn days_follow_each_other() {
        let mut last = None;
        for (year, month, day) in (1600..2000)
            .flat_map(|year| (1..=12).map(move |month| (year, month)))
            .flat_map(|(year, month)| (1..=31).map(move |day| (year, month, day)))
        {
            if let Some(found) = days(format!("{year}-{month:02}-{day:02}").as_bytes()) {
                assert!(last.is_none_or(|last| found == last + 1), "{year}-{month}-{day}");
                last = Some(found);
            }
        }
        assert_eq!(last, Some(10_956));
    }

    #[test]
    fn timestamps() {
        let read = |text: &str| timestamp(text.as_bytes(), Some(0));
        assert_eq!(read("1970-01-01T00:00:01Z"), Found::Value(1_000_000));
        assert_eq!(read("1970-01-01 00:00:01.5"), Found::Value(1_500_000));
        assert_eq!(read("1970-01-01T00:00:00.1234567+00:01"), Found::Value(123_456 - 60_000_000));
        assert_eq!(read("1969-12-31T23:59:59.9-01:00"), Found::Value(3_599_900_000));
        for unsure in [
            "1970-01-01T24:00:00Z",
            "1970-01-01",
            "1970-01-01T00:00:00PST",
            "1970-01-01T00:00:00+18:00",
        ] {
            assert_eq!(read(unsure), Found::Unsure, "{unsure}");
        }
        assert_eq!(timestamp(b"1970-01-01T00:00:00", None), Found::Unsure);
        assert_eq!(timestamp(b"1970-01-01T00:00:00", Some(3600)), Found::Value(-3_600_000_000));
    }
}
