//! Records in memory: features, what is to be predicted, and groups.

use std::sync::OnceLock;

use prefetch_index::prefetch_index;
use undertone_real::Real;

use crate::row::Row;

/// Records of one node or of all.
#[derive(Clone, PartialEq)]
pub struct Dataset<R> {
    features: Features<R>,
    targets: Targets<R>,
    /// The value of a protected attribute of every record.
    groups: Option<Vec<u32>>,
    /// Channels, height and width, if a record is an image (channel by channel, row by row).
    image: Option<[usize; 3]>,
    norms: Norms,
}

/// At least the squared norms of all records, computed when somebody asks for them.
#[derive(Clone, Default)]
struct Norms(OnceLock<Vec<f64>>);

/// They follow from the features.
impl PartialEq for Norms {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The numbers that a record is described by.
#[derive(Clone, PartialEq)]
pub enum Features<R> {
    /// Records one after the other.
    Dense {
        /// Numbers of a record.
        width: usize,
        /// `records * width` numbers.
        values: Vec<R>,
    },
    /// Only what is not zero.
    Sparse {
        /// Numbers of a record.
        width: usize,
        /// Where each record starts, and where the last ends.
        starts: Vec<usize>,
        /// Increasing within a record, below `width`.
        columns: Vec<u32>,
        /// As many as columns.
        values: Vec<R>,
    },
}

/// What is to be predicted.
#[derive(Clone, PartialEq)]
pub enum Targets<R> {
    /// Nothing: records speak for themselves, as in mean estimation.
    None,
    /// A number.
    Real(Vec<R>),
    /// One or minus one.
    Sign(Vec<R>),
    /// One of some classes.
    Class {
        /// How many there are.
        classes: u32,
        /// Below `classes`.
        of: Vec<u32>,
    },
    /// Any subset of some tags.
    Tags {
        /// How many there are.
        tags: u32,
        /// Where each record's tags start, and where the last ends.
        starts: Vec<usize>,
        /// Increasing within a record, below `tags`.
        of: Vec<u32>,
    },
}

/// What is to be predicted of one record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target<'a, R> {
    /// Nothing.
    None,
    /// A number.
    Real(R),
    /// One or minus one.
    Sign(R),
    /// A class.
    Class(u32),
    /// Tags, increasing.
    Tags(&'a [u32]),
}

/// Why numbers are not a data set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotADataset(String);

impl<R: Real> Dataset<R> {
    /// Checks that all parts speak of the same records.
    pub fn new(features: Features<R>, targets: Targets<R>) -> Result<Self, NotADataset> {
        features.check()?;
        targets.check(features.records())?;
        Ok(Self { features, targets, groups: None, image: None, norms: Norms::default() })
    }

    /// With the value of a protected attribute for every record.
    pub fn with_groups(mut self, groups: Vec<u32>) -> Result<Self, NotADataset> {
        agree("groups", groups.len(), self.records())?;
        self.groups = Some(groups);
        Ok(self)
    }

    /// As images of so many channels, rows and columns.
    pub fn with_image(mut self, image: [usize; 3]) -> Result<Self, NotADataset> {
        agree("pixels", image.iter().product(), self.width())?;
        self.image = Some(image);
        Ok(self)
    }

    /// How many there are.
    pub fn records(&self) -> usize {
        self.features.records()
    }

    /// How many numbers describe a record.
    pub fn width(&self) -> usize {
        match &self.features {
            Features::Dense { width, .. } | Features::Sparse { width, .. } => *width,
        }
    }

    /// All features.
    pub fn features(&self) -> &Features<R> {
        &self.features
    }

    /// All targets.
    pub fn targets(&self) -> &Targets<R> {
        &self.targets
    }

    /// The protected attribute.
    pub fn groups(&self) -> Option<&[u32]> {
        self.groups.as_deref()
    }

    /// Channels, height and width of an image.
    pub fn image(&self) -> Option<[usize; 3]> {
        self.image
    }

