use expect_test::{Expect, expect};

use super::*;
use crate::plan::{Contract, Input, QueryPolicy, RetryPolicy, Schemas, Settle, StepPlan, UndoPlan};

/// A step named `name` that takes the outputs of `needs` (by name), in the words of a plan.
struct Sketch(Vec<StepPlan>);

impl Sketch {
    fn new() -> Self {
        Self(Vec::new())
    }

    fn add(mut self, kind: StepKind, name: &str, needs: &[&str], after: &[&str]) -> Self {
        let find = |name: &&str| StepIx(self.0.iter().position(|s| *s.name == **name).expect("known"));
        let mut sources: Vec<Source> = needs.iter().map(find).map(Source::Step).collect();
        if sources.is_empty() {
            sources.push(Source::SagaInput);
        }
        let settle = if kind == StepKind::Read { Settle::NoEffect } else { Settle::ByQuery };
        let undo = UndoPlan { settle: Settle::ByRepeating, in_doubt: Default::default() };
        self.0.push(StepPlan {
            name: name.into(),
            kind,
            after: after.iter().map(find).collect(),
            input: Input::Recorded(sources),
            settle,
            undo: (kind == StepKind::Compensated).then_some(undo),
            contract: Contract::unstated(),
            schemas: Schemas { input: "in/1".into(), output: "out/1".into(), refusal: "no/1".into() },
            retry: RetryPolicy::default(),
            query: QueryPolicy::default(),
            compensation: RetryPolicy::default(),
        });
        self
    }

    fn step(self, name: &str, needs: &[&str]) -> Self {
        self.add(StepKind::Compensated, name, needs, &[])
    }

    fn plan(self) -> SagaPlan {
        let last = Source::Step(StepIx(self.0.len() - 1));
        SagaPlan::new("order", 3, "order-placed/1", self.0, last).expect("a good plan")
    }
}

fn order() -> SagaPlan {
    Sketch::new()
        .step("reserve-stock", &[])
        .step("authorize-payment", &[])
        .add(StepKind::Pivot, "capture-payment", &["authorize-payment"], &[])
        .add(StepKind::Retriable, "ship-parcel", &["reserve-stock", "capture-payment"], &[])
        .add(StepKind::Retriable, "notify", &["ship-parcel"], &[])
        .plan()
}

fn check(picture: String, expected: Expect) {
    expected.assert_eq(&picture);
}

