//! Tables as text.

/// A table in Markdown, its columns aligned so that it reads well as it is.
pub fn markdown(header: &[&str], rows: &[Vec<String>]) -> String {
    let clean = |cell: &str| cell.replace('|', "\\|").replace('\n', " ");
    let header: Vec<String> = header.iter().map(|cell| clean(cell)).collect();
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| clean(cell)).collect()).collect();
    let width = |column: usize| {
        let cells = std::iter::once(&header).chain(&rows).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(3)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |row: &[String]| {
        let empty = String::new();
        let cells = widths.iter().enumerate().map(|(column, width)| {
            let cell = row.get(column).unwrap_or(&empty);
            format!(" {cell:width$} |")
        });
        format!("|{}\n", cells.collect::<String>())
    };
    let rule: String = widths.iter().map(|width| format!("{}|", "-".repeat(width + 2))).collect();
    let body: String = rows.iter().map(|row| line(row)).collect();
    format!("{}|{rule}\n{body}", line(&header))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_bars_escaped() {
        let rows = vec![vec!["a".into(), "1.5".into()], vec!["long|er".into()]];
        let expected = "\
| name     | value |
|----------|-------|
| a        | 1.5   |
| long\\|er |       |
";
        assert_eq!(markdown(&["name", "value"], &rows), expected);
    }
}
