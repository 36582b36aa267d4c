//! Everything that can be a step's input.

use amends::prelude::*;

/// A list's elements are of one type, and every closure has its own: a named function is one.
fn plus_one(n: u64) -> u64 {
    n + 1
}

#[test]
fn a_function_of_several_handles_keeps_what_they_wait_for() {
    let (mut s, n) = SagaBuilder::<u64>::new("inputs", 1);
    let a = s.read_fn("a", n, |_, n| async move { Ok(n) });
    let b = s.read_fn("b", n, |_, n| async move { Ok(n.to_string()) });
    let c = s.read_fn("c", n, |_, n| async move { Ok(n) });
    let input = (n.after(a), b).map(|(n, text)| format!("{n} {text}"));
    let d = s.read_fn("d", input, |_, text| async move { Ok(text) });
    let e = s.read_fn("e", n.after(c).after(d).map(plus_one), |_, n| async move { Ok(n) });
    let plan = s.finish(e).expect("a good definition").plan().clone();
    let waits = |name| {
        let parents = plan.graph.parents(plan.find(name).expect("it is there"));
        parents.iter().map(|parent| plan.step(*parent).name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!((waits("d"), waits("e")), (vec!["a".into(), "b".into()], vec!["c".into(), "d".into()]));
}

#[test]
fn handles_tuples_lists_and_functions_of_them_are_inputs() {
    let (mut s, n) = SagaBuilder::<u64>::new("inputs", 1);
    let nothing = s.read_fn("nothing", (), |_, ()| async { Ok(()) });
    let one = s.read_fn("one", (n,), |_, (n,): (u64,)| async move { Ok(Some(n)) });
    let text = s.read_fn("text", n.map(|n| n.to_string()), |_, text: String| async move { Ok(text) });
    let list = s.read_fn("list", vec![text, text], |_, list: Vec<String>| async move { Ok(list) });
    let mapped = s.read_fn(
        "mapped",
        vec![n.map(plus_one), n.map(plus_one)].after(nothing),
        |_, list: Vec<u64>| async move { Ok(list.len() as u64) },
    );
    let nested = s.read_fn(
        "nested",
        ((n, text), one.map(|one| one.is_some()).after(list)),
        |_, ((n, text), is_there): ((u64, String), bool)| async move { Ok((n, text, is_there)) },
    );
    let eight = (n, n, n, n, n, n, n, mapped.after(nested));
    let sum = s.read_fn(
        "eight",
        eight,
        |_, (a, b, c, d, e, f, g, h): (u64, u64, u64, u64, u64, u64, u64, u64)| async move {
            Ok(a + b + c + d + e + f + g + h)
        },
    );
    let saga = s.finish(sum).expect("a good definition");
    let waits = |name| saga.plan().graph.parents(saga.plan().find(name).unwrap()).len();
    assert_eq!(
        [waits("nothing"), waits("list"), waits("mapped"), waits("nested"), waits("eight")],
        [0, 1, 1, 3, 2]
    );
}
