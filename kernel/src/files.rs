//! The lines of a range of a file, read piece by piece into memory that stays in the cache.
//!
//! What belongs to a range is said, and done for the portable kernel, in `narrows/files/lines.py`:
//! a line belongs to the range in which its first byte lies. A line that was begun before is
//! skipped, the last one is read to its end.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// So much is read at once: it is still in the cache when it is decoded.
const CHUNK: usize = 256 << 10;
/// More for long lines, the open ends of which are moved to the front with every chunk.
const LARGEST_CHUNK: usize = 4 << 20;
const LINES_IN_CHUNK: usize = 8;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Why there are no more lines.
#[derive(Debug)]
pub enum Unreadable {
    Io(io::Error),
    /// The file is shorter than it was when the range was made.
    Shrunk,
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        Unreadable::Io(error)
    }
}

pub struct LineReader {
    file: File,
    buffer: Vec<u8>,
    /// What has been read and not been consumed.
    begin: usize,
    filled: usize,
    /// Up to where there are whole lines.
    whole: usize,
    /// Where in the file `begin` is.
    offset: u64,
    /// Bytes of the range that have not been read.
    left: u64,
    chunk: usize,
}

impl LineReader {
    pub fn open(path: &Path, start: u64, end: u64) -> Result<Self, Unreadable> {
        let from = start.saturating_sub(1);
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        let mut reader = LineReader {
            file,
            buffer: Vec::new(),
            begin: 0,
            filled: 0,
            whole: 0,
            offset: from,
            left: if start < end { end - from } else { 0 },
            chunk: CHUNK,
        };
        if start > 0 {
            reader.skip_open_line()?;
        }
        Ok(reader)
    }

    /// Where in the file the next line begins.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Some lines, each with its LF, and where in the file they begin; none at the range's end.
    pub fn lines(&mut self) -> Result<(u64, &[u8]), Unreadable> {
        let mut searched = self.begin;
        while self.whole == self.begin {
            let found = memchr::memrchr(b'\n', &self.buffer[searched..self.filled]);
            if let Some(place) = found {
                self.whole = searched + place + 1;
                break;
            }
            if self.left == 0 {
                self.finish_line()?;
                break;
            }
            let open = self.filled - self.begin;
            if open >= self.chunk {
                self.chunk = (open * LINES_IN_CHUNK).min(LARGEST_CHUNK).max(self.chunk);
            }
            self.read_on()?;
            searched = self.begin + open;
        }
        if self.offset == 0 && self.buffer[self.begin..self.whole].starts_with(BOM) {
            self.consume(BOM.len());
        }
        Ok((self.offset, &self.buffer[self.begin..self.whole]))
    }

    /// Says that so many bytes of the lines are done with.
    pub fn consume(&mut self, bytes: usize) {
        self.begin += bytes.min(self.whole - self.begin);
        self.offset += bytes as u64;
    }

    /// Reads more of the range, at least a byte.
    fn read_on(&mut self) -> Result<(), Unreadable> {
        let most = self.left.min(self.chunk as u64) as usize;
        match self.read(most)? {
            0 => Err(Unreadable::Shrunk),
            count => {
                self.left -= count as u64;
                Ok(())
            }
        }
    }

    /// Reads at most so many bytes behind what there is, which moves to the front.
    fn read(&mut self, most: usize) -> io::Result<usize> {
        self.buffer.copy_within(self.begin..self.filled, 0);
        self.filled -= self.begin;
        self.whole -= self.begin;
        self.begin = 0;
        if self.buffer.len() < self.filled + most {
            self.buffer.resize(self.filled + most.max(self.chunk), 0);
        }
        loop {
            match self.file.read(&mut self.buffer[self.filled..self.filled + most]) {
                Ok(count) => {
                    self.filled += count;
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The range has been read, but not to the end of its last line, if that is open.
    fn finish_line(&mut self) -> Result<(), Unreadable> {
        if self.begin == self.filled {
            return Ok(());
        }
        loop {
            let known = self.filled - self.begin;
            if self.read(self.chunk)? == 0 {
                self.buffer.truncate(self.filled);
                self.buffer.push(b'\n'); // the file's last line may have none
                self.filled += 1;
                break;
            }
            if let Some(place) = memchr::memchr(b'\n', &self.buffer[known..self.filled]) {
                self.filled = known + place + 1; // what follows belongs to another range
                break;
            }
        }
        self.whole = self.filled;
        Ok(())
    }

    /// Skips the line to which the byte before the range belongs, if it ends in the range.
    fn skip_open_line(&mut self) -> Result<(), Unreadable> {
        while self.left > 0 {
            self.read_on()?;
            if let Some(place) = memchr::memchr(b'\n', &self.buffer[..self.filled]) {
                self.begin = place + 1;
                self.whole = self.begin;
                self.offset += self.begin as u64;
                return Ok(());
            }
            self.offset += self.filled as u64;
            self.filled = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The lines of a range, by where they begin.
    fn read(path: &Path, start: usize, end: usize, chunk: usize) -> BTreeMap<u64, Vec<u8>> {
        let mut reader = LineReader::open(path, start as u64, end as u64).unwrap();
        reader.chunk = chunk;
        let mut found = BTreeMap::new();
        loop {
            let (offset, lines) = reader.lines().unwrap();
            let Some(place) = memchr::memchr(b'\n', lines) else { return found };
            found.insert(offset, lines[..place].to_vec());
            reader.consume(place + 1);
        }
    }

    #[test]
    fn each_line_is_read_once_however_a_file_is_cut() {
        let path = std::env::temp_dir().join(format!("narrows-lines-{}", std::process::id()));
        for text in ["a\nbb\n\nccc\ndddd", "\n\n", "x", "", "\u{feff}a\nb\n", "longer line\r\nb\n"]
        {
            std::fs::write(&path, text).unwrap();
            let begin = if text.starts_with('\u{feff}') { 3 } else { 0 };
            let mut expected = BTreeMap::new();
            let mut place = begin;
            for line in text[begin..].split_inclusive('\n') {
                let bytes = line.strip_suffix('\n').unwrap_or(line).as_bytes();
                expected.insert(place as u64, bytes.to_vec());
                place += line.len();
            }
            for chunk in [1, 2, 3, 7, 100] {
                for cut in 0..=text.len() {
                    let mut found = read(&path, 0, cut, chunk);
                    let rest = read(&path, cut, text.len(), chunk);
                    assert!(found.keys().all(|place| !rest.contains_key(place)));
                    found.extend(rest);
                    assert_eq!(found, expected, "{text:?} cut at {cut}");
                }
            }
        }
        std::fs::write(&path, "abc\n").unwrap();
        let mut reader = LineReader::open(&path, 0, 10).unwrap();
        assert_eq!(reader.lines().unwrap(), (0, &b"abc\n"[..]));
        reader.consume(4);
        assert!(matches!(reader.lines(), Err(Unreadable::Shrunk)));
        std::fs::remove_file(&path).unwrap();
    }
}
