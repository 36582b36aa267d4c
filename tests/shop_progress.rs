//! The shop's progress has one line of a common terminal, however much there is to do.

#[path = "../examples/shop/progress.rs"]
#[allow(dead_code)]
mod progress;
#[path = "../examples/shop/text.rs"]
#[allow(dead_code)]
mod text;

use progress::Tally;

#[test]
fn progress_does_not_wrap_at_eighty_columns() {
    let many = Tally { sagas: 99_999, begun: 99_999, ended: 89_001, waiting: 9_999, turning_back: 999 };
    // Before it: the time, and the bar that takes what is left, or the time alone.
    for before in ["  59s [=] ", "9999.9 s  "] {
        let line = format!("{before}{many}");
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}
