//! What can be asked.

use amends::Engine;
use amends::core::event::Answer;
use amends::operator::OperatedSaga;
use serde_json::{Value, json};

use super::request::{Asked, Problem, Start, options, read};
use super::shown;

/// The endpoints, by their names.
pub(super) const ALL: [&str; 18] = [
    "start",
    "inspect",
    "verbs",
    "cancel",
    "turn-back",
    "pause",
    "unpause",
    "resume",
    "retry-now",
    "send-again",
    "reject",
    "waive",
    "accept",
    "found",
    "approve",
    "deny",
    "outbox",
    "let-go",
];

pub(super) async fn answer(engine: &Engine, verb: &str, payload: &[u8]) -> Result<Value, Problem> {
    if verb == "start" {
        return start(engine, read(payload)?).await;
    }
    let asked: Asked = read(payload)?;
    match verb {
        "outbox" => {
            let outbox = engine.outbox().await;
            return Ok(shown::outbox(&outbox.map_err(|fault| Problem::unavailable(fault.to_string()))?));
        }
        "let-go" => {
            let answer = engine.operator().let_go(asked.message()?, asked.by()?).await?;
            return Ok(json!({"answer": word(&answer)}));
        }
        _ => {}
    }
    let saga = engine.operator().saga(asked.saga(engine).await?);
    match verb {
        "inspect" => Ok(shown::saga(&saga.inspect().await?)),
        "verbs" => {
            let offers = saga.verbs().await?;
            Ok(
                json!({"saga": saga.id().to_string(), "verbs": offers.iter().map(shown::offer).collect::<Vec<_>>()}),
            )
        }
        _ => Ok(json!({"answer": word(&decide(&saga, verb, &asked).await?)})),
    }
}

async fn start(engine: &Engine, start: Start) -> Result<Value, Problem> {
    let Start { workflow, key, input, occurred_at } = start;
    let options = options(occurred_at.as_deref())?;
    let saga = engine.start_json(&workflow, &key, input, options).await?;
    Ok(json!({"saga": saga.id().to_string(), "workflow": workflow, "key": key}))
}

async fn decide(saga: &OperatedSaga, verb: &str, asked: &Asked) -> Result<Answer, Problem> {
    let by = asked.by()?;
    let answer = match verb {
        "cancel" => saga.cancel(by).await,
        "turn-back" => saga.turn_back(by).await,
        "pause" => saga.pause(by).await,
        "unpause" => saga.unpause(by).await,
        "resume" => saga.resume(asked.action()?, by).await,
        "retry-now" => saga.retry_now(asked.action()?, by).await,
        "send-again" => saga.send_again(asked.action()?, by).await,
        "reject" => saga.reject(asked.action()?, by).await,
        "waive" => saga.waive(asked.action()?, by).await,
        "accept" => saga.accept(asked.action()?, asked.output.clone(), asked.evidence()?, by).await,
        "found" => saga.found(asked.action()?, asked.finding()?, asked.evidence()?, by).await,
        "approve" => saga.approve(asked.action()?, by).await,
        "deny" => saga.deny(asked.action()?, by).await,
        other => return Err(Problem::unknown(format!("there is no verb `{other}`"))),
    };
    Ok(answer?)
}

fn word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Accepted => "accepted",
        Answer::TooLate => "too-late",
        Answer::Pending => "pending",
        Answer::Already => "already",
        Answer::Refused { .. } => "refused",
    }
}
