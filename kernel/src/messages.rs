//! Messages of `librdkafka`, where the library has them.
//!
//! ```text
//!  array ──► rd_kafka_message_t ──► payload, in the response that was fetched
//! ```
//!
//! A consumer is given an array of pointers to messages, which are its own until it hands each back
//! to `rd_kafka_message_destroy`. `Messages` is such a consumer: it takes the pointers over, lends
//! the payloads as slices for as long as it lives, and destroys the messages when it is dropped.
//! Nothing is copied, and nothing behind a payload is read: the library pads none.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{BinaryArray, Int32Array, Int64Array};

use crate::decode::Failure;

/// `rd_kafka_message_t`, as it is laid out in version 2 of the library.
#[repr(C)]
pub struct Message {
    error: c_int,
    topic: *const c_void,
    partition: i32,
    payload: *const u8,
    length: usize,
    key: *const u8,
    key_length: usize,
    offset: i64,
    private: *const c_void,
}

/// `rd_kafka_message_destroy`.
pub type Destroy = unsafe extern "C" fn(*mut Message);
/// `rd_kafka_message_timestamp`: milliseconds, and of which type they are.
pub type Timestamp = unsafe extern "C" fn(*const Message, *mut c_int) -> i64;

/// What is called in the library.
#[derive(Clone, Copy)]
pub struct Library {
    pub destroy: Destroy,
    pub timestamp: Timestamp,
}

/// Something that stood among the messages, but is none: an error, or the end of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// How many messages stood before it.
    pub position: usize,
    pub code: i32,
    pub offset: i64,
    pub text: String,
}

/// Messages that are ours.
pub struct Messages {
    library: Library,
    messages: Vec<NonNull<Message>>,
}

// SAFETY: a message belongs to whoever took it from its queue, not to a thread; the library lets any
// thread destroy it. Until then nobody writes to what is read here, so that several may look at it.
unsafe impl Send for Messages {}
// SAFETY: as above.
unsafe impl Sync for Messages {}

impl Messages {
    /// Takes over the messages of an array, and tells them from events.
    ///
    /// # Safety
    ///
    /// The array holds as many pointers, each of them NULL or to a message of the library whose
    /// functions these are, which nobody else will use or destroy from now on. The library is not
    /// unloaded, nor the consumer destroyed, before what is returned is dropped.
    pub unsafe fn take(
        library: Library,
        array: *const *mut Message,
        count: usize,
    ) -> (Self, Vec<Event>) {
        let mut taken = Messages { library, messages: Vec::with_capacity(count) };
        let mut events = Vec::new();
        for place in 0..count {
            // SAFETY: the caller says that the array is that long.
            let Some(message) = NonNull::new(unsafe { array.add(place).read() }) else { continue };
            // SAFETY: the caller says that it points to a message, which is ours.
            let found = unsafe { message.as_ref() };
            if found.error == 0 {
                taken.messages.push(message);
                continue;
            }
            events.push(Event {
                position: taken.messages.len(),
                code: found.error,
                offset: found.offset,
                text: String::from_utf8_lossy(found.payload().unwrap_or_default()).into_owned(),
            });
            // SAFETY: it is ours, and is not used any more.
            unsafe { (library.destroy)(message.as_ptr()) };
        }
        (taken, events)
    }

    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Keeps the first few, and gives away the others.
    pub fn split_off(&mut self, at: usize) -> Self {
        let messages = self.messages.split_off(at.min(self.messages.len()));
        Messages { library: self.library, messages }
    }

    fn iter(&self) -> impl Iterator<Item = &Message> {
        // SAFETY: the messages are ours, and nobody writes to them, until they are destroyed, for
        // which they must not be borrowed.
        self.messages.iter().map(|message| unsafe { message.as_ref() })
    }

    fn get(&self, number: usize) -> Option<&Message> {
        // SAFETY: as in `iter`.
        self.messages.get(number).map(|message| unsafe { message.as_ref() })
    }

    /// Where a message is, for whoever calls the library himself.
    pub fn address(&self, number: usize) -> Option<usize> {
        self.messages.get(number).map(|message| message.as_ptr() as usize)
    }

    /// The payloads; None for one that is null, which is not the same as empty.
    pub fn payloads(&self) -> impl Iterator<Item = Option<&[u8]>> {
        self.iter().map(Message::payload)
    }

    pub fn payload(&self, number: usize) -> Option<&[u8]> {
        self.get(number)?.payload()
    }

    pub fn offset(&self, number: usize) -> Option<i64> {
        Some(self.get(number)?.offset)
    }

    /// How many of the messages, whose offsets ascend, stand before an offset.
    pub fn before(&self, offset: i64) -> usize {
        // SAFETY: as in `iter`.
        self.messages.partition_point(|message| unsafe { message.as_ref() }.offset < offset)
    }

    pub fn offsets(&self) -> Int64Array {
        Int64Array::from_iter_values(self.iter().map(|message| message.offset))
    }

    pub fn partitions(&self) -> Int32Array {
        Int32Array::from_iter_values(self.iter().map(|message| message.partition))
    }

    /// Milliseconds since 1970; NULL where a message has no time.
    pub fn timestamps(&self) -> Int64Array {
        let time = |message: &Message| {
            let mut kind = 0;
            // SAFETY: a message of this library, and a place for the answer.
            let time = unsafe { (self.library.timestamp)(message, &mut kind) };
            (kind != 0).then_some(time)
        };
        self.iter().map(time).collect()
    }

