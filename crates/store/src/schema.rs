//! The versions of the database's schema, and the way from each to the next.

/// Marks a database as corewise's (`PRAGMA application_id`): "crws" in ASCII.
pub(crate) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"crws");

/// SQL texts; the text at index `n` brings a database of schema `n` to schema `n + 1`, and an empty one has schema 0.
///
/// A text that was released is never changed: what is wrong with it is put right by a text behind it.
pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("schema/001.sql"),
    include_str!("schema/002.sql"),
    include_str!("schema/003.sql"),
    include_str!("schema/004.sql"),
    include_str!("schema/005.sql"),
];

/// The schema that a list of migrations leads to.
pub(crate) fn newest(migrations: &[&str]) -> i32 {
    i32::try_from(migrations.len()).expect("there are fewer than two thousand million migrations")
}

/// The first schema in which all that is kept has one series of numbers.
pub(crate) const ONE_SERIES: i32 = 5;
