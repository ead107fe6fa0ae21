//! Closed sets of words: what has one word for each of its values, the same one in JSON, in text and
//! in the documentation.

/// An enum and its words: `as_str`, `parse`, `ALL`, and JSON in which a value is its word. Binary
/// formats, in which stores keep records, have the name of the variant instead, so that a word may
/// change without a change of what is stored.
///
/// ```
/// ff_core::words!(
///     /// How loud it is.
///     Volume {
///         /// Hardly heard.
///         Low = "low",
///         /// Not to be missed.
///         High = "high",
///     }
/// );
/// assert_eq!(Volume::High.to_string(), "high");
/// assert_eq!(Volume::parse("low"), Some(Volume::Low));
/// assert_eq!(Volume::parse("Low"), None);
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$of])* $variant),+ }

        impl $name {
            /// Every value.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// The word used everywhere.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            /// The value of this word.
            pub fn parse(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|value| value.as_str() == word)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let stored = match self { $($name::$variant => stringify!($variant)),+ };
                match to.is_human_readable() {
                    true => to.serialize_str(self.as_str()),
                    false => to.serialize_unit_variant(stringify!($name), *self as u32, stored),
                }
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<$name, D::Error> {
                #[derive(::serde::Deserialize)]
                enum Read { $(#[serde(rename = $word)] $variant),+ }
                #[derive(::serde::Deserialize)]
                enum Stored { $($variant),+ }
                if from.is_human_readable() {
                    return Ok(match Read::deserialize(from)? { $(Read::$variant => $name::$variant),+ });
                }
                Ok(match Stored::deserialize(from)? { $(Stored::$variant => $name::$variant),+ })
            }
        }
    };
}