    pub fn keys(&self) -> Result<BinaryArray, Failure> {
        let size: usize = self.iter().map(|message| message.key_length).sum();
        if size > i32::MAX as usize {
            return Err(Failure::TooMuch);
        }
        let mut keys = BinaryBuilder::with_capacity(self.len(), size);
        for message in self.iter() {
            keys.append_option(message.key());
        }
        Ok(keys.finish())
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        for message in self.messages.drain(..) {
            // SAFETY: it is ours, and nobody borrows what is dropped.
            unsafe { (self.library.destroy)(message.as_ptr()) };
        }
    }
}

impl Message {
    fn payload(&self) -> Option<&[u8]> {
        // SAFETY: the library says that so many bytes stand there as long as the message lives.
        unsafe { bytes(self.payload, self.length) }
    }

    fn key(&self) -> Option<&[u8]> {
        // SAFETY: as above.
        unsafe { bytes(self.key, self.key_length) }
    }
}

/// # Safety
///
/// The pointer is NULL, or to so many bytes that stay as they are for as long.
unsafe fn bytes<'a>(start: *const u8, length: usize) -> Option<&'a [u8]> {
    // SAFETY: the caller says so.
    (!start.is_null()).then(|| unsafe { std::slice::from_raw_parts(start, length) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::ptr::null;

    thread_local! {
        static DESTROYED: RefCell<Vec<i64>> = const { RefCell::new(Vec::new()) };
    }

    unsafe extern "C" fn destroy(message: *mut Message) {
        // SAFETY: made by `array`, and handed back once.
        let message = unsafe { Box::from_raw(message) };
        DESTROYED.with_borrow_mut(|destroyed| destroyed.push(message.offset));
    }

    unsafe extern "C" fn timestamp(message: *const Message, kind: *mut c_int) -> i64 {
        // SAFETY: `timestamps` hands over a message and a place.
        unsafe {
            *kind = (*message).partition;
            (*message).offset * 1000
        }
    }

    const LIBRARY: Library = Library { destroy, timestamp };

    fn message(offset: i64, payload: Option<&'static str>, key: Option<&'static str>) -> Message {
        let start = |text: Option<&str>| text.map_or(null(), str::as_ptr);
        Message {
            error: 0,
            topic: null(),
            partition: 1,
            payload: start(payload),
            length: payload.map_or(0, str::len),
            key: start(key),
            key_length: key.map_or(0, str::len),
            offset,
            private: null(),
        }
    }

    fn take(messages: Vec<Message>) -> (Messages, Vec<Event>) {
        let boxed = messages.into_iter().map(|message| Box::into_raw(Box::new(message)));
        let array: Vec<*mut Message> = boxed.collect();
        // SAFETY: they are of `LIBRARY`, and nobody else has them.
        unsafe { Messages::take(LIBRARY, array.as_ptr(), array.len()) }
    }

    fn destroyed() -> Vec<i64> {
        DESTROYED.with_borrow_mut(std::mem::take)
    }

    #[test]
    fn each_message_is_destroyed_once() {
        let (mut messages, events) = take((0..6).map(|at| message(at, Some("x"), None)).collect());
        assert!(events.is_empty());
        let rest = messages.split_off(4);
        assert_eq!((messages.len(), rest.len()), (4, 2));
        assert!(messages.split_off(9).is_empty());
        assert!(destroyed().is_empty());
        drop(rest);
        assert_eq!(destroyed(), [4, 5]);
        drop(messages);
        assert_eq!(destroyed(), [0, 1, 2, 3]);
    }

    #[test]
    fn events_are_told_from_messages() {
        let end = Message { error: -191, ..message(7, Some("the end"), None) };
        let worse = Message { error: 3, ..message(9, None, None) };
        let (messages, events) = take(vec![message(5, Some("a"), None), end, worse]);
        assert_eq!(messages.payloads().collect::<Vec<_>>(), [Some(&b"a"[..])]);
        let event =
            |code, offset, text: &str| Event { position: 1, code, offset, text: text.into() };
        assert_eq!(events, [event(-191, 7, "the end"), event(3, 9, "")]);
        assert_eq!(destroyed(), [7, 9]);
        drop(messages);
        assert_eq!(destroyed(), [5]);
    }

    #[test]
    fn what_is_null_is_not_empty() {
        let timeless = Message { partition: 0, ..message(9, None, None) };
        let (messages, _) =
            take(vec![message(3, Some("{}"), Some("k")), message(4, Some(""), Some("")), timeless]);
        assert_eq!(messages.payloads().collect::<Vec<_>>(), [Some(&b"{}"[..]), Some(b""), None]);
        assert_eq!((messages.payload(0), messages.payload(3)), (Some(&b"{}"[..]), None));
        assert_eq!((messages.offset(2), messages.offset(3)), (Some(9), None));
        assert_eq!(messages.offsets(), Int64Array::from(vec![3, 4, 9]));
        assert_eq!(messages.partitions(), Int32Array::from(vec![1, 1, 0]));
        assert_eq!(messages.timestamps(), Int64Array::from(vec![Some(3000), Some(4000), None]));
        let keys = messages.keys().expect("a few");
        assert_eq!(keys.iter().collect::<Vec<_>>(), [Some(&b"k"[..]), Some(b""), None]);
        assert_eq!([2, 4, 5, 9, 10].map(|offset| messages.before(offset)), [0, 1, 2, 2, 3]);
    }
}
