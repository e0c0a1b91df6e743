//! People as a census sees them, and whether they earn much.

use undertone_real::Real;

use super::{Source, Stream};
use crate::dataset::{Dataset, Features, Targets};

/// How many values each category has: work, degree, marriage, occupation, household, race, sex and
/// region.
const CATEGORIES: [usize; 8] = [8, 16, 7, 14, 6, 5, 2, 41];
/// Age, survey weight, education, gains, losses and hours.
const NUMBERS: usize = 6;
const WIDTH: usize = 105;
/// Keeps the norm of a row below one: 8 ones and 6 numbers below one make 14.
const SCALE: f64 = 0.267;

/// A table like those of a census: 105 features of which most are indicators, with rows of norm at
/// most one, and as sign whether the income is high, which it is for a quarter. The group is the
/// sex, 1 for men, who are two thirds. Panics if there is no record.
///
/// With a `bias` of 0 income does not depend on sex. With 1 men have a high income much more often,
/// directly and through hours and occupation, so that leaving out the sex does not mend it.
///
/// Everybody is made up, and no number was fitted to a real table.
pub fn census<R: Real>(seed: u64, records: usize, bias: f64) -> Dataset<R> {
    assert!(records > 0, "a census is of somebody");
    let mut source = Source::named(seed, Stream::Census);
    let mut values = Vec::with_capacity(records * WIDTH);
    let (mut signs, mut groups) = (Vec::new(), Vec::new());
    for _ in 0..records {
        let person = Person::draw(bias, &mut source);
        let first = values.len();
        values.resize(first + WIDTH, R::ZERO);
        person.describe(&mut values[first..]);
        signs.push(if person.high_income { R::ONE } else { -R::ONE });
        groups.push(u32::from(person.male));
    }
    Dataset::new(Features::Dense { width: WIDTH, values }, Targets::Sign(signs))
        .and_then(|data| data.with_groups(groups))
        .expect("a sign and a group a record")
}

/// The same people as a table of words and numbers, in CSV with a header, for whoever wants to see
/// or encode them: age, hours, education, work, marriage, occupation, household and sex, and
/// whether the income is `high` or `low`. What says nothing about incomes is left out.
pub fn census_csv(seed: u64, records: usize, bias: f64) -> String {
    let mut source = Source::named(seed, Stream::Census);
    let mut text =
        String::from("age,hours,education,gain,work,marriage,occupation,household,sex,income\n");
    for _ in 0..records {
        let Person { numbers, categories, male, high_income } = Person::draw(bias, &mut source);
        let [age, _, education, gain, _, hours] = numbers;
        let [work, _, marriage, occupation, household, ..] = categories;
        text.push_str(&format!(
            "{:.0},{:.0},{:.0},{:.0},{},{},job-{},{},{},{}\n",
            17.0 + 73.0 * age,
            99.0 * hours,
            1.0 + 15.0 * education,
            10_000.0 * gain,
            WORK[work],
            MARRIAGE[marriage],
            occupation + 1,
            HOUSEHOLD[household],
            if male { "male" } else { "female" },
            if high_income { "high" } else { "low" },
        ));
    }
    text
}

const WORK: [&str; 8] =
    ["private", "self", "company", "local", "state", "federal", "family", "none"];
const MARRIAGE: [&str; 7] =
    ["married", "never", "divorced", "widowed", "apart", "absent", "military"];
const HOUSEHOLD: [&str; 6] = ["couple", "alone", "child", "parents", "relative", "shared"];

struct Person {
    numbers: [f64; NUMBERS],
    categories: [usize; 8],
    male: bool,
    high_income: bool,
}

