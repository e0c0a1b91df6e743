//! Charts as letters, for terminals.

use crate::axis::Axis;
use crate::chart::Chart;

/// Marks of series, the first drawn on top.
const MARKS: [char; 8] = ['o', 'x', '+', '*', '#', '@', '%', '&'];

impl Chart {
    /// The chart in so many columns and rows of letters, with a legend below.
    pub fn to_text(&self, columns: usize, rows: usize) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = Axis::around(points().map(|p| p.0), self.log_x);
        let y = Axis::around(points().map(|p| p.1), self.log_y);
        let (Some(x), Some(y)) = (x, y) else { return "nothing to show\n".into() };
        let (columns, rows) = (columns.max(8), rows.max(3));
        let mut cells = vec![vec![' '; columns]; rows];
        let place = |share: f64, count: usize| (share * (count - 1) as f64).round() as usize;
        for (index, series) in self.series.iter().enumerate().rev() {
            for (at, value) in &series.points {
                let Some((column, row)) = x.place(*at).zip(y.place(*value)) else { continue };
                cells[rows - 1 - place(row, rows)][place(column, columns)] =
                    MARKS[index % MARKS.len()];
            }
        }
        let label = |axis: &Axis, row: usize, count: usize| {
            let ticks = axis.ticks(7).into_iter().rev();
            let mut here = ticks.filter(|(value, _)| {
                axis.place(*value)
                    .is_some_and(|p| (0.0..=1.0).contains(&p) && place(p, count) == row)
            });
            here.next().map(|(_, word)| word)
        };
        let sides: Vec<_> =
            (0..rows).map(|row| label(&y, rows - 1 - row, rows).unwrap_or_default()).collect();
        let width = sides.iter().map(|side| side.chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        for (side, row) in sides.iter().zip(&cells) {
            let row: String = row.iter().collect();
            text.push_str(&format!("{side:>width$} |{}\n", row.trim_end()));
        }
        text.push_str(&format!("{:width$} +{}\n", "", "-".repeat(columns)));
        let mut below = vec![' '; columns + 8];
        for column in 0..columns {
            let Some(word) = label(&x, column, columns) else { continue };
            for (k, letter) in word.chars().enumerate().take(columns + 8 - column) {
                below[column + k] = letter;
            }
        }
        let below: String = below.iter().collect();
        text.push_str(&format!("{:width$}  {}  {}\n", "", below.trim_end(), self.x));
        for (index, series) in self.series.iter().enumerate() {
            text.push_str(&format!("  {} {}\n", MARKS[index % MARKS.len()], series.name));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use crate::{Chart, Series};

    #[test]
    fn points_are_where_they_belong() {
        let series = |name: &str, points: &[(f64, f64)]| Series {
            name: name.into(),
            points: points.to_vec(),
            band: Vec::new(),
        };
        let chart = Chart {
            title: "t".into(),
            x: "rounds".into(),
            y: "y".into(),
            log_x: true,
            log_y: false,
            series: vec![
                series("a", &[(1.0, 0.0), (100.0, 4.0), (10.0, f64::NAN)]),
                series("b", &[(10.0, 2.0)]),
            ],
        };
        let expected = "\
4 |        o
3 |
2 |    x
1 |
0 |o
  +---------
   1   10  100  rounds
  o a
  x b
";
        assert_eq!(chart.to_text(9, 5), expected);
    }

    #[test]
    fn nothing_is_said_to_be_nothing() {
        let (title, x, y) = (String::new(), String::new(), String::new());
        let chart = Chart { title, x, y, log_x: false, log_y: false, series: Vec::new() };
        assert_eq!(chart.to_text(20, 5), "nothing to show\n");
    }
}
