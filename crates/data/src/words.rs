//! Text as numbers: words, and a vocabulary without a list.

use std::collections::BTreeMap;

/// Calls `take` with every word in lower case.
///
/// Words are letters and digits; `+`, `#` and `.` belong to a word they touch, so that `c++`, `c#`,
/// `.net` and `asp.net` are words, but a dot at the end of a word is a full stop.
pub fn each_word(text: &str, mut take: impl FnMut(&str)) {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '+' | '#' | '.');
    for piece in text.split(|c: char| !inside(c)) {
        let word = piece.trim_end_matches('.');
        if word.chars().any(char::is_alphanumeric) {
            take(&word.to_lowercase());
        }
    }
}

/// The place of a word in a vocabulary of `size` places: FNV-1a over its bytes, mixed by the
/// finaliser of SplitMix64, and the upper half of the product with `size`. Part of the meaning of
/// a recipe: the same on every machine, and never to change.
pub fn place(word: &str, size: u32) -> u32 {
    let fnv = word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut hash = fnv;
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^= hash >> 31;
    ((u128::from(hash) * u128::from(size)) >> 64) as u32
}

/// How often each place of a vocabulary occurs in a text; places that never do are left out.
pub fn bag(text: &str, size: u32) -> Vec<(u32, f64)> {
    let mut counts = BTreeMap::new();
    each_word(text, |word| *counts.entry(place(word, size)).or_insert(0.0) += 1.0);
    counts.into_iter().collect()
}

/// The strings of a Python list such as `['php', "it's"]`.
pub fn python_list(text: &str) -> Result<Vec<String>, String> {
    let no = || {
        let found = crate::error::shown(text);
        format!("expected a list such as ['php', 'sql'], found {found}")
    };
    let inner = text.trim().strip_prefix('[').and_then(|t| t.strip_suffix(']')).ok_or_else(no)?;
    let mut items = Vec::new();
    let mut rest = inner.trim_start();
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"')).ok_or_else(no)?;
        let (item, after) = rest[1..].split_once(quote).ok_or_else(no)?;
        items.push(item.to_string());
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(next) => next.trim_start(),
            None if after.is_empty() => after,
            None => return Err(no()),
        };
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_programmers_are_kept() {
        let mut words = Vec::new();
        each_word("Why C++ and C#, .NET (asp.net)? It ends. e.g. 'x' ... + Straße", |word| {
            words.push(word.to_string());
        });
        let expected =
            ["why", "c++", "and", "c#", ".net", "asp.net", "it", "ends", "e.g", "x", "straße"];
        assert_eq!(words, expected);
    }

    #[test]
    fn places_never_change() {
        // Computed once from the definition with arbitrary-precision integers in Python.
        let golden = [("c++", GOLDEN[0]), ("python", GOLDEN[1]), ("", GOLDEN[2])];
        for (word, expected) in golden {
            assert_eq!(place(word, 10_000), expected, "{word}");
        }
        assert_eq!(place("anything", 1), 0);
        assert_eq!(bag("a b a", 1), [(0, 3.0)]);
    }

    const GOLDEN: [u32; 3] = [6012, 7211, 9576];

    #[test]
    fn lists_of_python_are_read() {
        assert_eq!(python_list("['php', 'sql']").expect("two"), ["php", "sql"]);
        assert_eq!(python_list("[\"it's\"]").expect("one"), ["it's"]);
        assert_eq!(python_list("[]").expect("none"), [""; 0]);
        for broken in ["", "php", "['php'", "[php]", "['a' 'b']", "['a]"] {
            assert!(python_list(broken).is_err(), "{broken}");
        }
    }
}
