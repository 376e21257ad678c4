//! Closed lists of words, each written once: the enum, its words and their meanings come from one list.

/// Defines an enum of words from lines of `Variant "word": "meaning"`, with `ALL`, `word` and `meaning`. The meaning is also the documentation
/// of the variant. Further texts of a line, for tables of documents, are in `columns`.
#[macro_export]
macro_rules! vocabulary {
    ($(#[$attribute:meta])* pub enum $name:ident { $($variant:ident $word:literal: $meaning:literal $(, $column:literal)*;)+ }) => {
        $(#[$attribute])*
        pub enum $name {
            $(#[doc = $meaning] $variant,)+
        }

        impl $name {
            /// All of them, in the order in which they are listed.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word that names it.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// The meaning, in one line.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)+
                }
            }

            /// Further columns of its row in documents.
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

/// Lists words as a sentence has them: "a, b or c".
pub fn one_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
