//! Columns of Parquet files, for the loaders of data sets.
//! It never knows a recipe, and never needs Arrow.
//!
//! A crate of its own, because what it builds on takes longer to compile than all of ours.
//!
//! ```
//! let fault = undertone_parquet::columns(b"PAR1, but not really").unwrap_err();
//! assert!(fault.message.contains("Parquet"));
//! ```

#![deny(missing_docs)]

use bytes::Bytes;
use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{AsBytes, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use undertone_data::{Cells, Column, Fault};

/// More cells than this are refused: a small file can stand for any number of them.
const MOST_CELLS: u64 = 1 << 29;

/// Rows that are decoded at once.
const CHUNK: usize = 8192;

/// All columns of a file. Numbers and booleans become numbers, strings become words; lists, nested
/// columns and decimals are refused.
///
/// The library that decodes pages panics on some damaged ones; such a panic is caught here and is
/// an error like any other, though the panic hook has spoken already.
pub fn columns(bytes: &[u8]) -> Result<Vec<Column>, Fault> {
    std::panic::catch_unwind(|| decode(bytes)).unwrap_or_else(|_| {
        Err(Fault::new("cannot be read as Parquet: a page is damaged; fetch the file again"))
    })
}

fn decode(bytes: &[u8]) -> Result<Vec<Column>, Fault> {
    let file = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).map_err(broken)?;
    let metadata = file.metadata();
    let schema = metadata.file_metadata().schema_descr_ptr();
    let groups = metadata.row_groups();
    let rows = groups.iter().try_fold(0_u64, |all, group| {
        u64::try_from(group.num_rows()).ok().and_then(|rows| all.checked_add(rows))
    });
    let cells = rows.and_then(|rows| rows.checked_mul(schema.num_columns() as u64));
    if cells.is_none_or(|cells| cells > MOST_CELLS) {
        let what = format!("holds more than {MOST_CELLS} cells; split the Parquet file");
        return Err(Fault::new(what));
    }
    let mut columns = Vec::new();
    for index in 0..schema.num_columns() {
        let description = schema.column(index);
        let name = description.path().string();
        let fault = |why: String| Fault::new(why).column(name.as_str());
        let mut cells = empty(&description).map_err(fault)?;
        for (number, group) in groups.iter().enumerate() {
            let reader = file.get_row_group(number).and_then(|g| g.get_column_reader(index));
            let before = cells.len();
            read(reader.map_err(broken)?, description.max_def_level(), &mut cells)
                .map_err(|why| fault(why.replace('\n', " ")))?;
            let expected = group.num_rows();
            if (cells.len() - before) as i64 != expected {
                let found = cells.len() - before;
                return Err(fault(format!("expected {expected} values, found {found}")));
            }
        }
        columns.push(Column { name, cells });
    }
    Ok(columns)
}

fn broken(error: ParquetError) -> Fault {
    let why = error.to_string().replace('\n', " ");
    Fault::new(format!("cannot be read as Parquet ({why}); fetch the file again"))
}

fn empty(column: &ColumnDescriptor) -> Result<Cells, String> {
    use parquet::basic::Type;
    if column.max_rep_level() > 0 {
        return Err("holds lists; only plain columns are read".into());
    }
    let decimal = matches!(column.logical_type_ref(), Some(LogicalType::Decimal { .. }));
    if decimal || column.converted_type() == ConvertedType::DECIMAL {
        return Err("holds decimals; save them as doubles".into());
    }
    match column.physical_type() {
        Type::INT96 => Err("holds times of 96 bits; save them as integers".into()),
        Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => Ok(Cells::Words(Vec::new())),
        _ => Ok(Cells::Numbers(Vec::new())),
    }
}

fn read(reader: ColumnReader, present: i16, cells: &mut Cells) -> Result<(), String> {
    match (reader, cells) {
        (ColumnReader::BoolColumnReader(reader), Cells::Numbers(cells)) => {
            drain(reader, present, cells, |value| Ok(f64::from(u8::from(*value))))
        }
        (ColumnReader::Int32ColumnReader(reader), Cells::Numbers(cells)) => {
            drain(reader, present, cells, |value| Ok(f64::from(*value)))
        }
        (ColumnReader::Int64ColumnReader(reader), Cells::Numbers(cells)) => {
            drain(reader, present, cells, |value| Ok(*value as f64))
        }
        (ColumnReader::FloatColumnReader(reader), Cells::Numbers(cells)) => {
            drain(reader, present, cells, |value| Ok(f64::from(*value)))
        }
        (ColumnReader::DoubleColumnReader(reader), Cells::Numbers(cells)) => {
            drain(reader, present, cells, |value| Ok(*value))
        }
        (ColumnReader::ByteArrayColumnReader(reader), Cells::Words(cells)) => {
            drain(reader, present, cells, |value| text(value.as_bytes()))
        }
        (ColumnReader::FixedLenByteArrayColumnReader(reader), Cells::Words(cells)) => {
            drain(reader, present, cells, |value| text(value.as_bytes()))
        }
        _ => Err("is not of the kind that the schema says".into()),
    }
}

fn text(bytes: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "holds a word that is not UTF-8 text")?;
    Ok(text.into())
}

/// Everything a reader has; a value is there where its level is `present`.
fn drain<T: DataType, V>(
    mut reader: ColumnReaderImpl<T>,
    present: i16,
    cells: &mut Vec<Option<V>>,
    convert: impl Fn(&T::T) -> Result<V, String>,
) -> Result<(), String> {
    loop {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let read = reader.read_records(CHUNK, Some(&mut levels), None, &mut values);
        let (records, _, _) = read.map_err(|error| error.to_string())?;
        if records == 0 {
            return Ok(());
        }
        let mut values = values.iter();
        for record in 0..records {
            let there = levels.get(record).is_none_or(|level| *level == present);
            let value = if there { values.next().map(&convert).transpose()? } else { None };
            cells.push(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    fn file() -> Vec<u8> {
        let message = "message people { required double age; optional binary city (UTF8); }";
        let schema = Arc::new(parse_message_type(message).expect("a schema"));
        let properties = Arc::new(WriterProperties::builder().build());
        let mut out = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut out, schema, properties).expect("memory");
        let mut group = writer.next_row_group().expect("memory");
        let mut column = group.next_column().expect("memory").expect("age");
        let ages = [30.0, 60.0, 90.0];
        column.typed::<DoubleType>().write_batch(&ages, None, None).expect("memory");
        column.close().expect("memory");
        let mut column = group.next_column().expect("memory").expect("city");
        let cities = [ByteArray::from("Kobe"), ByteArray::from("Oslo")];
        let levels = Some(&[1, 0, 1][..]);
        column.typed::<ByteArrayType>().write_batch(&cities, levels, None).expect("memory");
        column.close().expect("memory");
        group.close().expect("memory");
        writer.close().expect("memory");
        out
    }

    #[test]
    fn what_was_written_is_read() {
        let columns = columns(&file()).expect("two columns");
        assert_eq!(columns[0].name, "age");
        assert_eq!(columns[0].cells, Cells::Numbers(vec![Some(30.0), Some(60.0), Some(90.0)]));
        let cities = vec![Some("Kobe".into()), None, Some("Oslo".into())];
        assert_eq!(columns[1].cells, Cells::Words(cities));
    }

    #[test]
    fn damage_is_an_error() {
        let whole = file();
        for length in 0..whole.len() {
            assert!(columns(&whole[..length]).is_err(), "{length}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            let _ = columns(&damaged);
        }
    }
}
