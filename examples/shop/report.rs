//! The last page: what became of everything, what waits for whom, and whether stock and money balance.
//!
//! It is read from the databases and the lines, never from what this process happened to do, so that it is the
//! same page after a crash and a second run.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table, presets};

use crate::text::{counted, shown, wrapped};

/// Everything on the page.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many sagas of a workflow have come to which end, for which reason.
    pub outcomes: BTreeMap<Outcome, usize>,
    /// What became of the lines.
    pub lines: LineCounts,
    /// What the triggers made of events, where there are triggers.
    pub events: Option<Vec<TriggerCounts>>,
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
    /// How often sagas changed hands.
    pub taken_over: TakenOver,
    /// Whether that is said: one process that sees everything through has nothing to tell of it.
    pub tell_takeovers: bool,
}

/// Sagas that went on in another process than before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TakenOver {
    /// How many.
    pub sagas: usize,
    /// How often, all in all.
    pub times: usize,
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
    /// Two people ended it as it stood.
    Closed,
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
            Self::Closed => "closed",
            Self::OnADesk => "on a desk",
            Self::SetAside => "set aside",
            Self::UnderWay => "under way",
        }
    }

    fn colour(self) -> Color {
        match self {
            Self::Completed => Color::Green,
            Self::Compensated | Self::Closed => Color::Yellow,
            Self::OnADesk | Self::UnderWay => Color::Cyan,
            Self::SetAside => Color::Red,
        }
    }
}

/// What became of the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Those whose saga is there, begun by this run or by an earlier one: as many as they ask for.
    pub sagas: usize,
    /// The same again.
    pub duplicate: usize,
    /// The same key with another input.
    pub conflict: usize,
    /// Refused at the door.
    pub malformed: usize,
    /// What a person did.
    pub operator: usize,
}

/// What a trigger made of the events that came to this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerCounts {
    /// The workflow that it starts.
    pub workflow: String,
    /// Deliveries: the same event may come more than once.
    pub deliveries: u64,
    /// Sagas begun.
    pub sagas: u64,
    /// Those whose saga was there.
    pub duplicates: u64,
    /// Those whose saga has another input.
    pub conflicts: u64,
    /// Those that are too old.
    pub refused: u64,
    /// Those of which no saga can be made.
    pub intake: u64,
    /// Those that come again.
    pub again: u64,
}

/// What became of events and messages by the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events {
    /// Trigger by trigger.
    pub triggers: Vec<TriggerCounts>,
    /// Nothing, or what nobody has dealt with.
    pub left: Option<String>,
}

impl Events {
    /// Does the page tell all that there will be to tell?
    pub fn verdict(&self) -> Verdict {
        let deliveries: u64 = self.triggers.iter().map(|trigger| trigger.deliveries).sum();
        Verdict {
            rule: "every event, command and reply was taken".to_owned(),
            holds: self.left.is_none(),
            detail: self.left.clone().unwrap_or_else(|| format!("{deliveries} deliveries of events")),
        }
    }
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
    /// What a person can do about it.
    pub offers: Offers,
}

/// What can be done about one item on a desk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// What would be obeyed now.
    pub verbs: Vec<&'static str>,
    /// For what the lines of the shop can say, the line to append.
    pub lines: Vec<String>,
}

impl Offers {
    /// The verbs in a row.
    pub fn words(&self) -> String {
        if self.verbs.is_empty() { "nothing yet".to_owned() } else { self.verbs.join(", ") }
    }
}

/// How the lines are used; goes before them.
pub const HOW: &str = "What a person can do: append a line to the lines that you run, with your reason, and run \
                       them again. --show SAGA has the line for every verb.";

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

/// How the page is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// With colours.
    pub colours: bool,
    /// So many columns wide; none: as wide as it gets.
    pub width: Option<usize>,
}

/// What a broken rule says is written below the table if it is longer than this.
const DETAIL_MAX: usize = 60;

impl Report {
    /// Do all rules of the audit hold?
    pub fn balances(&self) -> bool {
        self.audit.iter().all(|verdict| verdict.holds)
    }