impl Person {
    fn draw(bias: f64, source: &mut Source) -> Self {
        let male = source.happens(2.0 / 3.0);
        // On average zero, so that the bias does not change how many incomes are high.
        let tilt = bias * if male { 1.0 / 3.0 } else { -2.0 / 3.0 };
        let age = (38.5 + 13.5 * source.gaussian()).clamp(17.0, 90.0);
        let education = (10.0 + 2.6 * source.gaussian()).round().clamp(1.0, 16.0);
        let usual = source.happens(0.45);
        let overtime = 14.0 * source.gaussian();
        let hours = if usual { 40.0 } else { 40.0 + overtime } + 6.0 * tilt;
        let hours = hours.clamp(1.0, 99.0);
        let pay = (education - 10.0) / 5.0 + 0.6 * source.gaussian() + 0.5 * tilt;
        let occupation = (7.0 + 3.5 * pay).floor().clamp(0.0, 13.0);
        let married = source.happens(0.62 * logistic((age - 27.0) / 5.0));
        let marriage = if married {
            0
        } else {
            1 + source.one_of(&[60.0, 0.8 * age, 0.1 * age, 4.0, 3.0, 1.0])
        };
        let household = if married { 0 } else { 1 + source.one_of(&[4.0, 3.0, 5.0, 2.0, 1.0]) };
        let work = source.one_of(&[70.0, 8.0, 7.0, 4.0, 4.0, 3.0, 3.0, 1.0]);
        let race = source.one_of(&[85.0, 10.0, 3.0, 1.0, 1.0]);
        let region = if source.happens(0.9) { 0 } else { 1 + source.below(CATEGORIES[7] - 1) };
        let gain =
            if source.happens(0.08) { libm::exp(-2.0 + 0.8 * source.gaussian()) } else { 0.0 };
        let gain = gain.min(1.0);
        let loss = if source.happens(0.05) { 0.45 + 0.1 * source.gaussian() } else { 0.0 };
        let loss = loss.clamp(0.0, 1.0);
        let years = (age - 38.5) / 13.5;
        let score =
            0.8 * (education - 10.0) / 2.6 + 2.4 * if married { 1.0 } else { 0.0 } + 0.5 * years
                - 0.3 * years * years
                + 0.4 * (hours - 40.0) / 12.0
                + 0.2 * (occupation - 6.5)
                + 7.0 * gain
                + 2.0 * loss
                + 2.4 * tilt;
        let high_income = source.happens(logistic(1.1 * (score - 2.85)));
        let weight = source.unit();
        let numbers =
            [(age - 17.0) / 73.0, weight, (education - 1.0) / 15.0, gain, loss, hours / 99.0];
        let degree = education as usize - 1;
        let (occupation, sex) = (occupation as usize, usize::from(male));
        let categories = [work, degree, marriage, occupation, household, race, sex, region];
        Self { numbers, categories, male, high_income }
    }

    /// Writes the features over zeros.
    fn describe<R: Real>(&self, out: &mut [R]) {
        for (out, v) in out.iter_mut().zip(self.numbers) {
            *out = R::from_f64(SCALE * v);
        }
        let mut first = NUMBERS;
        for (count, value) in CATEGORIES.into_iter().zip(self.categories) {
            out[first + value] = R::from_f64(SCALE);
            first += count;
        }
    }
}

fn logistic(t: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-t))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Target;

    #[test]
    fn the_table_shows_the_same_people() {
        let (data, table) = (census::<f64>(3, 50, 0.5), census_csv(3, 50, 0.5));
        assert_eq!(table.lines().count(), 51);
        for (record, line) in table.lines().skip(1).enumerate() {
            let cells: Vec<&str> = line.split(',').collect();
            let high = data.target(record) == Target::Sign(1.0);
            assert_eq!(cells[9], if high { "high" } else { "low" });
            let age = 17.0 + 73.0 * data.dense_row(record).unwrap()[0] / SCALE;
            assert!((cells[0].parse::<f64>().unwrap() - age).abs() <= 0.5 + 1e-9);
            assert_eq!(data.groups().unwrap()[record] == 1, cells[8] == "male");
        }
    }
}
