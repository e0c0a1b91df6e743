//! How good scores are, as fractions that people know. Each is NaN where there is nothing to count.

use undertone_real::Real;

use crate::dataset::Target;
use crate::objective::Batch;

/// The share of records whose sign or class is predicted. Of equal scores the first class counts;
/// a score of zero says minus one. Panics if the target is of another kind.
pub fn accuracy<R: Real>(scores: &[R], batch: Batch<'_, R>) -> f64 {
    let right = rows(scores, batch).filter(|(scores, target)| match target {
        Target::Sign(y) => (scores[0] > R::ZERO) == (*y > R::ZERO),
        Target::Class(class) => first_greatest(scores) == *class as usize,
        _ => panic!("accuracy is of signs and classes"),
    });
    right.count() as f64 / batch.len() as f64
}

/// The share of present tags that are among the `k` with the highest scores of their record. Panics
/// if the targets are not tags.
pub fn recall_at<R: Real>(k: usize, scores: &[R], batch: Batch<'_, R>) -> f64 {
    let (mut found, mut present) = (0, 0);
    for (scores, target) in rows(scores, batch) {
        let tags = tags(target);
        present += tags.len();
        found += tags.iter().filter(|tag| rank(scores, **tag as usize) < k).count();
    }
    found as f64 / present as f64
}

/// Twice the tags that are rightly said to be present, over those said to be and those that are;
/// a positive score says so. Panics if the targets are not tags.
pub fn micro_f1<R: Real>(scores: &[R], batch: Batch<'_, R>) -> f64 {
    let (mut right, mut either) = (0, 0);
    for (scores, target) in rows(scores, batch) {
        let tags = tags(target);
        either += tags.len() + scores.iter().filter(|s| **s > R::ZERO).count();
        right += tags.iter().filter(|tag| scores[**tag as usize] > R::ZERO).count();
    }
    (2 * right) as f64 / either as f64
}

/// The mean of the squared errors. Panics if the targets are not numbers.
pub fn mean_squared_error<R: Real>(scores: &[R], batch: Batch<'_, R>) -> f64 {
    let squares = rows(scores, batch).map(|(scores, target)| match target {
        Target::Real(y) => (scores[0].to_f64() - y.to_f64()).powi(2),
        _ => panic!("a squared error is of numbers"),
    });
    squares.sum::<f64>() / batch.len() as f64
}

/// By how much more often group 1 is predicted to be positive than group 0. NaN if a group is
/// empty. Panics if records have no groups.
///
/// # References
///
/// Calders and Verwer 2010.
pub fn risk_difference<R: Real>(scores: &[R], batch: Batch<'_, R>) -> f64 {
    let groups = batch.data().groups().expect("the caller asks only where there are groups");
    let mut counts = [[0.0; 2]; 2];
    for (record, score) in batch.iter().zip(scores) {
        if let Some(count) = counts.get_mut(groups[record] as usize) {
            count[usize::from(*score > R::ZERO)] += 1.0;
        }
    }
    let [first, second] = counts.map(|[no, yes]| yes / (no + yes));
    second - first
}

fn rows<'a, R: Real>(
    scores: &'a [R],
    batch: Batch<'a, R>,
) -> impl Iterator<Item = (&'a [R], Target<'a, R>)> {
    let outputs = (scores.len() / batch.len().max(1)).max(1);
    let targets = (0..batch.len()).map(move |position| batch.target(position));
    scores.chunks_exact(outputs).zip(targets)
}

fn tags<R>(target: Target<'_, R>) -> &[u32] {
    match target {
        Target::Tags(tags) => tags,
        _ => panic!("a recall or an F1 is of tags"),
    }
}

fn first_greatest<R: Real>(scores: &[R]) -> usize {
    (1..scores.len()).fold(0, |best, k| if scores[k] > scores[best] { k } else { best })
}

/// How many scores come before that of one tag.
fn rank<R: Real>(scores: &[R], tag: usize) -> usize {
    let before = |(k, s): &(usize, &R)| **s > scores[tag] || (**s == scores[tag] && *k < tag);
    scores.iter().enumerate().filter(before).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Dataset, Features, Targets};

    fn data(targets: Targets<f64>, records: usize) -> Dataset<f64> {
        Dataset::new(Features::Dense { width: 1, values: vec![0.0; records] }, targets).unwrap()
    }

    #[test]
    fn they_count_what_they_say() {
        let signs = data(Targets::Sign(vec![1.0, -1.0, 1.0, -1.0]), 4);
        assert_eq!(accuracy(&[0.1, -3.0, -1.0, 0.0], Batch::all(&signs)), 0.75);
        let classes = data(Targets::Class { classes: 3, of: vec![0, 2] }, 2);
        assert_eq!(accuracy(&[1.0, 1.0, 0.0, 0.0, 2.0, 1.0], Batch::all(&classes)), 0.5);
        let numbers = data(Targets::Real(vec![1.0, 2.0]), 2);
        assert_eq!(mean_squared_error(&[2.0, 4.0], Batch::all(&numbers)), 2.5);
        let tags = Targets::Tags { tags: 3, starts: vec![0, 2, 2, 3], of: vec![0, 2, 1] };
        let tags = data(tags, 3);
        let scores = [3.0, 2.0, -1.0, 1.0, -1.0, -2.0, -3.0, 0.5, -2.0];
        assert_eq!(recall_at(1, &scores, Batch::all(&tags)), 2.0 / 3.0);
        assert_eq!(recall_at(3, &scores, Batch::all(&tags)), 1.0);
        // Four are said to be present, two rightly; three are.
        assert_eq!(micro_f1(&scores, Batch::all(&tags)), 4.0 / 7.0);
        let signs = signs.with_groups(vec![0, 0, 1, 1]).unwrap();
        assert_eq!(risk_difference(&[-1.0, -1.0, 1.0, -1.0], Batch::all(&signs)), 0.5);
        assert!(accuracy(&[], Batch::of(&signs, &[])).is_nan());
    }
}