    /// The page as text.
    pub fn page(&self, look: Look) -> String {
        let mut page = String::new();
        self.write(&mut page, look).expect("a String takes everything");
        page
    }

    fn write(&self, page: &mut String, look: Look) -> fmt::Result {
        writeln!(page, "OUTCOMES\n{}", self.outcomes_table(look))?;
        self.write_lines(page, look)?;
        self.write_events(page, look)?;
        self.write_desk(page, look)?;
        writeln!(page, "\nAUDIT\n{}", self.audit_table(look))?;
        for verdict in self.audit.iter().filter(|verdict| verdict.is_long()) {
            let broken = format!("{}: {}", verdict.rule, shown(&verdict.detail));
            writeln!(page, "{}", wrapped(&broken, look.width, 2))?;
        }
        if self.tell_takeovers {
            let TakenOver { sagas, times } = self.taken_over;
            let sagas = counted(sagas, "saga", "sagas");
            writeln!(page, "\n{sagas} changed hands, {} in all.", counted(times, "time", "times"))?;
        }
        let broken = self.audit.iter().filter(|verdict| !verdict.holds).count();
        match broken {
            0 => writeln!(page, "\nStock and money balance."),
            n => {
                let rules = counted(self.audit.len(), "rule", "rules");
                // Of work by many, and of messages, more is asked than that.
                let more = self.tell_takeovers || self.events.is_some();
                let what = if more { "NOT ALL IS WELL" } else { "Stock and money DO NOT BALANCE" };
                writeln!(page, "\n{what}: {n} of {rules} broken.")
            }
        }
    }

    fn write_lines(&self, page: &mut String, look: Look) -> fmt::Result {
        let LineCounts { sagas, duplicate, conflict, malformed, operator } = self.lines;
        let sagas = counted(sagas, "saga", "sagas");
        let duplicate = counted(duplicate, "duplicate", "duplicates");
        let conflict = counted(conflict, "conflict", "conflicts");
        let counts =
            format!("{sagas} · {duplicate} · {conflict} · {malformed} malformed · {operator} by an operator");
        writeln!(page, "\nLINES\n{}", wrapped(&counts, look.width, 0))?;
        let mut line = |number: &usize, what: &str, said: &str| {
            let line = format!("  line {number:>4}  {what:<9}  {}", shown(said));
            writeln!(page, "{}", wrapped(&line, look.width, 13))
        };
        for (number, complaint) in &self.malformed {
            line(number, "malformed", complaint)?;
        }
        for (number, saga) in &self.conflicts {
            let said = format!("{saga} was started with another input; it is untouched");
            line(number, "conflict", &said)?;
        }
        for (number, what, answer) in &self.operations {
            line(number, "operator", &format!("{what}: {answer}"))?;
        }
        Ok(())
    }

    fn write_events(&self, page: &mut String, look: Look) -> fmt::Result {
        let Some(triggers) = &self.events else { return Ok(()) };
        writeln!(page, "\nEVENTS")?;
        for trigger in triggers {
            let TriggerCounts { workflow, deliveries, sagas, duplicates, conflicts, refused, intake, again } =
                trigger;
            let mut counts = format!(
                "{}: {} · {} · {} · {refused} refused · {intake} to intake, of {}",
                shown(workflow),
                counted(whole(*sagas), "saga", "sagas"),
                counted(whole(*duplicates), "duplicate", "duplicates"),
                counted(whole(*conflicts), "conflict", "conflicts"),
                counted(whole(*deliveries), "delivery", "deliveries"),
            );
            if *again > 0 {
                counts += &format!("; {again} came again");
            }
            writeln!(page, "{}", wrapped(&counts, look.width, 2))?;
        }
        Ok(())
    }

