//! Broken files: each gives one line that names the file, the place and what to do; none panics.
use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;
use undertone_data::{Recipe, Sources, guess, load};

/// A folder of its own with some files.
fn folder(name: &str, files: &[(&str, &[u8])]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("undertone-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, content) in files {
        std::fs::write(folder.join(name), content).unwrap();
    }
    folder
}

/// The one line that a recipe gives for a file.
fn complaint(file: &str, content: &[u8], recipe: &str) -> String {
    let folder = folder("broken", &[(file, content), ("ones", b"1\n1\n"), ("one.idx", LABEL)]);
    let text = format!("file = {file:?}\n{recipe}");
    let recipe: Recipe = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut sources = Sources::new([folder]);
    sources.limit = 1 << 20;
    match load::<f32>(&recipe, &sources) {
        Ok(_) => panic!("{file} was read"),
        Err(error) => error.to_string(),
    }
}

/// One label.
const LABEL: &[u8] = &[0, 0, 8, 1, 0, 0, 0, 1, 7];

const PEOPLE: &str = r#"
columns = [
    { name = "age", kind = "number", max = 100.0 },
    { name = "city", kind = "category", values = ["Kobe", "Oslo"] },
    { name = "happy", kind = "target" },
]
target = { positive = "yes", values = ["yes", "no"] }
"#;

fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

