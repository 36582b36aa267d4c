//! A plan for terminals: boxes in layers, from top to bottom, with lines between neighbouring layers.
//!
//! Longest-path layering; an edge that others imply is left out; an edge that crosses a layer runs down a
//! lane of its own. Sources with the same targets share one line, so a join looks like a join. Where two
//! lines cross, the horizontal one passes behind.

use super::{is_needed, marked};
use crate::id::StepIx;
use crate::plan::{SagaPlan, StepKind};
use channel::Channel;

mod channel;

/// Between two boxes. Odd, like the boxes, so that centres of neighbouring layers stay aligned.
const GAP: usize = 3;

/// The plan as boxes in layers, from top to bottom.
///
/// ```text
/// ┌───────────────────┐
/// │  reserve-stock ↺  │
/// └─────────┬─────────┘
///           ▼
/// ╔═══════════════════╗
/// ║  capture-payment  ║
/// ╚═══════════════════╝
/// ```
pub fn text(plan: &SagaPlan) -> String {
    text_with(plan, |_| None::<&str>)
}

/// [`text`] with a word under the steps that have one, for instance the stage of a running saga.
pub fn text_with<S: Into<String>>(plan: &SagaPlan, word: impl Fn(StepIx) -> Option<S>) -> String {
    let words: Vec<Option<String>> = plan.indices().map(|ix| word(ix).map(Into::into)).collect();
    let layout = Layout::of(plan, &words);
    let mut out = String::new();
    for (at, layer) in layout.layers.iter().enumerate() {
        layout.draw_boxes(plan, &words, layer, &mut out);
        if let Some(channel) = layout.channels.get(at) {
            channel.draw(layout.width, &mut out);
        }
    }
    legend(plan, &mut out);
    out
}

fn legend(plan: &SagaPlan, out: &mut String) {
    let has = |kind| plan.steps.iter().any(|step| step.kind == kind);
    let notes = [
        (plan.steps.iter().any(|step| step.undo.is_some()), "↺ has a compensation"),
        (has(StepKind::Pivot), "═ pivot: no way back"),
        (has(StepKind::Read), "╌ read"),
        (!plan.branches.is_empty(), "? in a branch"),
    ];
    let notes: Vec<&str> = notes.iter().filter(|(used, _)| *used).map(|(_, note)| *note).collect();
    if !notes.is_empty() {
        out.push('\n');
        out.push_str(&notes.join("   "));
        out.push('\n');
    }
    for branch in &plan.branches {
        let names = |steps: &[StepIx]| {
            let names: Vec<&str> = steps.iter().map(|step| &*plan.step(*step).name).collect();
            names.join(", ")
        };
        let within = branch.within.map(|side| {
            let word = if side.taken { "if" } else { "unless" };
            format!("{word} {}, ", plan.branch(side.branch).name)
        });
        out.push_str(&format!("{}if {}: {}", within.unwrap_or_default(), branch.name, names(&branch.taken)));
        if branch.gives.of(false).is_some() {
            out.push_str(&format!("; otherwise {}", names(&branch.otherwise)));
        }
        out.push('\n');
    }
}

/// What stands in a place of a layer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Item {
    Box(StepIx),
    /// The line of a step whose waiting steps stand further down.
    Lane(StepIx),
}

struct Place {
    item: Item,
    /// The columns that a line may arrive at.
    inside: (usize, usize),
    /// The column that its line leaves at.
    port: usize,
    /// Indices into the next layer.
    targets: Vec<usize>,
}

struct Layout {
    layers: Vec<Vec<Place>>,
    /// `channels[n]` is between `layers[n]` and the next.
    channels: Vec<Channel>,
    box_width: usize,
    lines: usize,
    width: usize,
}

impl Layout {
    fn of(plan: &SagaPlan, words: &[Option<String>]) -> Self {
        let longest = plan.indices().map(|ix| {
            let word = words[ix.0].as_deref().map_or(0, wide);
            wide(&marked(plan, ix)).max(word)
        });
        let box_width = (longest.max().unwrap_or(0) + 4) | 1;
        let lines = if words.iter().any(Option::is_some) { 2 } else { 1 };
        let items = layered(plan);
        let across = |count: usize| count * box_width + count.saturating_sub(1) * GAP;
        let width = items.iter().map(|layer| across(layer.len())).max().unwrap_or(0);
        let mut layers: Vec<Vec<Place>> = Vec::with_capacity(items.len());
        let mut channels = Vec::new();
        for layer in &items {
            let start = (width - across(layer.len())) / 2;
            let places = layer.iter().enumerate().map(|(at, &(item, ref targets))| {
                let left = start + at * (box_width + GAP);
                let inside = (left + 1, left + box_width - 2);
                Place { item, inside, port: left + box_width / 2, targets: targets.clone() }
            });
            let mut places: Vec<Place> = places.collect();
            if let Some(above) = layers.last() {
                channels.push(Channel::between(above, &mut places));
            }
            layers.push(places);
        }
        Self { layers, channels, box_width, lines, width }
    }

