//! Who hears whom, with every node's budget.

use crate::drawing::{Key, dot_mark};
use crate::frame::Size;
use crate::numbers::short_above;
use crate::report::{Network, ShownNode};
use crate::svg::{Canvas, WARNING};

/// A network whose nodes are coloured by the epsilon of their guarantees.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Net {
    network: Network,
    /// The epsilons that have a colour of their own, or the ends of a scale.
    levels: Vec<f64>,
}

/// From little spent to much, apart for everybody and on both grounds.
const SHADES: [&str; 6] = ["#b3d4ec", "#8abde0", "#5fa3d3", "#3c88c2", "#2270b0", "#0f5a9e"];

impl Net {
    pub(crate) fn new(network: &Network) -> Self {
        let mut levels: Vec<f64> = network.shown.iter().filter_map(|node| node.epsilon).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup_by(|a, b| short_above(*a) == short_above(*b));
        Self { network: network.clone(), levels }
    }

    pub(crate) fn draw(&self, size: Size) -> Canvas {
        let side = size.width.min(440.0) - 48.0;
        let mut canvas = Canvas::new(size.width, side + 48.0);
        let left = (size.width - side) / 2.0;
        let at = |node: &ShownNode| (left + side * node.place[0], 24.0 + side * node.place[1]);
        let Network { shown, lines, directed, .. } = &self.network;
        let radius = (0.22 * side / (shown.len().max(1) as f64).sqrt()).clamp(2.0, 14.0);
        let opacity = (12.0 / (lines.len().max(1) as f64).sqrt()).clamp(0.1, 0.8);
        let style = format!("class=\"ut-edge\" stroke-opacity=\"{opacity:.2}\"");
        for [from, to] in lines {
            let ends = shown.get(*from as usize).zip(shown.get(*to as usize));
            let Some((from, to)) = ends.map(|(from, to)| (at(from), at(to))) else { continue };
            canvas.line(from, to, &style);
            if *directed {
                head(&mut canvas, from, to, radius, opacity);
            }
        }
        for node in shown {
            let style = format!("fill=\"{}\" class=\"ut-paper\"", self.shade(node.epsilon));
            canvas.dot(at(node), radius, &style, &says(node));
        }
        if radius >= 9.0 {
            for node in shown {
                let (x, y) = at(node);
                let fill = if self.is_light(node.epsilon) { "#1f2328" } else { "#ffffff" };
                canvas.number(x, y + 4.0, fill, node.node);
            }
        }
        canvas
    }

    pub(crate) fn keys(&self) -> Vec<Key> {
        let key = |epsilon: Option<f64>, words: String| Key {
            mark: dot_mark(&format!("fill=\"{}\"", self.shade(epsilon))),
            words,
        };
        let chosen: Vec<f64> = match self.levels.len() {
            0..=6 => self.levels.clone(),
            n => [0, n / 2, n - 1].map(|k| self.levels[k]).to_vec(),
        };
        let mut keys: Vec<Key> =
            chosen.iter().map(|e| key(Some(*e), format!("ε {}", short_above(*e)))).collect();
        if self.network.shown.iter().any(|node| node.epsilon.is_none()) {
            keys.push(key(None, "no guarantee".into()));
        }
        keys
    }

    fn shade(&self, epsilon: Option<f64>) -> &'static str {
        epsilon.map_or(WARNING, |epsilon| SHADES[self.level(epsilon)])
    }

    fn is_light(&self, epsilon: Option<f64>) -> bool {
        epsilon.is_none_or(|epsilon| self.level(epsilon) < 3)
    }

    fn level(&self, epsilon: f64) -> usize {
        let last = self.levels.len().saturating_sub(1);
        let place = self.levels.iter().position(|level| *level >= epsilon).unwrap_or(last);
        match last {
            0 => 3,
            _ => place * (SHADES.len() - 1) / last,
        }
    }
}

/// What a node says when it is pointed at.
fn says(node: &ShownNode) -> String {
    let budget = node.budget.map_or("no budget".into(), |e| format!("budget ε {e}"));
    let promise = match node.epsilon {
        Some(epsilon) => format!("ε at most {}", short_above(epsilon)),
        None => "no guarantee".into(),
    };
    format!("node {}: {promise}, {budget}, {:.0}% spent", node.node, 100.0 * node.spent)
}

/// Of an arrow.
fn head(canvas: &mut Canvas, from: (f64, f64), to: (f64, f64), radius: f64, opacity: f64) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1e-9);
    let (ux, uy) = (dx / length, dy / length);
    let size = (radius * 0.8).clamp(3.0, 7.0);
    let (x, y) = (to.0 - ux * (radius + 1.0), to.1 - uy * (radius + 1.0));
    let back = (x - size * ux, y - size * uy);
    let wing = size * 0.45;
    let places = [
        (x, y),
        (back.0 - wing * uy, back.1 + wing * ux),
        (back.0 + wing * uy, back.1 - wing * ux),
    ];
    canvas.polygon(&places, &format!("class=\"ut-head\" fill-opacity=\"{opacity:.2}\""));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::WIDE;

    #[test]
    fn nodes_have_the_colour_of_their_promise_and_say_it() {
        let node = |node: u32, epsilon: Option<f64>| ShownNode {
            node,
            place: [f64::from(node) / 2.0, 0.5],
            budget: epsilon,
            epsilon,
            spent: 1.0,
        };
        let shown = vec![node(0, Some(0.5)), node(1, Some(2.0)), node(2, None)];
        let network = Network {
            variants: vec![0],
            what: "a path".into(),
            nodes: 3,
            edges: 2,
            directed: true,
            shown,
            lines: vec![[0, 1], [1, 2]],
        };
        let net = Net::new(&network);
        let svg = net.draw(WIDE).alone("t");
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg.matches("class=\"ut-head\"").count(), 2);
        for word in [SHADES[0], SHADES[5], WARNING, "node 1: ε at most 2, budget ε 2, 100% spent"]
        {
            assert!(svg.contains(word), "{word}");
        }
        let words: Vec<_> = net.keys().into_iter().map(|key| key.words).collect();
        assert_eq!(words, ["ε 0.5", "ε 2", "no guarantee"]);
    }
}
