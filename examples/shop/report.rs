//! The last page: what became of everything, what waits for whom, and whether stock and money balance.
//!
//! It is read from the databases and the lines, never from what this process happened to do, so that it is the
//! same page after a crash and a second run.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table, presets};

/// Everything on the page.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many sagas of a workflow have come to which end, for which reason.
    pub outcomes: BTreeMap<Outcome, usize>,
    /// What became of the lines.
    pub lines: LineCounts,
    /// Lines that were refused: number and complaint.
    pub malformed: Vec<(usize, String)>,
    /// Lines that start a saga whose key stands for another input: number and saga.
    pub conflicts: Vec<(usize, String)>,
    /// What a person did, line by line: number, what, and the answer.
    pub operations: Vec<(usize, String, String)>,
    /// What waits for a person.
    pub desk: Vec<DeskRow>,
    /// The rules of the audit.
    pub audit: Vec<Verdict>,
}

/// One kind of ending.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome {
    /// Of which workflow.
    pub workflow: String,
    /// Completed, compensated, or waiting.
    pub end: End,
    /// Why.
    pub reason: String,
}

/// How sagas end, or do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// Every step took effect.
    Completed,
    /// Every effect was compensated.
    Compensated,
    /// A person must act.
    OnADesk,
    /// It is set aside: it cannot be read.
    SetAside,
    /// It goes on when the shop runs again.
    UnderWay,
}

impl End {
    fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Compensated => "compensated",
            Self::OnADesk => "on a desk",
            Self::SetAside => "set aside",
            Self::UnderWay => "under way",
        }
    }

    fn colour(self) -> Color {
        match self {
            Self::Completed => Color::Green,
            Self::Compensated => Color::Yellow,
            Self::OnADesk | Self::UnderWay => Color::Cyan,
            Self::SetAside => Color::Red,
        }
    }
}

/// What became of the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// The first line of a saga.
    pub new: usize,
    /// The same again.
    pub duplicate: usize,
    /// The same key with another input.
    pub conflict: usize,
    /// Refused at the door.
    pub malformed: usize,
    /// What a person did.
    pub operator: usize,
}

/// One thing that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeskRow {
    /// `workflow/key`.
    pub saga: String,
    /// Which action.
    pub action: String,
    /// On which desk.
    pub desk: String,
    /// Why.
    pub because: String,
    /// Since when.
    pub since: String,
    /// Attempts made.
    pub attempts: u32,
    /// What is known of its effect.
    pub effect: String,
    /// The last failure.
    pub error: String,
}

/// One rule of the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What must hold.
    pub rule: String,
    /// Whether it does.
    pub holds: bool,
    /// The numbers.
    pub detail: String,
}

impl Report {
    /// Do all rules of the audit hold?
    pub fn balances(&self) -> bool {
        self.audit.iter().all(|verdict| verdict.holds)
    }

    /// The page as text, `colours` or not.
    pub fn page(&self, colours: bool) -> String {
        let mut page = String::new();
        self.write(&mut page, colours).expect("a String takes everything");
        page
    }

    fn write(&self, page: &mut String, colours: bool) -> fmt::Result {
        writeln!(page, "OUTCOMES\n{}", self.outcomes_table(colours))?;
        let LineCounts { new, duplicate, conflict, malformed, operator } = self.lines;
        writeln!(
            page,
            "\nLINES\n{new} new · {duplicate} duplicate · {conflict} conflict · {malformed} malformed · {operator} \
             by an operator"
        )?;
        for (line, complaint) in &self.malformed {
            writeln!(page, "  line {line:>4}  malformed  {complaint}")?;
        }
        for (line, saga) in &self.conflicts {
            writeln!(
                page,
                "  line {line:>4}  conflict   {saga} was started with another input; it is untouched"
            )?;
        }
        for (line, what, answer) in &self.operations {
            writeln!(page, "  line {line:>4}  operator   {what}: {answer}")?;
        }
        writeln!(page, "\nDESK")?;
        if self.desk.is_empty() {
            writeln!(page, "nothing waits for a person")?;
        } else {
            writeln!(page, "{}", self.desk_table(colours))?;
        }
        writeln!(page, "\nAUDIT\n{}", self.audit_table(colours))?;
        let broken = self.audit.iter().filter(|verdict| !verdict.holds).count();
        match broken {
            0 => writeln!(page, "\nStock and money balance."),
            n => {
                writeln!(page, "\nStock and money DO NOT BALANCE: {n} of {} rules broken.", self.audit.len())
            }
        }
    }

    fn outcomes_table(&self, colours: bool) -> Table {
        let mut table = table(colours, &["workflow", "outcome", "reason", "sagas"]);
        for (outcome, sagas) in &self.outcomes {
            table.add_row([
                Cell::new(&outcome.workflow),
                painted(outcome.end.word(), outcome.end.colour(), colours),
                Cell::new(&outcome.reason),
                number(sagas),
            ]);
        }
        table
    }

    fn desk_table(&self, colours: bool) -> Table {
        let heads = ["saga", "action", "desk", "why", "since", "attempts", "effect", "last error"];
        let mut table = table(colours, &heads);
        for row in &self.desk {
            table.add_row([
                Cell::new(&row.saga),
                Cell::new(&row.action),
                painted(&row.desk, Color::Cyan, colours),
                Cell::new(&row.because),
                Cell::new(&row.since),
                number(row.attempts),
                Cell::new(&row.effect),
                Cell::new(&row.error),
            ]);
        }
        table
    }

    fn audit_table(&self, colours: bool) -> Table {
        let mut table = table(colours, &["rule", "verdict", "numbers"]);
        for verdict in &self.audit {
            let (word, colour) = if verdict.holds { ("holds", Color::Green) } else { ("BROKEN", Color::Red) };
            table.add_row([
                Cell::new(&verdict.rule),
                painted(word, colour, colours),
                Cell::new(&verdict.detail),
            ]);
        }
        table
    }
}

fn table(colours: bool, heads: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    // On a terminal it fits the width; elsewhere every cell stays on its line.
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if colours {
        table.set_header(heads.iter().map(|head| Cell::new(head).add_attribute(Attribute::Bold)));
    } else {
        table.set_header(heads);
    }
    table
}

fn painted(text: &str, colour: Color, colours: bool) -> Cell {
    if colours { Cell::new(text).fg(colour) } else { Cell::new(text) }
}

fn number(n: impl fmt::Display) -> Cell {
    Cell::new(n).set_alignment(comfy_table::CellAlignment::Right)
}
