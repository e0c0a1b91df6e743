//! Small pictures of block characters.

/// One character for each count, the highest for the largest.
pub fn skyline(counts: &[u64]) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let block = |count: &u64| match count {
        0 => BLOCKS[0],
        // Whatever is there is seen.
        count => BLOCKS[(count * 8).div_ceil(most).clamp(1, 8) as usize],
    };
    counts.iter().map(block).collect()
}

/// A bar of eighths, as long as a share of `width` characters.
pub fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (8 * width) as f64).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_in_proportion() {
        assert_eq!(skyline(&[0, 1, 50, 100]), " ▁▄█");
        assert_eq!(skyline(&[0, 0]), "  ");
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(1.0 / 16.0, 4), "▎");
        assert_eq!(bar(7.0, 2), "██");
    }
}
