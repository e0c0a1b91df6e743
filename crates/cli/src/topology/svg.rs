//! A picture of a graph that needs nothing but itself, on light and on dark ground.

use std::fmt::Write;

use undertone_graph::{Graph, NodeId};

const MAX_NODES: u32 = 5000;
const MAX_EDGES: usize = 200_000;
/// Width of the square the nodes are in, and what is left free around it.
const SIDE: f64 = 760.0;
const MARGIN: f64 = 40.0;
const TITLE: f64 = 36.0;

/// The picture of a graph whose nodes have places in the unit square.
pub fn draw(graph: &Graph, places: &[(f64, f64)], title: &str) -> Result<String, String> {
    let (n_nodes, n_edges) = (graph.n_nodes(), graph.n_edges());
    if n_nodes > MAX_NODES || n_edges > MAX_EDGES {
        return Err(format!(
            "--svg: {n_nodes} nodes and {n_edges} directed edges would be a blot; at most \
             {MAX_NODES} and {MAX_EDGES} are drawn, so take a smaller graph or leave --svg out"
        ));
    }
    let symmetric = graph.is_symmetric();
    let n_lines = if symmetric { n_edges / 2 } else { n_edges };
    let radius = (0.2 * SIDE / f64::from(n_nodes).sqrt()).clamp(1.8, 13.0);
    let opacity = (10.0 / (n_lines.max(1) as f64).sqrt()).clamp(0.08, 0.85);
    let width = (radius / 7.0).clamp(0.5, 1.6);
    let at = |node: NodeId| {
        let (x, y) = places[node.idx()];
        (MARGIN + SIDE * x, TITLE + MARGIN + SIDE * y)
    };
    let (across, down) = (SIDE + 2.0 * MARGIN, SIDE + 2.0 * MARGIN + TITLE);
    let title = escaped(title);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{across}\" height=\"{down}\" \
         viewBox=\"0 0 {across} {down}\" role=\"img\" font-family=\"sans-serif\">\n\
         <title>{title}</title>\n\
         <text x=\"{}\" y=\"30\" text-anchor=\"middle\" font-size=\"16\" fill=\"#77808d\">\
         {title}</text>\n",
        across / 2.0
    );
    let _ = writeln!(
        out,
        "<g stroke=\"#8791a0\" stroke-width=\"{width:.2}\" stroke-opacity=\"{opacity:.2}\" \
         fill=\"none\">"
    );
    let mut heads = String::new();
    for (a, b) in graph.edges().filter(|&(a, b)| !symmetric || a < b) {
        // Whoever hears back gets a line of its own beside, so that both heads can be seen.
        let two_way = !symmetric && graph.has_edge(b, a);
        let edge = Edge::new(at(a), at(b), if two_way { 0.1 } else { 0.0 }, places.iter(), a, b);
        let edge = edge.shortened(radius, if symmetric { 0.0 } else { width });
        edge.write(&mut out);
        if !symmetric {
            edge.write_head(&mut heads, (3.0 + 3.2 * width).min(radius * 1.5));
        }
    }
    out.push_str("</g>\n");
    if !heads.is_empty() {
        let opacity = (opacity * 1.3).min(1.0);
        let _ = writeln!(out, "<g fill=\"#8791a0\" fill-opacity=\"{opacity:.2}\">\n{heads}</g>");
    }
    out.push_str("<g fill=\"#3d7bd9\">\n");
    for node in graph.nodes() {
        let (x, y) = at(node);
        let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"/>");
    }
    out.push_str("</g>\n");
    if radius >= 9.0 {
        out.push_str("<g fill=\"#ffffff\" font-size=\"10\" text-anchor=\"middle\">\n");
        for node in graph.nodes() {
            let (x, y) = at(node);
            let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{:.1}\">{node}</text>", y + 3.5);
        }
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    Ok(out)
}

/// A line, or a curve with one control point.
struct Edge {
    from: (f64, f64),
    to: (f64, f64),
    bend: Option<(f64, f64)>,
}

