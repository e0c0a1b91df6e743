//! Arrays: NPY, NPZ, IDX and the images of CIFAR-10.

use undertone_model::dataset::{Dataset, Targets};
use undertone_real::Real;

use super::{Parts, dataset, dense_rows};
use crate::array::{Array, Element, shape_of};
use crate::error::{DataError, Fault, shown};
use crate::recipe::{Format, Recipe};
use crate::rows::{Rows, bytes_by_255};
use crate::sources::Sources;
use crate::summary::{ColumnSummary, Counts};
use crate::target::TargetReader;
use crate::{cifar, idx, npy, zip};

pub(super) fn load<R: Real>(
    recipe: &Recipe,
    format: Format,
    sources: &Sources,
) -> Result<Parts<R>, DataError> {
    let files = recipe.train_files();
    let [file] = &files[..] else {
        return Err(DataError::recipe("files", "arrays are read from one `file`"));
    };
    let place = Place { format, sources };
    let mut targets = TargetReader::new(recipe.target.as_ref())?;
    let train = place.part(file, recipe.member.as_deref(), recipe.labels.as_deref())?;
    let test = match (&recipe.test, &recipe.test_member) {
        (Some(test), _) => {
            Some(place.part(test, recipe.member.as_deref(), recipe.test_labels.as_deref())?)
        }
        (None, Some(member)) => {
            Some(place.part(file, Some(member), recipe.test_labels.as_deref())?)
        }
        (None, None) => None,
    };
    if train.labels.is_none() {
        targets = TargetReader::none();
    }
    let train = train.open::<R>(recipe, &mut targets)?;
    let test = test.map(|part| part.open::<R>(recipe, &mut targets)).transpose()?;
    let (names, learned) = targets.settle();
    let element = train.element;
    let clamped = train.counts.clamped + test.as_ref().map_or(0, |test| test.counts.clamped);
    let train = train.close(&targets)?;
    let test = test.map(|test| test.close(&targets)).transpose()?;
    let (width, shape) = (train.0.width(), train.0.image());
    let kind = element.name().to_string();
    let name = if shape.is_some() { "pixels" } else { "numbers" };
    let column = ColumnSummary { name: name.into(), kind, features: width, missing: 0, clamped };
    Ok(Parts {
        train,
        test,
        columns: vec![column],
        features: Vec::new(),
        targets: names,
        groups: Vec::new(),
        assumptions: learned.into_iter().collect(),
    })
}

/// Images of CIFAR-10 from any number of files.
pub(super) fn cifar<R: Real>(recipe: &Recipe, sources: &Sources) -> Result<Parts<R>, DataError> {
    let part = |files: &[String]| -> Result<(Dataset<R>, Counts), DataError> {
        let mut rows = dense_rows(recipe, cifar::PIXELS);
        let (table, mut of) = (bytes_by_255(), Vec::new());
        for file in files {
            let bytes = sources.read(file)?;
            let fault = |fault: Fault| fault.in_file(file);
            for (class, pixels) in cifar::parse(&bytes).map_err(fault)? {
                rows.push_bytes(pixels, &table);
                of.push(u32::from(class));
            }
        }
        let (read, shortened) = (of.len() as u64, rows.shortened());
        let targets = Targets::Class { classes: cifar::CLASSES.into(), of };
        let images = dataset(&files[0], rows.finish(cifar::PIXELS), targets)?
            .with_image(cifar::IMAGE)
            .expect("the width is that of an image");
        Ok((images, Counts { read, shortened, ..Counts::default() }))
    };
    let (name, kind) = ("pixels".into(), "u8".into());
    let pixels = ColumnSummary { name, kind, features: cifar::PIXELS, missing: 0, clamped: 0 };
    Ok(Parts {
        train: part(&recipe.train_files())?,
        test: recipe.test.as_ref().map(|file| part(std::slice::from_ref(file))).transpose()?,
        columns: vec![pixels],
        features: Vec::new(),
        targets: cifar::NAMES.map(String::from).to_vec(),
        groups: Vec::new(),
        assumptions: Vec::new(),
    })
}

struct Place<'a> {
    format: Format,
    sources: &'a Sources,
}

/// Bytes of records and of labels, with what to call them.
struct Packed {
    format: Format,
    records: (String, Vec<u8>),
    labels: Option<(String, Vec<u8>)>,
}

struct Open<R> {
    file: String,
    rows: Rows<R>,
    width: usize,
    image: Option<[usize; 3]>,
    element: Element,
    targets: Vec<f64>,
    counts: Counts,
}