    fn write_desk(&self, page: &mut String, look: Look) -> fmt::Result {
        writeln!(page, "\nDESK")?;
        if self.desk.is_empty() {
            return writeln!(page, "nothing waits for a person");
        }
        // Measured without colours, and as wide as it gets.
        let table = self.desk_table(Look::default()).to_string();
        let columns = table.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        if look.width.is_some_and(|width| columns > width) {
            for row in &self.desk {
                row.write_block(page, look)?;
            }
        } else {
            writeln!(page, "{}", self.desk_table(look))?;
        }
        writeln!(page, "\n{}", wrapped(HOW, look.width, 0))?;
        for row in &self.desk {
            let about = format!("  {} {}: {}", row.saga, row.action, row.offers.words());
            writeln!(page, "{}", wrapped(&shown(&about), look.width, 4))?;
            if let Some(line) = row.offers.lines.first() {
                // Never broken, so that it can be taken as it stands.
                writeln!(page, "    {}", shown(line))?;
            }
        }
        Ok(())
    }

    fn outcomes_table(&self, look: Look) -> Table {
        let Look { colours, .. } = look;
        let mut table = table(look, &["workflow", "outcome", "reason", "sagas"]);
        for (outcome, sagas) in &self.outcomes {
            table.add_row([
                Cell::new(shown(&outcome.workflow)),
                painted(outcome.end.word(), outcome.end.colour(), colours),
                Cell::new(shown(&outcome.reason)),
                number(sagas),
            ]);
        }
        table
    }

    fn desk_table(&self, look: Look) -> Table {
        let heads = ["saga", "action", "desk", "why", "since", "attempts", "effect", "last error"];
        let mut table = table(look, &heads);
        for row in &self.desk {
            table.add_row([
                Cell::new(shown(&row.saga)),
                Cell::new(shown(&row.action)),
                painted(&row.desk, Color::Cyan, look.colours),
                Cell::new(shown(&row.because)),
                Cell::new(shown(&row.since)),
                number(row.attempts),
                Cell::new(shown(&row.effect)),
                Cell::new(shown(&row.error)),
            ]);
        }
        table
    }

    fn audit_table(&self, look: Look) -> Table {
        let Look { colours, .. } = look;
        let mut table = table(look, &["rule", "verdict", "numbers"]);
        for verdict in &self.audit {
            let (word, colour) = if verdict.holds { ("holds", Color::Green) } else { ("BROKEN", Color::Red) };
            table.add_row([
                Cell::new(&verdict.rule),
                painted(word, colour, colours),
                Cell::new(if verdict.is_long() { "see below".to_owned() } else { shown(&verdict.detail) }),
            ]);
        }
        table
    }
}

impl Verdict {
    /// Whether what it says would make a column of a few words a line.
    fn is_long(&self) -> bool {
        !self.holds && self.detail.chars().count() > DETAIL_MAX
    }
}

impl DeskRow {
    /// The same as the row of the table, for a narrow terminal.
    fn write_block(&self, page: &mut String, look: Look) -> fmt::Result {
        let attempts = counted(self.attempts as usize, "attempt", "attempts");
        writeln!(page, "{}", shown(&format!("{}  {}", self.saga, self.action)))?;
        for said in [
            format!("  on {} since {}", self.desk, self.since),
            format!("  because {}, after {attempts}", self.because),
            match self.error.as_str() {
                "" => format!("  effect {}", self.effect),
                error => format!("  effect {}, last error {error}", self.effect),
            },
        ] {
            writeln!(page, "{}", wrapped(&shown(&said), look.width, 4))?;
        }
        Ok(())
    }
}

fn table(look: Look, heads: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    // On a terminal it fits the width; elsewhere every cell stays on its line.
    match look.width {
        None => table.set_content_arrangement(ContentArrangement::Disabled),
        Some(width) => table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(width).unwrap_or(u16::MAX)),
    };
    if look.colours {
        table.set_header(heads.iter().map(|head| Cell::new(head).add_attribute(Attribute::Bold)));
    } else {
        table.set_header(heads);
    }
    table
}

fn painted(text: &str, colour: Color, colours: bool) -> Cell {
    let cell = Cell::new(shown(text));
    if colours { cell.fg(colour) } else { cell }
}

fn whole(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

fn number(n: impl fmt::Display) -> Cell {
    Cell::new(n).set_alignment(comfy_table::CellAlignment::Right)
}