#[test]
fn every_kind_of_broken_file_gives_one_clear_line() {
    let head = "age,city,happy\n30,Kobe,yes\n";
    let csv = |rows: &str| format!("{head}{rows}").into_bytes();
    let words = "format = \"fasttext\"\nwords = 10";
    let titles = "format = \"titles\"\nwords = 10\nlabels = \"ones\"";
    let images = "format = \"idx\"\nlabels = \"one.idx\"";
    let cases: Vec<(&str, Vec<u8>, &str, &str)> = vec![
        ("empty.csv", vec![], PEOPLE, "empty.csv: is empty"),
        (
            "number.csv",
            csv("abc,Oslo,no\n"),
            PEOPLE,
            "number.csv:3: column \"age\": expected a number, found \"abc\"",
        ),
        (
            "infinite.csv",
            csv("inf,Oslo,no\n"),
            PEOPLE,
            "infinite.csv:3: column \"age\": expected a number, found \"inf\"",
        ),
        (
            "value.csv",
            csv("30,Rome,no\n"),
            PEOPLE,
            "value.csv:3: column \"city\": found \"Rome\", which is not among the 2",
        ),
        (
            "target.csv",
            csv("30,Oslo,maybe\n"),
            PEOPLE,
            "target.csv:3: column \"happy\": expected one of the declared targets",
        ),
        (
            "missing.csv",
            csv("?,Oslo,no\n"),
            PEOPLE,
            "missing.csv:3: column \"age\": a value is missing; say missing",
        ),
        ("short.csv", csv("\n30,Oslo\n"), PEOPLE, "short.csv:4: expected 3 cells, found 2"),
        ("long.csv", csv("30,Oslo,no,7\n"), PEOPLE, "long.csv:3: expected 3 cells, found 4"),
        (
            "quote.csv",
            csv("30,\"Oslo,no\n31,Kobe,yes\n"),
            PEOPLE,
            "quote.csv:3: expected 3 cells, found 2; is the delimiter right and every quote",
        ),
        (
            "latin1.csv",
            [head.as_bytes(), b"30,K\xf6be,no\n"].concat(),
            PEOPLE,
            "latin1.csv:3: column \"city\": is not UTF-8 text",
        ),
        (
            "renamed.csv",
            b"years,city,happy\n1,Kobe,no\n".to_vec(),
            PEOPLE,
            "renamed.csv: has no column \"age\"; its columns are years, city, happy",
        ),
        (
            "more.csv",
            b"age,city,happy,shoe\n1,Kobe,no,7\n".to_vec(),
            PEOPLE,
            "more.csv: column \"shoe\": is not in the recipe",
        ),
        ("head.csv", b"age,city,happy\n".to_vec(), PEOPLE, "head.csv: holds no records"),
        (
            "unbounded.csv",
            csv(""),
            "columns = [{ name = \"age\", kind = \"number\" }]\nothers = \"drop\"",
            "[data]: columns: \"age\": has no bounds",
        ),
        (
            "cut.csv.gz",
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x4c".to_vec(),
            PEOPLE,
            "cut.csv.gz: the gzip data is damaged",
        ),
        (
            "bad.csv.xz",
            b"\xfd7zXZ\x00\x00\x01\x69\x22\xde\x36garbage".to_vec(),
            PEOPLE,
            "bad.csv.xz: the xz data is damaged",
        ),
        ("bomb.csv", vec![b'1'; (1 << 20) + 1], PEOPLE, "bomb.csv: holds more than 1048576 bytes"),
        (
            "index.svm",
            b"1 1:1\n1 2:1 1:1\n".to_vec(),
            "",
            "index.svm:2: indices must increase along a line, found 1 after 2",
        ),
        (
            "pair.svm",
            b"1 1:1\n-1 one:1\n".to_vec(),
            "",
            "pair.svm:2: expected index:value, found \"one:1\"",
        ),
        ("zero.svm", b"1 0:1\n".to_vec(), "", "zero.svm:1: features are numbered from 1"),
        (
            "wide.svm",
            b"1 9:1\n".to_vec(),
            "features = 8",
            "wide.svm:1: expected features up to 8, found 9; raise `features`",
        ),
        (
            "label.svm",
            b"x 1:1\n".to_vec(),
            "target = { positive = \"1\", values = [\"1\", \"-1\"] }",
            "label.svm:1: expected one of the declared targets",
        ),
        (
            "magic.idx",
            b"\x01\x00\x08\x03".to_vec(),
            images,
            "magic.idx: is not an IDX file: it does not begin with two zero bytes",
        ),
        (
            "cut.idx",
            vec![0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1],
            images,
            "cut.idx: the header promises an array of 2 x 2 x 2 (8 bytes), but 1 bytes follow",
        ),
        (
            "huge.idx",
            vec![0, 0, 8, 2, 255, 255, 255, 255, 255, 255, 255, 255],
            images,
            "huge.idx: the header promises an array of 4294967295 x 4294967295",
        ),
        (
            "two.idx",
            vec![0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2],
            images,
            "one.idx: expected 2 labels, one for each record, found 1",
        ),
        (
            "labels.idx",
            LABEL.to_vec(),
            "format = \"idx\"",
            "labels.idx: is a list of labels, not records",
        ),
        (
            "cut.bin",
            vec![0; 3072],
            "format = \"cifar-10\"",
            "cut.bin: 3072 bytes are not whole CIFAR-10 records of 3073",
        ),
        (
            "class.bin",
            vec![10; 3073],
            "format = \"cifar-10\"",
            "class.bin:1: expected a class from 0 to 9, found 10",
        ),
        ("magic.npy", b"NUMPY".to_vec(), "format = \"npy\"", "magic.npy: is not an NPY file"),
        (
            "object.npy",
            npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", &[0; 8]),
            "",
            "object.npy: `descr` of the NPY header: expected integers",
        ),
        (
            "nan.npy",
            npy(
                "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }",
                &f32::NAN.to_le_bytes(),
            ),
            "",
            "nan.npy:1: expected a finite number",
        ),
        (
            "cut.npz",
            b"PK\x03\x04 and no more".to_vec(),
            "",
            "cut.npz: the ZIP archive has no directory; it is cut off",
        ),
        (
            "plain.txt",
            b"__label__a one\ntwo\n".to_vec(),
            words,
            "plain.txt:2: expected __label__tag first, found \"two\"",
        ),
        ("latin1.txt", b"__label__a \xf6\n".to_vec(), words, "latin1.txt:1: is not UTF-8 text"),
        (
            "tags.tsv",
            b"title\ttags\none\tphp, sql\n".to_vec(),
            "words = 10",
            "tags.tsv:2: column \"tags\": expected a list such as ['php', 'sql'], found",
        ),
        (
            "head.tsv",
            b"title\tlabels\none\t['a']\n".to_vec(),
            "words = 10\nformat = \"tagged-tsv\"",
            "head.tsv:1: expected the columns title and tags, found \"title, labels\"",
        ),
        (
            "tag.tsv",
            b"title\ttags\none\t['a']\n".to_vec(),
            "words = 10\ntags = [\"b\"]",
            "tag.tsv:2: \"a\" is not among the declared tags",
        ),
        (
            "three.txt",
            b"one\ntwo\nthree\n".to_vec(),
            titles,
            "ones: expected 3 labels, one for each title, found 2",
        ),
        (
            "size.txt",
            b"one\n".to_vec(),
            "format = \"titles\"\nlabels = \"ones\"",
            "[data]: words: give the size of the hashed vocabulary",
        ),
        (
            "columns.parquet",
            b"PAR1PAR1".to_vec(),
            "",
            "columns.parquet: is a Parquet file, which this build does not read",
        ),
        ("what", vec![1, 0, 255, 7], "", "what: is of no kind we know; say it with `format`"),
    ];
    assert!(cases.len() >= 20);
    for (file, content, recipe, expected) in cases {
        let line = complaint(file, &content, recipe);
        assert!(line.starts_with(expected), "{file}:\n  {line}\nshould begin\n  {expected}");
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(line.len() < 300, "{line}");
    }
}

