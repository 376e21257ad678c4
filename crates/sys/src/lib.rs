//! What the operating system tells and does: the machine's topology, recordings of it, and access to both.

pub mod error;
pub mod record;
pub mod root;
pub mod topology;

pub use error::SysError;
pub use root::Root;