impl Place<'_> {
    fn part(
        &self,
        file: &str,
        member: Option<&str>,
        labels: Option<&str>,
    ) -> Result<Packed, DataError> {
        let bytes = self.sources.read(file)?;
        let format = self.format;
        if format != Format::Npz {
            let read = |name: &str| Ok((name.to_string(), self.sources.read(name)?));
            let labels = labels.map(read).transpose()?;
            return Ok(Packed { format, records: (file.into(), bytes), labels });
        }
        let archive = zip::members(&bytes).map_err(|fault| fault.in_file(file))?;
        let array = |wanted: &str| -> Result<(String, Vec<u8>), DataError> {
            let stem = |name: &str| name.strip_suffix(".npy").unwrap_or(name).to_string();
            let found = archive.iter().find(|member| stem(&member.name) == wanted);
            let found = found.ok_or_else(|| {
                let names: Vec<String> = archive.iter().map(|m| stem(&m.name)).collect();
                let what = format!("has no array {}; it has {}", shown(wanted), names.join(", "));
                DataError::new(file, what)
            })?;
            let content = found.read(self.sources.limit).map_err(|fault| fault.in_file(file))?;
            Ok((format!("{file}[{wanted}]"), content))
        };
        let records = array(member.unwrap_or("x"))?;
        Ok(Packed { format, records, labels: labels.map(array).transpose()? })
    }
}

impl Packed {
    fn open<R: Real>(
        self,
        recipe: &Recipe,
        targets: &mut TargetReader,
    ) -> Result<Open<R>, DataError> {
        let (file, bytes) = &self.records;
        let array = parse(self.format, bytes).map_err(|fault| fault.in_file(file))?;
        if array.shape().len() < 2 && self.format == Format::Idx {
            let what = "is a list of labels, not records; give it as `labels` of the images";
            return Err(DataError::new(file, what));
        }
        let (records, width) = (array.records(), array.width());
        let mut rows = dense_rows(recipe, width);
        let images = self.format == Format::Idx && array.element() == Element::U8;
        let max = recipe.max.or(images.then_some(255.0));
        let (mut clamped, table) = (0, bytes_by_255());
        for record in 0..records {
            if let Some(bytes) = array.byte_row(record).filter(|_| max == Some(255.0)) {
                rows.push_bytes(bytes, &table);
                continue;
            }
            let numbers = array.row(record).map(|number| match max {
                None => number,
                Some(max) => {
                    clamped += u64::from(number.abs() > max);
                    number.clamp(-max, max) / max
                }
            });
            let pushed = rows.push_all(numbers);
            pushed.map_err(|why| Fault::at(record as u64 + 1, why).in_file(file))?;
        }
        let numbers = match &self.labels {
            None => Vec::new(),
            Some((name, bytes)) => {
                let labels = parse(self.format, bytes).map_err(|fault| fault.in_file(name))?;
                let shape = shape_of(labels.shape());
                if labels.width() != 1 || labels.records() != records {
                    let what =
                        format!("expected {records} labels, one for each record, found {shape}");
                    return Err(DataError::new(name, what));
                }
                (0..records)
                    .map(|record| {
                        let label = labels.row(record).next().unwrap_or_default();
                        let read = targets.read(&label.to_string());
                        read.map_err(|why| Fault::at(record as u64 + 1, why).in_file(name))
                    })
                    .collect::<Result<Vec<f64>, _>>()?
            }
        };
        let image = match array.shape() {
            [_, height, width] => Some([1, *height, *width]),
            _ => None,
        };
        let shortened = rows.shortened();
        let counts = Counts { read: records as u64, clamped, shortened, ..Counts::default() };
        let element = array.element();
        Ok(Open { file: file.clone(), rows, width, image, element, targets: numbers, counts })
    }
}

impl<R: Real> Open<R> {
    fn close(self, targets: &TargetReader) -> Result<(Dataset<R>, Counts), DataError> {
        let targets = targets.finish(&self.targets);
        let dataset = dataset(&self.file, self.rows.finish(self.width), targets)?;
        let dataset = match self.image {
            Some(image) => dataset.with_image(image).expect("the width is that of the shape"),
            None => dataset,
        };
        Ok((dataset, self.counts))
    }
}

fn parse(format: Format, bytes: &[u8]) -> Result<Array<'_>, Fault> {
    if format == Format::Idx { idx::parse(bytes) } else { npy::parse(bytes) }
}
