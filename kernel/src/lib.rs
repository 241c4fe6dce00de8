//! The native kernel of Narrows: JSON payloads to Arrow columns, only what is demanded.
//!
//! It does what the portable kernel (`narrows/formats/json`) does, several times as fast, and
//! hands back to it every payload of which it is not sure. README.md says how, and why so.

pub mod decode;
pub mod encode;
pub mod files;
pub mod json;
pub mod lines;
pub mod messages;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "python")]
mod python_arrays;
#[cfg(feature = "python")]
mod python_encode;
#[cfg(feature = "python")]
mod python_messages;
pub mod transcode;