    fn draw_boxes(&self, plan: &SagaPlan, words: &[Option<String>], layer: &[Place], out: &mut String) {
        for line in 0..self.lines + 2 {
            let mut row = vec![' '; self.width];
            for place in layer {
                match place.item {
                    Item::Lane(_) => row[place.port] = '│',
                    Item::Box(ix) => {
                        let text = match line {
                            0 => Row::Top,
                            _ if line == self.lines + 1 => Row::Bottom,
                            1 => Row::Text(marked(plan, ix)),
                            _ => Row::Text(words[ix.0].clone().unwrap_or_default()),
                        };
                        self.draw_row(plan.step(ix).kind, place, &text, &mut row);
                    }
                }
            }
            push_row(&row, out);
        }
    }

    fn draw_row(&self, kind: StepKind, place: &Place, text: &Row, row: &mut [char]) {
        let ([tl, tr, bl, br, across, down], port) = match kind {
            StepKind::Pivot => (['╔', '╗', '╚', '╝', '═', '║'], '╤'),
            StepKind::Read => (['╭', '╮', '╰', '╯', '╌', '╎'], '┬'),
            StepKind::Compensated | StepKind::Retriable => (['┌', '┐', '└', '┘', '─', '│'], '┬'),
        };
        let (left, right) = (place.inside.0 - 1, place.inside.1 + 1);
        let (first, last, fill) = match text {
            Row::Top => (tl, tr, across),
            Row::Bottom => (bl, br, across),
            Row::Text(_) => (down, down, ' '),
        };
        row[left..=right].fill(fill);
        (row[left], row[right]) = (first, last);
        match text {
            Row::Bottom if !place.targets.is_empty() => row[place.port] = port,
            Row::Text(text) => {
                let start = left + (self.box_width - wide(text)) / 2;
                for (at, c) in text.chars().enumerate() {
                    row[start + at] = c;
                }
            }
            Row::Top | Row::Bottom => {}
        }
    }
}

enum Row {
    Top,
    Text(String),
    Bottom,
}

/// The layers from top to bottom: every item with its targets in the next layer.
fn layered(plan: &SagaPlan) -> Vec<Vec<(Item, Vec<usize>)>> {
    let mut rank = vec![0; plan.steps.len()];
    for &ix in plan.graph.order() {
        rank[ix.0] = plan.graph.parents(ix).iter().map(|parent| rank[parent.0] + 1).max().unwrap_or(0);
    }
    let needed = |from: StepIx| {
        let children = plan.graph.children(from).iter().copied();
        children.filter(move |&child| is_needed(plan, from, child))
    };
    let depth = rank.iter().max().map_or(0, |deepest| deepest + 1);
    let mut layers: Vec<Vec<(Item, Vec<usize>)>> = Vec::with_capacity(depth);
    for layer in 0..depth {
        let boxes = plan.indices().filter(|ix| rank[ix.0] == layer).map(Item::Box);
        let passes = |ix: &StepIx| rank[ix.0] < layer && needed(*ix).any(|child| rank[child.0] > layer);
        let lanes = plan.indices().filter(passes).map(Item::Lane);
        let mut items: Vec<Item> = boxes.chain(lanes).collect();
        let Some(above) = layers.last_mut() else {
            layers.push(items.into_iter().map(|item| (item, Vec::new())).collect());
            continue;
        };
        let leads = |from: Item, to: Item| match (from, to) {
            (Item::Box(from) | Item::Lane(from), Item::Lane(to)) => from == to,
            (Item::Box(from) | Item::Lane(from), Item::Box(to)) => needed(from).any(|child| child == to),
        };
        // The mean place of those above, as a fraction without rounding: (sum, count).
        let mean = |item: Item| {
            let at = above.iter().enumerate().filter(|(_, (from, _))| leads(*from, item)).map(|(at, _)| at);
            at.fold((0, 0), |(sum, count), at| (sum + at, count + 1))
        };
        items.sort_by(|a, b| {
            let ((sum_a, count_a), (sum_b, count_b)) = (mean(*a), mean(*b));
            (sum_a * count_b).cmp(&(sum_b * count_a))
        });
        for (from, targets) in above.iter_mut() {
            targets.extend((0..items.len()).filter(|&to| leads(*from, items[to])));
        }
        layers.push(items.into_iter().map(|item| (item, Vec::new())).collect());
    }
    layers
}

/// Columns, for the texts that stand here: names are ASCII, marks and stages are one column per character.
fn wide(text: &str) -> usize {
    text.chars().count()
}

fn push_row(row: &[char], out: &mut String) {
    let row: String = row.iter().collect();
    out.push_str(row.trim_end());
    out.push('\n');
}