impl Edge {
    /// Bent by a share of its length, and also where it would run through another node.
    fn new<'a, P>(
        from: (f64, f64),
        to: (f64, f64),
        share: f64,
        places: P,
        a: NodeId,
        b: NodeId,
    ) -> Self
    where
        P: ExactSizeIterator<Item = &'a (f64, f64)>,
    {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length2 = dx * dx + dy * dy;
        // Only small pictures are looked at so closely.
        let covers = places.len() <= 400
            && places.enumerate().any(|(i, &(x, y))| {
                let (px, py) = (MARGIN + SIDE * x - from.0, TITLE + MARGIN + SIDE * y - from.1);
                let along = (px * dx + py * dy) / length2;
                let beside = (px * dy - py * dx).abs() / length2.sqrt();
                i != a.idx() && i != b.idx() && (0.0..1.0).contains(&along) && beside < 2.0
            });
        let share = if covers { 0.1 } else { share };
        let middle = (from.0 + dx / 2.0, from.1 + dy / 2.0);
        let bend = (share > 0.0).then_some((middle.0 + share * dy, middle.1 - share * dx));
        Self { from, to, bend }
    }

    /// Ends at the rim of the circles, and at a little more where a head is to fit.
    fn shortened(self, radius: f64, room: f64) -> Self {
        let toward = |end: (f64, f64), other: (f64, f64), by: f64| {
            let (dx, dy) = (other.0 - end.0, other.1 - end.1);
            let share = (by / dx.hypot(dy).max(1e-9)).min(0.45);
            (end.0 + share * dx, end.1 + share * dy)
        };
        let (near_from, near_to) = (self.bend.unwrap_or(self.to), self.bend.unwrap_or(self.from));
        Self {
            from: toward(self.from, near_from, radius),
            to: toward(self.to, near_to, radius + room),
            bend: self.bend,
        }
    }

    fn write(&self, out: &mut String) {
        let ((a, b), (c, d)) = (self.from, self.to);
        let _ = match self.bend {
            None => writeln!(out, "<path d=\"M{a:.1} {b:.1}L{c:.1} {d:.1}\"/>"),
            Some((x, y)) => {
                writeln!(out, "<path d=\"M{a:.1} {b:.1}Q{x:.1} {y:.1} {c:.1} {d:.1}\"/>")
            }
        };
    }

    fn write_head(&self, out: &mut String, size: f64) {
        let back = self.bend.unwrap_or(self.from);
        let (dx, dy) = (self.to.0 - back.0, self.to.1 - back.1);
        let length = dx.hypot(dy).max(1e-9);
        let (ux, uy) = (size * dx / length, size * dy / length);
        let (x, y) = self.to;
        let (left, right) =
            ((x - ux - uy / 2.2, y - uy + ux / 2.2), (x - ux + uy / 2.2, y - uy - ux / 2.2));
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} {y:.1}L{:.1} {:.1}L{:.1} {:.1}Z\"/>",
            left.0, left.1, right.0, right.1
        );
    }
}

fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no way to say most control characters.
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escaped("a<b & \"c\">\n"), "a&lt;b &amp; &quot;c&quot;&gt; ");
    }

    #[test]
    fn directed_edges_have_heads_and_symmetric_ones_a_single_line() {
        let places = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)];
        let count =
            |graph: &Graph, part: &str| draw(graph, &places, "t").unwrap().matches(part).count();
        let both = Graph::undirected(3, [(0, 1), (1, 2)]).unwrap();
        assert_eq!((count(&both, "<path"), count(&both, "Z\"/>")), (2, 0));
        let one_way = Graph::from_edges(3, [(0, 1), (1, 2), (2, 1)]).unwrap();
        assert_eq!((count(&one_way, "<path"), count(&one_way, "Z\"/>")), (6, 3));
        // Two ways of a directed graph are bent apart.
        assert_eq!(count(&one_way, "Q"), 2);
        assert_eq!(count(&one_way, "<circle"), 3);
    }

    #[test]
    fn a_line_through_another_node_is_bent() {
        let row = [(0.0, 0.5), (0.5, 0.5), (1.0, 0.5)];
        let graph = Graph::undirected(3, [(0, 2)]).unwrap();
        assert!(draw(&graph, &row, "t").unwrap().contains('Q'));
        let graph = Graph::undirected(3, [(0, 1)]).unwrap();
        assert!(!draw(&graph, &row, "t").unwrap().contains('Q'));
    }
}
