//! The layout of the database.

/// Marks a database as corewise's (`PRAGMA application_id`): "crws" in ASCII.
pub(crate) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"crws");

/// Version of the layout (`PRAGMA user_version`). Databases of other versions are refused.
pub(crate) const LAYOUT_VERSION: i32 = 1;

/// SQL text that creates the tables and indices.
pub(crate) const LAYOUT: &str = include_str!("schema/layout.sql");
