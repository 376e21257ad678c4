//! Closed lists of words: each list defines an enum, its words and their meanings.

/// Defines an enum of words from lines of `Variant "word": "meaning"`, with `ALL`, `word` and `meaning`. The meaning is also the variant's
/// documentation. Further texts of a line, for tables in documents, are in `columns`.
#[macro_export]
macro_rules! vocabulary {
    ($(#[$attribute:meta])* pub enum $name:ident { $($variant:ident $word:literal: $meaning:literal $(, $column:literal)*;)+ }) => {
        $(#[$attribute])*
        pub enum $name {
            $(#[doc = $meaning] $variant,)+
        }

        impl $name {
            /// All variants, in the order of the list.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// Returns the word.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// Returns the meaning, in one line.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)+
                }
            }

            /// Returns the further columns of its row in documents.
            pub const fn columns(self) -> &'static [&'static str] {
                match self {
                    $(Self::$variant => &[$($column),*],)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.word())
            }
        }
    };
}

pub use vocabulary;

/// Joins words for a sentence: "a, b or c".
pub fn one_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
