//! Real data sets, where `UNDERTONE_DATA` names a folder that has them.
use std::path::PathBuf;
use std::time::Instant;

use undertone_data::{Loaded, Recipe, Sources, VARIABLE, guess, load};
use undertone_model::dataset::{Dataset, Features, Target, Targets};

fn sources(what: &str) -> Option<Sources> {
    let Some(folder) = std::env::var_os(VARIABLE).map(PathBuf::from) else {
        println!("skipped {what}: {VARIABLE} is not set");
        return None;
    };
    Some(Sources::new([folder]))
}

fn read(name: &str) -> Option<Loaded<f32>> {
    let sources = sources(name)?;
    let recipe = Recipe { recipe: Some(name.into()), ..Recipe::default() };
    Some(timed(name, &recipe, &sources))
}

fn timed(name: &str, recipe: &Recipe, sources: &Sources) -> Loaded<f32> {
    let start = Instant::now();
    let loaded = load::<f32>(recipe, sources).unwrap_or_else(|error| panic!("{error}"));
    println!("{name}: {:.3} s", start.elapsed().as_secs_f64());
    loaded
}

/// How many records there are of each class, or of -1 and 1.
fn balance(data: &Dataset<f32>) -> Vec<usize> {
    match data.targets() {
        Targets::Sign(signs) => {
            let positive = signs.iter().filter(|sign| **sign == 1.0).count();
            vec![signs.len() - positive, positive]
        }
        Targets::Class { classes, of } => {
            (0..*classes).map(|class| of.iter().filter(|c| **c == class).count()).collect()
        }
        Targets::Tags { tags, of, .. } => {
            (0..*tags).map(|tag| of.iter().filter(|t| **t == tag).count()).collect()
        }
        Targets::None | Targets::Real(_) => Vec::new(),
    }
}

fn largest_norm(data: &Dataset<f32>) -> f64 {
    let norm = |row: &[f32]| row.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
    let norms = (0..data.records()).map(|record| match data.features() {
        Features::Dense { width, values } => norm(&values[record * width..][..*width]),
        Features::Sparse { starts, values, .. } => {
            norm(&values[starts[record]..starts[record + 1]])
        }
    });
    norms.fold(0.0, f64::max)
}

fn bounded(loaded: &Loaded<f32>) {
    for data in std::iter::once(&loaded.train).chain(&loaded.test) {
        assert!(largest_norm(data) <= 1.0, "{}", largest_norm(data));
    }
}

#[test]
fn adult_has_105_or_41_features() {
    let Some(adult) = read("adult-105") else { return };
    let test = adult.test.as_ref().unwrap();
    assert_eq!((adult.train.width(), adult.train.records(), test.records()), (105, 30_162, 15_060));
    assert_eq!((adult.summary.train.read, adult.summary.train.dropped), (32_561, 2_399));
    assert_eq!(balance(&adult.train).iter().sum::<usize>(), 30_162);
    assert_eq!(adult.summary.train.clamped, 0);
    assert!(adult.summary.public_assumptions.is_empty());
    assert_eq!(adult.summary.features.len(), 105);
    bounded(&adult);
    let adult = read("adult-41").unwrap();
    assert_eq!((adult.train.width(), adult.train.records()), (41, 32_561));
    assert_eq!(balance(&adult.train), [24_720, 7_841]);
    assert_eq!(balance(adult.test.as_ref().unwrap()), [12_435, 3_846]);
    bounded(&adult);
    let fair = read("adult-fair").unwrap();
    assert_eq!((fair.train.width(), fair.summary.groups.len()), (103, 2));
    assert_eq!(fair.train.groups().unwrap().len(), 30_162);
}

#[test]
fn images_have_their_classes() {
    let Some(mnist) = read("mnist") else { return };
    let counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949];
    assert_eq!(balance(&mnist.train), counts);
    let counts = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009];
    assert_eq!(balance(mnist.test.as_ref().unwrap()), counts);
    assert_eq!(mnist.train.image(), Some([1, 28, 28]));
    assert_eq!(mnist.train.width(), 784);
    let fashion = read("fashion-mnist").unwrap();
    assert_eq!(balance(&fashion.train), [6000; 10]);
    let recipe = Recipe {
        recipe: Some("cifar-10".into()),
        files: Some(vec!["cifar-10/data_batch_1.bin".into()]),
        test: Some("cifar-10/test_batch.bin".into()),
        ..Recipe::default()
    };
    let cifar = timed("cifar-10, two of six files", &recipe, &sources("cifar-10").unwrap());
    assert_eq!(cifar.train.image(), Some([3, 32, 32]));
    assert_eq!(balance(&cifar.train).iter().sum::<usize>(), 10_000);
    assert_eq!(balance(cifar.test.as_ref().unwrap()), [1000; 10]);
}

