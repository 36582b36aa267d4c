//! Plans by chance: what [`crate::laws`] plays on.

use proptest::prelude::*;

/// What chance says of one step: kind, settlement of forward and compensation, parents, contract, order without
/// data, and where it stands.
type Dice = (u8, usize, usize, u8, u8, bool, u8);

/// A plan as text: at most eight steps, with or without a pivot, some of them in branches, and branches in
/// branches.
pub(crate) fn plans() -> impl Strategy<Value = String> {
    let step = (any::<u8>(), 0..3usize, 0..3usize, any::<u8>(), any::<u8>(), any::<bool>(), any::<u8>());
    let policies = (1..4u32, 0..4u32, 1..4u32, 0..3usize, any::<bool>(), any::<bool>());
    let branching = any::<bool>();
    (prop::collection::vec(step, 1..=8), any::<Option<prop::sample::Index>>(), policies, branching).prop_map(
        |(steps, pivot, (attempts, base, queries, give_up, turn_back, deadline), branching)| {
            let pivot = pivot.map(|at| at.index(steps.len()));
            let mut text = String::new();
            if deadline {
                text += "deadline 40s\n";
            }
            let mut sketch = Sketch { pivot, lines: Vec::new(), scopes: vec![Vec::new()], open: Vec::new() };
            for (ix, dice) in steps.into_iter().enumerate() {
                if branching {
                    sketch.place(ix, dice.6);
                }
                sketch.step(ix, dice);
            }
            text += &sketch.finish();
            let give_up = ["10s", "60s", "1h"][give_up];
            let exhausted = if turn_back { " exhausted=turn-back" } else { "" };
            text += &format!("policy attempts={attempts} base={base}s cap=8s give-up={give_up}{exhausted}\n");
            text += &format!("undo-policy attempts={attempts} base={base}s cap=8s give-up={give_up}\n");
            text + &format!("query-policy queries={queries} base={base}s cap=8s\n")
        },
    )
}

/// A branch that is being written.
struct Open {
    name: String,
    /// Where its own line stands, and how it goes on: its kind is known at its end.
    line: usize,
    rest: String,
    /// What the first side gives, once the second one has begun.
    taken: Option<String>,
}

/// The lines so far.
struct Sketch {
    pivot: Option<usize>,
    lines: Vec<String>,
    /// What can be used as a source, the outermost first: one scope more than there are open branches.
    scopes: Vec<Vec<String>>,
    open: Vec<Open>,
}

impl Sketch {
    /// Opens, closes or crosses to the other side, before the step at `ix` is written.
    fn place(&mut self, ix: usize, dice: u8) {
        if self.pivot == Some(ix) {
            self.close_down_to(0);
            return;
        }
        let filled = self.scopes.last().is_some_and(|scope| !scope.is_empty());
        match dice % 8 {
            0 | 1 if self.open.len() < 2 => self.begin(ix, dice),
            2 | 3 if filled => self.close_down_to(self.open.len().saturating_sub(1)),
            4 | 5 if filled => self.cross(),
            _ => {}
        }
    }

    fn begin(&mut self, ix: usize, dice: u8) {
        let source = self.sources(dice).into_iter().next().unwrap_or_else(|| "input".to_owned());
        let shaped = if dice.is_multiple_of(16) { " shaped" } else { "" };
        let rest = format!("({source}){shaped}{}", self.side());
        self.open.push(Open { name: format!("b{ix}"), line: self.lines.len(), rest, taken: None });
        self.lines.push(String::new());
        self.scopes.push(Vec::new());
    }

    fn cross(&mut self) {
        if let Some(open) = self.open.last_mut().filter(|open| open.taken.is_none()) {
            let first = self.scopes.last_mut().expect("a branch has a scope");
            open.taken = first.last().cloned();
            first.clear();
        }
    }

    fn close_down_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Open { name, line, rest, taken } = self.open.pop().expect("there is one");
            let scope = self.scopes.pop().expect("a branch has a scope");
            let last = scope.last().expect("each side has a step");
            self.lines[line] = match taken {
                None => format!("when {name}{rest} gives={last}"),
                Some(first) => format!("either {name}{rest} gives={first},{last}"),
            };
            self.scopes.last_mut().expect("the outermost scope").push(name);
        }
    }

    fn side(&self) -> String {
        self.open.last().map_or(String::new(), |open| {
            let word = if open.taken.is_none() { "if" } else { "unless" };
            format!(" {word}={}", open.name)
        })
    }

    /// The sources that the bits choose.
    fn sources(&self, bits: u8) -> Vec<String> {
        let all = self.scopes.iter().flatten().enumerate();
        all.filter(|(at, _)| bits & (1 << (at % 8)) != 0).map(|(_, name)| name.clone()).collect()
    }

    fn step(&mut self, ix: usize, (kind, settle, undo, parents, contract, after, _): Dice) {
        const SETTLES: [&str; 3] = ["by-query", "by-repeating", "by-operator"];
        let names = self.sources(parents);
        let steps: Vec<String> = names.iter().filter(|name| name.starts_with('s')).cloned().collect();
        let (sources, after) = match (names.is_empty(), after && !steps.is_empty()) {
            (true, _) => ("input".to_owned(), String::new()),
            (false, true) => ("input".to_owned(), format!(" after={}", steps.join(","))),
            (false, false) => (names.join(","), String::new()),
        };
        let read = kind.is_multiple_of(5);
        let word = match self.pivot {
            Some(pivot) if pivot == ix => "pivot",
            _ if read => "read",
            Some(pivot) if pivot < ix => "retriable",
            _ => "step",
        };
        let mut line = format!("{word} s{ix}({sources}){after}{}", self.side());
        if word != "read" {
            line += &format!(" {}", SETTLES[settle]);
            let stated = [(1, " window=5s"), (2, " retention=50s"), (4, " keeps-answers")];
            line.extend(stated.iter().filter(|(bit, _)| contract & bit != 0).map(|(_, word)| *word));
        }
        if word == "step" {
            line += &format!(" undo-{}", SETTLES[undo]);
            line += if contract & 8 != 0 { " fence" } else { "" };
        }
        self.lines.push(line);
        self.scopes.last_mut().expect("the outermost scope").push(format!("s{ix}"));
    }

    fn finish(mut self) -> String {
        self.close_down_to(0);
        let last = self.scopes[0].last().expect("there is a step");
        format!("{}\nresult {last}\n", self.lines.join("\n"))
    }
}
