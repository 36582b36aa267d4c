//! The shapes: every directed acyclic graph of so many steps, alone and around a pivot, and branches.

use std::fmt::Write as _;

use amends_core::plan::Source;
use amends_core::{SagaPlan, StepIx};

use crate::plan_text::plan;

/// What holds of every step unless its line says otherwise. Retries and queries are due at once; what waits,
/// waits for a hint. So all times of a search are sums of a few numbers.
const POLICIES: &str = "
policy attempts=2 base=0s cap=0s give-up=1000s
undo-policy attempts=2 base=0s cap=0s give-up=1000s
query-policy queries=2 base=0s cap=0s
";

/// One workflow.
pub(crate) struct Shape {
    pub(crate) name: String,
    pub(crate) plan: SagaPlan,
    /// Steps with the same number look the same.
    pub(crate) alike: Vec<usize>,
}

impl Shape {
    /// Reads `lines`, with `;` between them; those of policies come last.
    pub(crate) fn read(name: &str, lines: &str) -> Self {
        let policy = |line: &&str| line.contains("policy ");
        let steps: Vec<&str> = lines.split(';').map(str::trim).filter(|line| !policy(line)).collect();
        let own: Vec<&str> = lines.split(';').map(str::trim).filter(policy).collect();
        let plan = plan(&format!("{}\n{POLICIES}{}\n", steps.join("\n"), own.join("\n")));
        let first = |at: usize| (0..=at).find(|to| are_alike(&plan, at, *to)).expect("each is as itself");
        let alike = (0..plan.steps.len()).map(first).collect();
        Self { name: name.to_owned(), plan, alike }
    }
}

/// Have both steps the same neighbours, and the same declaration, and is neither or are both the result? Steps of a
/// branch stay as they are.
fn are_alike(plan: &SagaPlan, one: usize, other: usize) -> bool {
    let of = |at: usize| {
        let (ix, step) = (StepIx(at), &plan.steps[at]);
        let same = (step.kind, step.settle, step.undo, &step.contract, plan.result == Source::Step(ix));
        (plan.graph.parents(ix).to_vec(), plan.graph.children(ix).to_vec(), format!("{same:?}"))
    };
    one == other || (plan.branches.is_empty() && of(one) == of(other))
}

/// Pairs (from, to) with `from < to`.
type Edges = Vec<(usize, usize)>;

/// Every shape of `steps` steps: all graphs, and all pairs of graphs with a pivot between them.
pub(crate) fn all(steps: usize) -> Vec<Shape> {
    let mut all = Vec::new();
    for (turn, edges) in graphs(steps).iter().enumerate() {
        all.push(drawn(steps, edges, None, turn));
    }
    for before in 0..steps {
        for above in graphs(before) {
            for below in graphs(steps - before - 1) {
                let shifted = below.iter().map(|(from, to)| (from + before + 1, to + before + 1));
                let edges: Edges = above.iter().copied().chain(shifted).collect();
                all.push(drawn(steps, &edges, Some(before), all.len()));
            }
        }
    }
    all
}

/// Every graph of so many nodes, those that differ in names only taken for one.
fn graphs(nodes: usize) -> Vec<Edges> {
    let pairs: Edges = (0..nodes).flat_map(|to| (0..to).map(move |from| (from, to))).collect();
    let orders = orders(nodes);
    let mut known = std::collections::BTreeSet::new();
    let mut graphs = Vec::new();
    for chosen in 0..1u32 << pairs.len() {
        let is_chosen = |(nth, pair): (usize, &(usize, usize))| (chosen >> nth & 1 == 1).then_some(*pair);
        let edges: Edges = pairs.iter().enumerate().filter_map(is_chosen).collect();
        let renamed = orders.iter().map(|order| {
            let mut renamed: Edges = edges.iter().map(|(from, to)| (order[*from], order[*to])).collect();
            renamed.sort_unstable();
            renamed
        });
        if known.insert(renamed.min().expect("there is one order at least")) {
            graphs.push(edges);
        }
    }
    graphs
}

/// All orders of so many numbers.
fn orders(numbers: usize) -> Vec<Vec<usize>> {
    (0..numbers).fold(vec![Vec::new()], |orders, number| {
        let with = |order: &Vec<usize>, at: usize| {
            let mut order = order.clone();
            order.insert(at, number);
            order
        };
        orders.iter().flat_map(|order| (0..=order.len()).map(move |at| with(order, at))).collect()
    })
}

/// The ways of settling go round from shape to shape; steps with the same neighbours settle alike.
fn drawn(steps: usize, edges: &Edges, pivot: Option<usize>, turn: usize) -> Shape {
    let letter = |at: usize| char::from(b'a' + u8::try_from(at).expect("there are few steps"));
    let neighbours = |of: usize| {
        let ends =
            |is: &dyn Fn(&(usize, usize)) -> Option<usize>| edges.iter().filter_map(is).collect::<Vec<_>>();
        let past = pivot.is_some_and(|pivot| of > pivot);
        (ends(&|e| (e.1 == of).then_some(e.0)), ends(&|e| (e.0 == of).then_some(e.1)), past)
    };
    let (mut lines, mut name) = (String::new(), String::new());
    for at in 0..steps {
        let first = (0..=at).find(|to| neighbours(*to) == neighbours(at)).expect("each is as itself");
        let settle = ["by-operator", "by-repeating", "by-query"][(first + turn) % 3];
        let kind = match pivot {
            Some(pivot) if at == pivot => "pivot",
            Some(pivot) if at > pivot => "retriable",
            _ => "step",
        };
        let parents: Vec<String> = neighbours(at).0.iter().map(|from| letter(*from).to_string()).collect();
        let given = if parents.is_empty() { "input".to_owned() } else { parents.join(",") };
        let _ = write!(lines, "{kind} {}({given}) {settle};", letter(at));
        let from = if parents.is_empty() { String::new() } else { format!("({})", parents.concat()) };
        let _ = write!(name, "{}{from}{} ", letter(at), if kind == "pivot" { "!" } else { "" });
    }
    let last = steps - 1;
    if pivot != Some(last) && (0..last).any(|at| neighbours(at) == neighbours(last)) {
        lines += "result input;"; // If it were the last step's, that one would be like no other.
    }
    Shape::read(name.trim(), lines.trim_end_matches(';'))
}