#[test]
fn texts_have_their_tags() {
    let Some(stack) = read("stackoverflow-tags") else { return };
    let test = stack.test.as_ref().unwrap();
    assert_eq!((stack.train.records(), test.records()), (25_000, 5_000));
    let both = [balance(&stack.train), balance(test)];
    let count = |tag: &str| {
        let index = stack.summary.targets.iter().position(|name| name == tag).unwrap();
        both[0][index] + both[1][index]
    };
    let counts = ["c#", "javascript", "java", "php", "python"].map(count);
    assert_eq!(counts, [5730, 5641, 5515, 4235, 2724]);
    assert!(stack.summary.public_assumptions.is_empty());
    bounded(&stack);
    let titles = read("stackoverflow-titles20").unwrap();
    assert_eq!(balance(&titles.train), [1000; 20]);
    bounded(&titles);
    let cooking = read("cooking").unwrap();
    let test = cooking.test.as_ref().unwrap();
    assert_eq!((cooking.train.records(), test.records()), (12_404, 3_000));
    assert_eq!(cooking.summary.targets.len(), 736);
    let all: usize = balance(&cooking.train).iter().chain(&balance(test)).sum();
    assert_eq!(all, 35_542);
    assert_eq!(cooking.summary.public_assumptions.len(), 1);
    let Target::Tags(tags) = cooking.train.target(0) else { panic!("tags") };
    let names: Vec<&str> =
        tags.iter().map(|tag| cooking.summary.targets[*tag as usize].as_str()).collect();
    assert_eq!(names, ["cheese", "sauce"]);
}

#[test]
fn libsvm_files_have_their_labels() {
    let Some(a9a) = read("a9a") else { return };
    assert_eq!((balance(&a9a.train), a9a.train.width()), (vec![24_720, 7_841], 123));
    assert_eq!(balance(a9a.test.as_ref().unwrap()), [12_435, 3_846]);
    bounded(&a9a);
    let w8a = read("w8a").unwrap();
    assert_eq!((balance(&w8a.train), w8a.train.width()), (vec![48_270, 1_479], 300));
    let ijcnn = read("ijcnn1").unwrap();
    assert_eq!(balance(&ijcnn.train), [45_137, 4_853]);
    assert_eq!(balance(ijcnn.test.as_ref().unwrap()), [82_989, 8_712]);
    let mushrooms = read("mushrooms").unwrap();
    assert_eq!(balance(&mushrooms.train), [4_208, 3_916]);
}

#[test]
fn small_tables_have_their_classes() {
    let Some(bank) = read("bank-marketing") else { return };
    assert_eq!(balance(&bank.train), [36_548, 4_640]);
    bounded(&bank);
    let german = read("german-credit").unwrap();
    assert_eq!(balance(&german.train), [300, 700]);
    let compas = read("compas").unwrap();
    assert_eq!(compas.summary.train.read, 7_214);
    assert_eq!(compas.summary.groups, ["African-American", "all others"]);
    let count = |data: &Dataset<f32>| data.groups().unwrap().iter().filter(|g| **g == 0).count();
    assert_eq!(count(&compas.train) + count(compas.test.as_ref().unwrap()), 3_696);
    let cancer = read("breast-cancer").unwrap();
    assert_eq!((balance(&cancer.train), cancer.train.width()), (vec![212, 357], 30));
    assert_eq!(cancer.summary.public_assumptions.len(), 30);
    let digits = read("digits").unwrap();
    let counts = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180];
    assert_eq!((balance(&digits.train), digits.train.width()), (counts.to_vec(), 64));
    let cover = read("covtype").unwrap();
    let counts = [1375, 1462, 1262, 1620, 1583, 1349, 1349];
    assert_eq!((balance(&cover.train), cover.train.width()), (counts.to_vec(), 54));
    bounded(&cover);
}

#[test]
fn the_census_is_read_as_sparse_records() {
    let Some(census) = read("census-income") else { return };
    assert_eq!(balance(&census.train), [187_141, 12_382]);
    assert_eq!(balance(census.test.as_ref().unwrap()), [93_576, 6_186]);
    assert!(matches!(census.train.features(), Features::Sparse { .. }));
    bounded(&census);
    let census = read("census-13").unwrap();
    assert_eq!((census.train.width(), census.summary.groups.len()), (13, 2));
    assert_eq!(balance(&census.train), [187_141, 12_382]);
    bounded(&census);
}

#[test]
fn the_survey_has_as_many_in_either_half() {
    let Some(survey) = read("acs-13") else { return };
    assert_eq!((survey.train.width(), survey.summary.train.read), (13, 27_253));
    let kept = survey.train.records() + survey.test.as_ref().unwrap().records();
    assert_eq!(kept, 23_006);
    let [low, high] = balance(&survey.train)[..] else { panic!("two signs") };
    assert!((0.8..1.25).contains(&(low as f64 / high as f64)), "{low} {high}");
    bounded(&survey);
}

#[test]
fn files_without_a_recipe_are_read_somehow() {
    let Some(sources) = sources("guesses") else { return };
    for (file, records, classes) in [
        ("adult/adult.data.gz", 32_561, 2),
        ("bank-marketing/bank-additional-full.csv.gz", 41_188, 2),
        ("digits/digits.csv.gz", 1_797, 10),
        ("covtype-sample/covtype.csv.gz", 10_000, 7),
        ("german-credit/german.data.gz", 1_000, 2),
        ("libsvm/a9a.gz", 32_561, 2),
        ("mnist/t10k-images-idx3-ubyte.gz", 10_000, 10),
        ("cifar-10/test_batch.bin.xz", 10_000, 10),
        ("stackoverflow-tags-hse/validation.tsv.gz", 30_000, 100),
        ("cooking-stackexchange/cooking.stackexchange.tar.gz", 15_404, 736),
    ] {
        let guessed = guess(file, &sources).unwrap_or_else(|error| panic!("{error}"));
        let loaded = timed(file, &guessed.recipe, &sources);
        assert_eq!(loaded.train.records(), records, "{file}");
        assert_eq!(balance(&loaded.train).len(), classes, "{file}");
    }
}
