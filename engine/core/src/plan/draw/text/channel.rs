//! The lines between two neighbouring layers.

use super::{Item, Place, push_row};

/// Sources with the same targets, and the columns of their common line.
#[derive(Default)]
struct Net {
    /// Indices into the next layer.
    targets: Vec<usize>,
    /// Where it leaves boxes and lanes above.
    from: Vec<usize>,
    /// Where it arrives below, and whether a box stands there.
    to: Vec<(usize, bool)>,
    /// The row that its horizontal part runs in, if it has one.
    track: Option<usize>,
}

pub(super) struct Channel {
    nets: Vec<Net>,
    tracks: usize,
}

impl Channel {
    /// Routes the lines from `above` to `below`, and moves the lanes below to where their lines arrive.
    pub(super) fn between(above: &[Place], below: &mut [Place]) -> Self {
        let mut nets: Vec<Net> = Vec::new();
        for place in above.iter().filter(|place| !place.targets.is_empty()) {
            match nets.iter_mut().find(|net| net.targets == place.targets) {
                Some(net) => net.from.push(place.port),
                None => nets.push(Net {
                    targets: place.targets.clone(),
                    from: vec![place.port],
                    ..Net::default()
                }),
            }
        }
        for (at, place) in below.iter_mut().enumerate() {
            arrive(&mut nets, at, place);
        }
        let tracks = assign_tracks(&mut nets);
        Self { nets, tracks }
    }

    pub(super) fn draw(&self, width: usize, out: &mut String) {
        for row in 0..self.tracks {
            let mut cells = vec![Cell::default(); width];
            for (owner, net) in self.nets.iter().enumerate() {
                net.mark(row, owner, &mut cells);
            }
            let row: Vec<char> = cells.iter().map(|cell| cell.glyph()).collect();
            push_row(&row, out);
        }
        let mut last = vec![' '; width];
        for (column, is_box) in self.nets.iter().flat_map(|net| net.to.iter().copied()) {
            last[column] = if is_box { '▼' } else { '│' };
        }
        push_row(&last, out);
    }
}

/// Gives every net that ends at `place` a column of its own there. A column at which another net leaves the
/// layer above stays free, so that no two vertical lines ever share a column.
fn arrive(nets: &mut [Net], at: usize, place: &mut Place) {
    let mut ending: Vec<usize> = (0..nets.len()).filter(|&net| nets[net].targets.contains(&at)).collect();
    ending.sort_by_key(|&net| nets[net].from.iter().sum::<usize>() / nets[net].from.len());
    let centre = place.port;
    for (nth, &net) in ending.iter().enumerate() {
        let spread = (centre + 4 * nth + 2).saturating_sub(2 * ending.len());
        let (left, right) = place.inside;
        let straight = nets[net].from.iter().copied().find(|from| (left..=right).contains(from));
        let wanted = straight.filter(|_| nets[net].from.len() == 1).unwrap_or(spread);
        let is_free = |column: usize| {
            (left..=right).contains(&column)
                && nets.iter().enumerate().all(|(other, its)| {
                    other == net || !(its.from.contains(&column) || its.to.iter().any(|to| to.0 == column))
                })
        };
        let nearby = (0..=right - left).flat_map(|by| [wanted + by, wanted.saturating_sub(by)]);
        let column = nearby.into_iter().find(|&column| is_free(column)).unwrap_or(centre);
        let is_box = matches!(place.item, Item::Box(_));
        if !is_box {
            place.port = column;
        }
        nets[net].to.push((column, is_box));
    }
}

/// Nets whose horizontal parts do not meet share a row.
fn assign_tracks(nets: &mut [Net]) -> usize {
    let mut ends: Vec<usize> = Vec::new();
    let mut by_start: Vec<&mut Net> = nets.iter_mut().filter(|net| net.span().0 != net.span().1).collect();
    by_start.sort_by_key(|net| net.span());
    for net in by_start {
        let (start, end) = net.span();
        let track = ends.iter().position(|&last| last < start).unwrap_or(ends.len());
        if track == ends.len() {
            ends.push(end);
        } else {
            ends[track] = end;
        }
        net.track = Some(track);
    }
    ends.len()
}

impl Net {
    fn span(&self) -> (usize, usize) {
        let columns = || self.from.iter().copied().chain(self.to.iter().map(|to| to.0));
        (columns().min().unwrap_or(0), columns().max().unwrap_or(0))
    }

    /// Draws its part of one row.
    fn mark(&self, row: usize, owner: usize, cells: &mut [Cell]) {
        let Some(track) = self.track else {
            self.from.iter().for_each(|&column| cells[column].add(owner, UP | DOWN));
            return;
        };
        if row == track {
            let (start, end) = self.span();
            cells[start].add(owner, RIGHT);
            cells[end].add(owner, LEFT);
            cells[start + 1..end].iter_mut().for_each(|cell| cell.add(owner, LEFT | RIGHT));
        }
        for &column in &self.from {
            match row.cmp(&track) {
                std::cmp::Ordering::Less => cells[column].add(owner, UP | DOWN),
                std::cmp::Ordering::Equal => cells[column].add(owner, UP),
                std::cmp::Ordering::Greater => {}
            }
        }
        for &(column, _) in &self.to {
            match row.cmp(&track) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => cells[column].add(owner, DOWN),
                std::cmp::Ordering::Greater => cells[column].add(owner, UP | DOWN),
            }
        }
    }
}

const UP: u8 = 1;
const DOWN: u8 = 2;
const LEFT: u8 = 4;
const RIGHT: u8 = 8;

/// The directions that a line goes in from here, and whose line it is.
#[derive(Clone, Copy, Default)]
struct Cell {
    owner: usize,
    ways: u8,
}

impl Cell {
    fn add(&mut self, owner: usize, ways: u8) {
        let across = LEFT | RIGHT;
        if self.ways == 0 || (self.owner != owner && self.ways == across) {
            *self = Self { owner, ways };
        } else if self.owner == owner || ways != across {
            self.ways |= ways;
        }
    }

    fn glyph(self) -> char {
        const GLYPHS: [char; 16] =
            [' ', '│', '│', '│', '─', '┘', '┐', '┤', '─', '└', '┌', '├', '─', '┴', '┬', '┼'];
        GLYPHS[usize::from(self.ways)]
    }
}