#[test]
fn the_order_saga_as_text() {
    check(
        text(&order()),
        expect![[r#"
        ┌─────────────────────┐   ┌─────────────────────┐
        │   reserve-stock ↺   │   │ authorize-payment ↺ │
        └──────────┬──────────┘   └──────────┬──────────┘
                   └────────────┬────────────┘
                                ▼
                     ╔═════════════════════╗
                     ║   capture-payment   ║
                     ╚══════════╤══════════╝
                                ▼
                     ┌─────────────────────┐
                     │     ship-parcel     │
                     └──────────┬──────────┘
                                ▼
                     ┌─────────────────────┐
                     │       notify        │
                     └─────────────────────┘

        ↺ has a compensation   ═ pivot: no way back
    "#]],
    );
}

#[test]
fn words_stand_under_the_steps_that_have_one() {
    let word = |ix: StepIx| ["SUCCEEDED", "TERMINAL_REJECTED", "SKIPPED"].get(ix.0).copied();
    check(
        text_with(&order(), word),
        expect![[r#"
        ┌─────────────────────┐   ┌─────────────────────┐
        │   reserve-stock ↺   │   │ authorize-payment ↺ │
        │      SUCCEEDED      │   │  TERMINAL_REJECTED  │
        └──────────┬──────────┘   └──────────┬──────────┘
                   └────────────┬────────────┘
                                ▼
                     ╔═════════════════════╗
                     ║   capture-payment   ║
                     ║       SKIPPED       ║
                     ╚══════════╤══════════╝
                                ▼
                     ┌─────────────────────┐
                     │     ship-parcel     │
                     │                     │
                     └──────────┬──────────┘
                                ▼
                     ┌─────────────────────┐
                     │       notify        │
                     │                     │
                     └─────────────────────┘

        ↺ has a compensation   ═ pivot: no way back
    "#]],
    );
}

#[test]
fn a_chain_as_text() {
    let plan = Sketch::new().step("a", &[]).step("bc", &["a"]).step("def", &["bc"]).plan();
    check(
        text(&plan),
        expect![[r#"
        ┌───────┐
        │  a ↺  │
        └───┬───┘
            ▼
        ┌───────┐
        │ bc ↺  │
        └───┬───┘
            ▼
        ┌───────┐
        │ def ↺ │
        └───────┘

        ↺ has a compensation
    "#]],
    );
}

#[test]
fn a_diamond_as_text() {
    let plan = Sketch::new()
        .add(StepKind::Read, "quote", &[], &[])
        .step("left", &["quote"])
        .step("right", &["quote"])
        .step("join", &["left", "right", "quote"])
        .plan();
    check(
        text(&plan),
        expect![[r#"
               ╭╌╌╌╌╌╌╌╌╌╮
               ╎  quote  ╎
               ╰╌╌╌╌┬╌╌╌╌╯
             ┌──────┴──────┐
             ▼             ▼
        ┌─────────┐   ┌─────────┐
        │ left ↺  │   │ right ↺ │
        └────┬────┘   └────┬────┘
             └──────┬──────┘
                    ▼
               ┌─────────┐
               │ join ↺  │
               └─────────┘

        ↺ has a compensation   ╌ read
    "#]],
    );
}

#[test]
fn an_edge_over_several_layers_has_a_lane() {
    let plan = Sketch::new()
        .step("first", &[])
        .step("second", &["first"])
        .step("third", &["second"])
        .step("apart", &[])
        .step("last", &["third", "apart"])
        .plan();
    check(
        text(&plan),
        expect![[r#"
        ┌───────────┐   ┌───────────┐
        │  first ↺  │   │  apart ↺  │
        └─────┬─────┘   └─────┬─────┘
              ▼               │
        ┌───────────┐         │
        │ second ↺  │         │
        └─────┬─────┘         │
              ▼               │
        ┌───────────┐         │
        │  third ↺  │         │
        └─────┬─────┘         │
              └───────┬───────┘
                      ▼
                ┌───────────┐
                │  last ↺   │
                └───────────┘

        ↺ has a compensation
    "#]],
    );
}

#[test]
fn lines_that_cross_do_not_touch() {
    let plan = Sketch::new()
        .step("a", &[])
        .step("b", &[])
        .step("c", &[])
        .step("x", &["a", "c"])
        .step("y", &["b"])
        .step("z", &["a", "b"])
        .plan();
    check(
        text(&plan),
        expect![[r#"
        ┌─────┐   ┌─────┐   ┌─────┐
        │ a ↺ │   │ b ↺ │   │ c ↺ │
        └──┬──┘   └──┬──┘   └──┬──┘
           ├───────┐ │ ┌───────┘
           │ ┌─────│─┴─│────────┐
           ▼ ▼     ▼   ▼        ▼
        ┌─────┐   ┌─────┐   ┌─────┐
        │ z ↺ │   │ x ↺ │   │ y ↺ │
        └─────┘   └─────┘   └─────┘

        ↺ has a compensation
    "#]],
    );
}

#[test]
fn independent_chains_stand_side_by_side() {
    let plan = Sketch::new().step("a1", &[]).step("b1", &[]).step("a2", &["a1"]).step("b2", &["b1"]).plan();
    check(
        text(&plan),
        expect![[r#"
        ┌───────┐   ┌───────┐
        │ a1 ↺  │   │ b1 ↺  │
        └───┬───┘   └───┬───┘
            ▼           ▼
        ┌───────┐   ┌───────┐
        │ a2 ↺  │   │ b2 ↺  │
        └───────┘   └───────┘

        ↺ has a compensation
    "#]],
    );
}

#[test]
fn fan_out_and_fan_in_as_text() {
    let plan = Sketch::new()
        .step("plan-trip", &[])
        .step("book-flight", &["plan-trip"])
        .step("book-hotel", &["plan-trip"])
        .step("book-car", &["plan-trip"])
        .add(StepKind::Pivot, "charge", &["book-car"], &[])
        .plan();
    check(
        text(&plan),
        expect![[r#"
                            ┌───────────────┐
                            │  plan-trip ↺  │
                            └───────┬───────┘
                ┌───────────────────┼───────────────────┐
                ▼                   ▼                   ▼
        ┌───────────────┐   ┌───────────────┐   ┌───────────────┐
        │ book-flight ↺ │   │ book-hotel ↺  │   │  book-car ↺   │
        └───────┬───────┘   └───────┬───────┘   └───────┬───────┘
                └───────────────────┼───────────────────┘
                                    ▼
                            ╔═══════════════╗
                            ║    charge     ║
                            ╚═══════════════╝

        ↺ has a compensation   ═ pivot: no way back
    "#]],
    );
}

#[test]
fn mermaid_tells_data_order_and_barrier_apart() {
    let plan = Sketch::new()
        .add(StepKind::Read, "quote", &[], &[])
        .step("reserve", &["quote"])
        .add(StepKind::Compensated, "authorize", &["quote"], &["reserve"])
        .step("hold", &[])
        .add(StepKind::Pivot, "capture", &["authorize"], &[])
        .add(StepKind::Retriable, "ship", &["reserve"], &[])
        .plan();
    check(
        mermaid(&plan),
        expect![[r#"
            flowchart LR
                s0(["quote"])
                s1["reserve ↺"]
                s2["authorize ↺"]
                s3["hold ↺"]
                s4{{"capture"}}
                s5["ship"]
                s0 --> s1
                s0 --> s2
                s1 -.-> s2
                s2 --> s4
                s3 ==> s4
                s1 --> s5
                s4 ==> s5
                class s0 read
                class s4 pivot
                classDef pivot stroke-width:3px
                classDef read stroke-dasharray:4 3
        "#]],
    );
    check(
        dot(&plan),
        expect![[r#"
        digraph "order 3" {
            rankdir=LR;
            node [shape=box];
            s0 [label="quote", style="rounded,dashed"];
            s1 [label="reserve ↺"];
            s2 [label="authorize ↺"];
            s3 [label="hold ↺"];
            s4 [label="capture", shape=hexagon, penwidth=3];
            s5 [label="ship"];
            s0 -> s1;
            s0 -> s2;
            s1 -> s2 [style=dotted];
            s2 -> s4;
            s3 -> s4 [penwidth=3];
            s1 -> s5;
            s4 -> s5 [penwidth=3];
        }
    "#]],
    );
}

#[test]
fn mermaid_colours_the_stages() {
    let plan = Sketch::new().step("a", &[]).step("b", &["a"]).plan();
    let word = |ix: StepIx| (ix.0 == 0).then_some("RETRY_SCHEDULED");
    check(
        mermaid_with(&plan, word),
        expect![[r#"
            flowchart LR
                s0["a ↺<br/>RETRY_SCHEDULED"]
                s1["b ↺"]
                s0 --> s1
                class s0 retry-scheduled
                classDef retry-scheduled fill:#cfe8ff
        "#]],
    );
}

#[test]
fn json_has_everything_but_numbers_of_policies() {
    let plan = Sketch::new().step("a", &[]).add(StepKind::Pivot, "b", &["a"], &[]).plan();
    check(
        json(&plan),
        expect![[r#"
        {
          "workflow": "order",
          "version": 3,
          "digest": "88f5f033bb9a8ad758959306b6f48549c3de48e7ba9fd1f1406995d57dd191a8",
          "input": "order-placed/1",
          "result": "b",
          "pivot": "b",
          "steps": [
            {
              "name": "a",
              "kind": "step",
              "input": {
                "shaped": false,
                "sources": [
                  "input"
                ]
              },
              "waits_for": [],
              "settle": "by query",
              "compensation": {
                "settle": "by repeating",
                "in_doubt": "wait",
                "policy": "default"
              },
              "policies": {
                "retry": "default",
                "query": "default"
              },
              "schemas": {
                "input": "in/1",
                "output": "out/1",
                "refusal": "no/1"
              },
              "contract": {
                "keeps_answers": false
              }
            },
            {
              "name": "b",
              "kind": "pivot",
              "input": {
                "shaped": false,
                "sources": [
                  "a"
                ]
              },
              "waits_for": [
                "a"
              ],
              "settle": "by query",
              "policies": {
                "retry": "default",
                "query": "default"
              },
              "schemas": {
                "input": "in/1",
                "output": "out/1",
                "refusal": "no/1"
              },
              "contract": {
                "keeps_answers": false
              }
            }
          ]
        }"#]],
    );
}
