//! The native kernel of Narrows: JSON payloads to Arrow columns, only what is demanded.
//!
//! It does what the portable kernel (`narrows/formats/json`) does, several times as fast, and
//! hands back to it every payload of which it is not sure. README.md says how, and why so.

pub mod decode;
pub mod encode;
pub mod files;
pub mod json;
pub mod lines;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "python")]
mod python_encode;
pub mod transcode;