    /// What is to be predicted of one record.
    pub fn target(&self, record: usize) -> Target<'_, R> {
        match &self.targets {
            Targets::None => Target::None,
            Targets::Real(values) => Target::Real(values[record]),
            Targets::Sign(values) => Target::Sign(values[record]),
            Targets::Class { of, .. } => Target::Class(of[record]),
            Targets::Tags { starts, of, .. } => {
                Target::Tags(&of[starts[record]..starts[record + 1]])
            }
        }
    }

    /// The features of one record, if they lie in memory as they are.
    pub fn dense_row(&self, record: usize) -> Option<&[R]> {
        match &self.features {
            Features::Dense { width, values } => Some(&values[record * width..][..*width]),
            Features::Sparse { .. } => None,
        }
    }

    /// Asks for what a record of few features is, which will be read soon. Of long records
    /// processors find the rest by themselves.
    pub(crate) fn fetch(&self, record: usize) {
        const LINE: usize = 64;
        const MOST: usize = 16;
        if let Features::Dense { width, values } = &self.features {
            let (line, first, last) =
                (LINE / size_of::<R>(), record * width, (record + 1) * width - 1);
            let end = last.min(first + MOST * line);
            let mut number = first;
            while number < end {
                prefetch_index(values, number);
                number += line;
            }
            prefetch_index(values, last);
        }
        if let Targets::Real(targets) | Targets::Sign(targets) = &self.targets {
            prefetch_index(targets, record);
        }
        if let Some(norms) = self.norms.0.get() {
            prefetch_index(norms, record);
        }
    }

    /// Writes the features of one record.
    pub fn write_row(&self, record: usize, out: &mut [R]) {
        match &self.features {
            Features::Dense { width, values } => {
                out.copy_from_slice(&values[record * width..][..*width]);
            }
            Features::Sparse { starts, columns, values, .. } => {
                out.fill(R::ZERO);
                for k in starts[record]..starts[record + 1] {
                    out[columns[k] as usize] = values[k];
                }
            }
        }
    }

    /// At least the squared norm of every record; infinite or NaN if a number is not finite.
    pub(crate) fn squared_norms(&self) -> &[f64] {
        let norm = |record| Row::of(self, record).squared_norm();
        self.norms.0.get_or_init(|| (0..self.records()).map(norm).collect())
    }

    /// The same in double precision.
    pub fn widened(&self) -> Dataset<f64> {
        let wide = |values: &[R]| values.iter().map(|v| v.to_f64()).collect();
        let features = match &self.features {
            Features::Dense { width, values } => {
                Features::Dense { width: *width, values: wide(values) }
            }
            Features::Sparse { width, starts, columns, values } => Features::Sparse {
                width: *width,
                starts: starts.clone(),
                columns: columns.clone(),
                values: wide(values),
            },
        };
        let targets = match &self.targets {
            Targets::None => Targets::None,
            Targets::Real(values) => Targets::Real(wide(values)),
            Targets::Sign(values) => Targets::Sign(wide(values)),
            Targets::Class { classes, of } => Targets::Class { classes: *classes, of: of.clone() },
            Targets::Tags { tags, starts, of } => {
                Targets::Tags { tags: *tags, starts: starts.clone(), of: of.clone() }
            }
        };
        let (groups, image) = (self.groups.clone(), self.image);
        Dataset { features, targets, groups, image, norms: Norms::default() }
    }

    /// The records with these numbers, in this order.
    pub fn select(&self, records: &[usize]) -> Self {
        Self {
            features: self.features.select(records),
            targets: self.targets.select(records),
            groups: self.groups.as_ref().map(|groups| pick(groups, records)),
            image: self.image,
            norms: match self.norms.0.get() {
                Some(norms) => Norms(pick(norms, records).into()),
                None => Norms::default(),
            },
        }
    }

    /// Computes now what most objectives ask for of every record, so that all that is selected
    /// knows it: whoever deals records to many nodes, again and again, does it once.
    pub fn prepare(&self) {
        self.squared_norms();
    }
}

impl<R: Real> Features<R> {
    fn records(&self) -> usize {
        match self {
            Self::Dense { width, values } => values.len().checked_div(*width).unwrap_or(0),
            Self::Sparse { starts, .. } => starts.len().saturating_sub(1),
        }
    }