#[test]
fn what_is_asked_wrongly_is_said_as_clearly() {
    let folder = folder("asked", &[("a.csv", b"a\n1\n")]);
    let sources = Sources::new([folder]);
    let say = |text: &str| {
        let recipe: Recipe = toml::from_str(text).unwrap();
        load::<f64>(&recipe, &sources).err().unwrap().to_string()
    };
    assert!(say("file = \"b.csv\"").contains("b.csv: no such file"));
    assert!(say("recipe = \"adlut\"").contains("there is no `adlut`"));
    assert!(say("").contains("[data]: file: there is no file"));
    assert!(say("source = \"census\"").contains("drawn from a seed"));
    assert!(say("file = \"a.csv\"\nclip-rows = -1.0").contains("clip-rows: must be a positive"));
    assert!(say("file = \"a.csv\"\ndelimiter = \"ab\"").contains("one ASCII character"));
    let one = "file = \"a.csv\"\nothers = \"number\"\nscaling = \"none\"\nholdout = 1";
    assert!(say(one).contains("holdout: 1 of 1 records cannot be held out"));
    let twice = "file = \"a.csv\"\ncolumns = [{ name = \"a\", kind = \"category\", \
                 values = [\"1\", \"1\"] }]";
    assert!(say(twice).contains("\"1\" is listed twice"));
    assert!(toml::from_str::<Recipe>("clip-row = 1.0").is_err());
}

#[test]
fn what_is_clamped_dropped_and_assumed_is_counted() {
    let rows = "age,city,happy\n30,Kobe,yes\n150,Oslo,no\n?,Oslo,no\n-200,,yes\n";
    let sources = Sources::new([folder("counted", &[("people.csv", rows.as_bytes())])]);
    let load = |text: &str| {
        let recipe: Recipe = toml::from_str(&format!("file = \"people.csv\"\n{text}")).unwrap();
        load::<f32>(&recipe, &sources).unwrap()
    };
    let dropped = load(&format!("missing = \"drop\"\n{PEOPLE}"));
    let counts = &dropped.summary.train;
    assert_eq!((counts.read, counts.dropped, counts.missing, counts.clamped), (4, 2, 2, 2));
    let kept = load(&format!("missing = \"category\"\n{PEOPLE}"));
    assert_eq!((kept.train.records(), kept.train.width()), (4, 4));
    assert_eq!(kept.summary.features[3], "city=(missing)");
    assert_eq!(kept.train.dense_row(3).unwrap(), [-1.0, 0.0, 0.0, 1.0]);
    let learned = load(
        "missing = \"zero\"\nscaling = \"from-data\"\n\
         columns = [{ name = \"age\", kind = \"number\" \
         }, { name = \"city\", kind = \"category\" }, { name = \"happy\", kind = \"target\" }]",
    );
    let assumed = &learned.summary.public_assumptions;
    assert_eq!(assumed.len(), 3, "{assumed:?}");
    assert!(assumed[0].contains("the scale of \"age\" was computed from the data (200)"));
    assert!(assumed[2].contains("2 classes"));
    assert_eq!(learned.train.dense_row(1).unwrap(), [0.75, 0.0, 1.0]);
}

