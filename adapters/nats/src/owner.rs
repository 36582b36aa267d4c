//! Whose a consumer is.
//!
//! Nodes of one store share a consumer; those of another would take what is theirs, and find no saga for it. So whoever declares
//! a consumer for an engine writes its own incarnation into its metadata, and whoever finds one looks whether that
//! incarnation ever joined its own store. One without a mark was made by somebody else, a person or an older version, and is taken
//! as it is.

use std::collections::HashMap;

use amends::Engine;
use amends::core::Incarnation;
use async_nats::jetstream::consumer;

use crate::declare::DeclareError;

/// The key of the incarnation.
const INCARNATION: &str = "amends-incarnation";

/// The key of what the node calls itself, for people.
const NODE: &str = "amends-node";

/// What is written into a consumer that this engine declares.
pub(crate) fn mark(engine: &Engine) -> HashMap<String, String> {
    let incarnation = engine.incarnation().to_string();
    HashMap::from([(INCARNATION.to_owned(), incarnation), (NODE.to_owned(), engine.node_name().to_owned())])
}

/// Is this consumer one of this engine's store?
///
/// # Errors
/// When it is another's, or nobody can tell.
pub(crate) async fn look(engine: &Engine, of: String, found: &consumer::Info) -> Result<(), DeclareError> {
    let marked = |key| found.config.metadata.get(key).map(String::as_str);
    let Some(incarnation) = marked(INCARNATION) else { return Ok(()) };
    let known = match incarnation.parse().map(Incarnation) {
        Ok(incarnation) if incarnation == engine.incarnation() => true,
        Ok(incarnation) => engine.has_joined(incarnation).await.map_err(|fault| {
            let reason = format!("whose it is cannot be told: {fault}");
            DeclareError::Unreachable { of: of.clone(), reason }
        })?,
        // Nobody here wrote that.
        Err(_) => false,
    };
    if known {
        return Ok(());
    }
    let node = marked(NODE).unwrap_or("nameless");
    Err(DeclareError::OfAnotherStore {
        of,
        owner: format!("{node} ({incarnation})"),
        this: format!("{} ({})", engine.node_name(), engine.incarnation()),
    })
}