    fn check(&self) -> Result<(), NotADataset> {
        match self {
            Self::Dense { width, values } => {
                if *width == 0 || !values.len().is_multiple_of(*width) {
                    let (n, w) = (values.len(), width);
                    return Err(NotADataset(format!("{n} numbers are not whole records of {w}")));
                }
                Ok(())
            }
            Self::Sparse { width, starts, columns, values } => {
                agree("values", values.len(), columns.len())?;
                check_lists("features", *width, starts, columns)
            }
        }
    }

    fn select(&self, records: &[usize]) -> Self {
        match self {
            Self::Dense { width, values } => {
                let rows = records.iter().flat_map(|r| &values[r * width..][..*width]);
                Self::Dense { width: *width, values: rows.copied().collect() }
            }
            Self::Sparse { width, starts, columns, values } => Self::Sparse {
                width: *width,
                starts: starts_of(starts, records),
                columns: pick_lists(starts, columns, records),
                values: pick_lists(starts, values, records),
            },
        }
    }
}

impl<R: Real> Targets<R> {
    fn check(&self, records: usize) -> Result<(), NotADataset> {
        match self {
            Self::None => Ok(()),
            Self::Real(values) => agree("targets", values.len(), records),
            Self::Sign(values) => {
                agree("targets", values.len(), records)?;
                match values.iter().find(|v| **v != R::ONE && **v != -R::ONE) {
                    Some(other) => Err(NotADataset(format!("a sign is 1 or -1, not {other}"))),
                    None => Ok(()),
                }
            }
            Self::Class { classes, of } => {
                agree("targets", of.len(), records)?;
                match of.iter().find(|class| *class >= classes) {
                    Some(class) => Err(NotADataset(format!(
                        "class {class} is not below the number of classes, {classes}"
                    ))),
                    None => Ok(()),
                }
            }
            Self::Tags { tags, starts, of } => {
                agree("targets", starts.len().saturating_sub(1), records)?;
                check_lists("tags", *tags as usize, starts, of)
            }
        }
    }

    fn select(&self, records: &[usize]) -> Self {
        match self {
            Self::None => Self::None,
            Self::Real(values) => Self::Real(pick(values, records)),
            Self::Sign(values) => Self::Sign(pick(values, records)),
            Self::Class { classes, of } => Self::Class { classes: *classes, of: pick(of, records) },
            Self::Tags { tags, starts, of } => Self::Tags {
                tags: *tags,
                starts: starts_of(starts, records),
                of: pick_lists(starts, of, records),
            },
        }
    }
}

fn agree(what: &str, got: usize, wanted: usize) -> Result<(), NotADataset> {
    if got == wanted {
        return Ok(());
    }
    Err(NotADataset(format!("there are {got} {what}, but {wanted} are needed")))
}

/// Lists one after the other, each increasing and below a bound.
fn check_lists(
    what: &str,
    below: usize,
    starts: &[usize],
    items: &[u32],
) -> Result<(), NotADataset> {
    let wrong = |message: &str| Err(NotADataset(format!("{what}: {message}")));
    if starts.first() != Some(&0) || starts.last() != Some(&items.len()) {
        return wrong("starts begin with 0 and end with the number of items");
    }
    for ends in starts.windows(2) {
        if ends[0] > ends[1] {
            return wrong("starts do not increase");
        }
        let list = &items[ends[0]..ends[1]];
        if list.windows(2).any(|w| w[0] >= w[1]) || list.iter().any(|i| *i as usize >= below) {
            return wrong("numbers increase within a record and are below the width");
        }
    }
    Ok(())
}

fn pick<T: Copy>(values: &[T], records: &[usize]) -> Vec<T> {
    records.iter().map(|record| values[*record]).collect()
}

fn starts_of(starts: &[usize], records: &[usize]) -> Vec<usize> {
    let mut end = 0;
    let ends = records.iter().map(|r| {
        end += starts[r + 1] - starts[*r];
        end
    });
    std::iter::once(0).chain(ends).collect()
}

fn pick_lists<T: Copy>(starts: &[usize], items: &[T], records: &[usize]) -> Vec<T> {
    records.iter().flat_map(|r| &items[starts[*r]..starts[r + 1]]).copied().collect()
}
