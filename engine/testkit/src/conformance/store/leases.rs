//! One lease for all nodes of a store.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::time::Duration;

use amends::ports::{Introduced, NodeProfile, NodeRegistry as _, SagaStore as _};
use amends_core::Timestamp;

use super::SharedStoreFactory;
use super::registry::{LEASE, live, me, profile, welcome};
use super::rows::{ME, OTHER, T0, dismiss, join};

pub async fn a_node_with_another_lease_than_a_live_one_is_refused(factory: impl SharedStoreFactory) {
    let store = factory.open_shared().await;
    join(&store).await;
    store.join(OTHER, "another", Timestamp(T0.0 + 1)).await.expect("it joins");
    welcome(&store, ME, &profile()).await;
    let longer = NodeProfile { lease: Some(LEASE + Duration::from_micros(1)), ..profile() };
    let refused = Introduced::OtherLease(vec![me(profile())]);
    assert_eq!(store.introduce(OTHER, &longer).await, Ok(refused));
    assert_eq!(live(&store).await[1].profile, NodeProfile::default(), "nothing was written");
    welcome(&store, OTHER, &NodeProfile { lease: None, ..profile() }).await;
    welcome(&store, OTHER, &profile()).await;
    dismiss(&store, ME, T0).await;
    welcome(&store, OTHER, &longer).await;
}

pub async fn of_two_leases_at_once_one_is_refused(factory: impl SharedStoreFactory) {
    let store = factory.open_shared().await;
    join(&store).await;
    store.join(OTHER, "another", T0).await.expect("it joins");
    let shorter = NodeProfile { lease: Some(LEASE / 2), ..profile() };
    let (one, two) = (store.clone(), store.clone());
    let one = tokio::spawn(async move { one.introduce(ME, &profile()).await });
    let two = tokio::spawn(async move { two.introduce(OTHER, &shorter).await });
    let answers = [one.await.expect("it answers"), two.await.expect("it answers")];
    let refused = answers.iter().filter(|answer| matches!(answer, Ok(Introduced::OtherLease(_)))).count();
    let welcome = answers.iter().filter(|answer| **answer == Ok(Introduced::Welcome)).count();
    assert_eq!((welcome, refused), (1, 1), "{answers:?}");
}