#[test]
fn arrays_of_an_archive_are_read_with_their_labels() {
    let x = npy("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }", &{
        let columns = [1.0_f64, 2.0, 3.0, 4.0];
        columns.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>()
    });
    let sources = Sources::new([folder("arrays", &[("x.npy", &x)])]);
    let recipe: Recipe = toml::from_str("file = \"x.npy\"\nmax = 2.0").unwrap();
    let loaded = load::<f64>(&recipe, &sources).unwrap();
    assert_eq!(loaded.train.dense_row(0).unwrap(), [0.5, 1.0]);
    assert_eq!(loaded.train.dense_row(1).unwrap(), [1.0, 1.0]);
    assert_eq!(loaded.summary.train.clamped, 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_bytes_make_a_decoder_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        magic in 0_usize..8,
    ) {
        let starts: [&[u8]; 8] = [
            b"", b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"\0\0\x08\x02", b"\x1f\x8b\x08\x00",
            b"\xfd7zXZ\0\0\x01", b"1 1:", b"__label__",
        ];
        let bytes = [starts[magic], &bytes[..]].concat();
        let _ = undertone_data::npy::parse(&bytes);
        let _ = undertone_data::idx::parse(&bytes);
        let _ = undertone_data::cifar::parse(&bytes);
        let _ = undertone_data::tar::members(&bytes);
        let _ = undertone_data::libsvm::each(&bytes, |_, _, _| Ok(()));
        let _ = undertone_data::unpack(&bytes, 1 << 20);
        if let Ok(members) = undertone_data::zip::members(&bytes) {
            members.iter().for_each(|member| drop(member.read(1 << 20)));
        }
        let text = String::from_utf8_lossy(&bytes);
        let _ = undertone_data::words::python_list(&text);
        undertone_data::words::bag(&text, 7);
    }

    #[test]
    fn no_file_makes_the_guess_or_the_load_panic(
        bytes in prop::collection::vec(any::<u8>(), 1..200),
    ) {
        let sources = Sources::only("any", bytes);
        if let Ok(guess) = guess("any", &sources) {
            let _ = load::<f32>(&guess.recipe, &sources);
        }
    }

    #[test]
    fn tables_of_numbers_are_read_as_written(
        rows in prop::collection::vec(prop::collection::vec(-1e6_f64..1e6, 3), 1..20),
    ) {
        let line = |row: &Vec<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(";");
        let text: String = rows.iter().map(|row| line(row) + "\n").collect();
        let sources = Sources::only("t.csv", text.into_bytes());
        let recipe: Recipe = toml::from_str(
            "file = \"t.csv\"\nheader = false\ndelimiter = \";\"\nscaling = \"none\"\n\
             columns = [{ name = \"x\", kind = \"number\", repeat = 3 }]",
        ).unwrap();
        let loaded = load::<f64>(&recipe, &sources).unwrap();
        for (record, row) in rows.iter().enumerate() {
            prop_assert_eq!(loaded.train.dense_row(record).unwrap(), &row[..]);
        }
    }

    #[test]
    fn libsvm_is_read_as_written(
        rows in prop::collection::vec(
            prop::collection::btree_map(1_u32..50, -9.0_f64..9.0, 0..9),
            1..20,
        ),
    ) {
        let line = |row: &BTreeMap<u32, f64>| {
            row.iter().fold("1".to_string(), |line, (k, v)| format!("{line} {k}:{v}")) + "\n"
        };
        let text: String = rows.iter().map(line).collect();
        let mut read: Vec<BTreeMap<u32, f64>> = Vec::new();
        undertone_data::libsvm::each(text.as_bytes(), |_, _, features| {
            read.push(features.iter().map(|(k, v)| (k + 1, *v)).collect());
            Ok(())
        }).unwrap();
        prop_assert_eq!(read, rows);
    }
}
