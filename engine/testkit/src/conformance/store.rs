//! The store's suite: [`store_conformance!`](crate::store_conformance) makes one `#[test]` of each behaviour.
//!
//! An adapter needs a [`StoreFactory`] and one line. If nodes can share its store, it implements
//! [`SharedStoreFactory`] and adds [`store_conformance_of_nodes!`](crate::store_conformance_of_nodes). If it can also make its real connection fail, it
//! implements [`FaultyStoreFactory`] and adds
//! [`store_conformance_under_faults!`](crate::store_conformance_under_faults).
//!
//! ```
//! use amends::memory::MemoryStore;
//! use amends_testkit::conformance::store::StoreFactory;
//!
//! struct InMemory;
//!
//! #[async_trait::async_trait]
//! impl StoreFactory for InMemory {
//!     type Store = MemoryStore;
//!
//!     async fn open(&self) -> MemoryStore {
//!         MemoryStore::new()
//!     }
//!
//!     async fn reopen(&self, store: MemoryStore) -> MemoryStore {
//!         store
//!     }
//! }
//!
//! amends_testkit::store_conformance!(InMemory);
//! ```

pub mod batches;
pub mod claims;
pub mod control;
pub mod desk;
pub mod faults;
pub mod fencing;
pub mod held;
pub mod hints;
pub mod intake;
pub mod lanes;
pub mod leases;
pub mod limits;
pub mod lists;
pub mod mail;
pub mod nodes;
pub mod outbox;
pub mod ownership;
pub mod purge;
pub mod recovery;
pub mod registry;
mod rows;
pub mod starts;

use amends::ports::{SagaMail, Store};
use async_trait::async_trait;

/// Makes the stores under test. One factory serves one test: it may own the folder that the store lives in.
#[async_trait]
pub trait StoreFactory: Send + Sync + 'static {
    /// The store.
    type Store: Store + SagaMail + Clone;

    /// An empty store, opened. Called once.
    async fn open(&self) -> Self::Store;

    /// The process that had `store` open ended, and another one opens the same data.
    async fn reopen(&self, store: Self::Store) -> Self::Store;
}

/// Makes stores that several nodes share.
#[async_trait]
pub trait SharedStoreFactory: StoreFactory {
    /// An empty store, opened, whose [`Sharing`](amends::ports::Sharing) is `Shared`. Called once, instead of
    /// [`StoreFactory::open`].
    async fn open_shared(&self) -> Self::Store;
}

/// Makes the real connection of a store fail. Faults are raised where the database is, never in a double.
#[async_trait]
pub trait FaultyStoreFactory: StoreFactory {
    /// The next `count` transactions commit, but their callers learn only that the store is unavailable.
    async fn lose_answers(&self, store: &Self::Store, count: u32);

    /// Until told otherwise the database refuses every write, as on a read-only file.
    async fn refuse_writes(&self, store: &Self::Store, refused: bool);

    /// From now on the database refuses every journal row whose actor is `actor`.
    async fn poison(&self, store: &Self::Store, actor: &str);

    /// Somebody else, who is no Amends process, holds what writers need until the guard is dropped.
    async fn occupy(&self, store: &Self::Store) -> Box<dyn Send>;

    /// Removes an incarnation's `worker` row behind the store's back, as another node that takes over does.
    async fn take_over(&self, store: &Self::Store, incarnation: amends_core::Incarnation);
}

/// Holds single rows of a store whose locks are as fine as that. As [`FaultyStoreFactory`], where the database is.
#[async_trait]
pub trait HoldingStoreFactory: FaultyStoreFactory {
    /// Somebody else's open transaction has begun a saga under this key, until the guard is dropped: then it is
    /// rolled back, perhaps a moment later.
    async fn hold_key(&self, store: &Self::Store, workflow: &str, key: &str) -> Box<dyn Send>;

    /// Somebody else's open transaction holds the row of this saga, as a purge or a person at a SQL prompt does.
    async fn hold_saga(&self, store: &Self::Store, saga: amends_core::SagaId) -> Box<dyn Send>;
}

/// Runs one behaviour against one store, on a runtime of its own.
///
/// # Panics
/// When the store does not behave.
pub fn check<F, B>(factory: F, behaviour: impl FnOnce(F) -> B)
where
    B: Future<Output = ()>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime starts").block_on(behaviour(factory));
}

/// One `#[test]` for each behaviour that every store must show. The argument is an expression that makes a
/// [`StoreFactory`](crate::conformance::store::StoreFactory).
#[macro_export]
macro_rules! store_conformance {
    ($factory:expr) => {
        $crate::store_behaviours! { $factory;
            batches::{
                a_batch_reads_back_as_it_was_written,
                an_occupied_sequence_refuses_one_of_256,
                a_refused_transition_leaves_no_trace_anywhere,
                a_resubmitted_batch_is_accepted_and_changes_nothing,
                a_resubmission_beside_the_first_is_safe,
                a_caller_that_goes_away_loses_only_the_answer,
                verdicts_come_in_the_order_of_the_batch,
                an_empty_batch_writes_nothing,
                two_commits_of_one_saga_are_the_callers_mistake,
            }
            starts::{
                a_saga_is_born_owned_running_and_not_due,
                the_same_start_twice_at_once_is_one_saga,
                a_taken_key_names_its_holder,
                two_starts_of_one_key_in_one_batch_make_one_saga,
                a_repeated_start_of_a_saga_that_went_on_is_accepted,
                racing_starters_make_one_saga_per_key,
                a_key_is_unique_within_its_workflow_only,
                a_start_shows_what_its_first_transition_changed,
            }
            fencing::{
                a_fenced_incarnation_writes_nothing,
                a_fenced_incarnation_claims_nothing,
                a_node_of_the_same_name_is_another_and_fences_the_first,
                a_fenced_incarnation_cannot_join_again,
                who_never_joined_writes_nothing,
                who_left_writes_nothing,
            }
            claims::{
                a_saga_is_due_from_its_wake_up_time_on,
                the_oldest_are_claimed_first_and_never_above_the_limit,
                concurrent_claims_take_each_saga_once,
                only_registered_definitions_are_claimed,
                one_saga_can_be_claimed_due_or_not,
                a_release_of_what_is_not_mine_moves_only_the_phase,
                an_ended_saga_is_always_released,
                an_ended_saga_with_open_actions_is_kept_until_it_is_released,
                a_saga_released_without_time_is_not_due,
                a_saga_set_aside_is_listed_and_never_claimed,
            }
            desk::{
                items_come_change_and_go_with_their_commits,
                the_desk_lists_the_oldest_first,
                an_entry_with_the_longest_texts_is_kept_and_found,
                compensation_records_begin_are_approved_and_end,
                a_compensation_record_may_begin_and_end_in_one_commit,
            }
            ownership::{
                joining_releases_the_sagas_of_the_dead,
                joining_wakes_what_a_clock_set_that_ran_ahead,
                many_sagas_of_the_dead_are_each_claimed_once,
                joining_again_keeps_what_is_mine,
                leaving_releases_what_is_mine,
                a_new_process_finds_everything,
            }
            recovery::{
                journals_are_loaded_whole_and_in_the_order_asked,
                a_hole_in_a_journal_is_loaded_as_it_is,
                text_is_kept_as_it_came,
                lists_come_in_pages_of_id_order,
                lists_are_filtered_and_bounded,
                what_does_not_exist_is_not_found,
                counts_are_what_was_written,
            }
            mail::{
                a_mail_reads_back_as_it_was_posted,
                the_same_key_again_finds_the_first_with_its_answer,
                racing_posters_of_one_key_post_once,
                mail_to_no_saga_is_told_apart,
                who_posts_needs_no_incarnation,
                a_saga_full_of_mail_takes_no_more_until_some_is_read,
                mail_is_read_once_with_the_commit_that_decides_it,
                a_refused_commit_reads_no_mail,
                mail_that_a_transition_brings_along_stands_there_as_if_it_had_been_posted,
                mail_that_is_brought_consumes_what_was_posted_under_its_key,
                who_posts_while_the_same_mail_is_brought_finds_one,
                unread_mail_is_that_of_my_own_sagas_in_order,
                who_has_mail_is_claimed_ended_or_not,
                due_sagas_are_claimed_before_those_with_mail,
                mail_that_no_store_takes_is_refused_to_the_poster,
            }
            outbox::{
                messages_are_read_as_they_were_written,
                a_refused_commit_leaves_no_message,
                a_resubmitted_commit_brings_no_message_twice,
                who_owns_no_lane_reads_nothing,
                who_has_no_worker_row_has_no_outbox,
                of_a_sagas_events_the_next_waits_for_the_one_before,
                commands_and_notices_do_not_wait_for_each_other,
                messages_of_ended_and_unowned_sagas_go_out_too,
                what_was_not_removed_comes_again_after_a_takeover,
                a_refused_message_waits_and_is_shown,
                a_refused_event_holds_up_its_own_saga_only,
                a_refusal_by_a_clock_that_ran_ahead_is_due,
                what_is_left_of_many_is_found_in_small_pages,
                a_transition_has_so_many_messages_and_no_more,
                what_is_let_go_is_gone_and_the_next_event_of_its_saga_goes_out,
                only_what_was_refused_is_let_go,
                racing_orders_let_a_message_go_once,
            }
            control::{
                a_control_is_in_force_until_it_is_lifted,
                what_is_so_already_stays_as_it_is,
                an_order_that_comes_again_finds_its_answer_and_changes_nothing,
                racing_orders_of_one_id_count_once,
                racing_orders_of_one_key_leave_one_in_force,
                no_more_controls_are_in_force_than_may_be,
                a_control_that_no_store_takes_is_refused,
                old_orders_are_purged_but_for_what_is_in_force,
                controls_and_their_orders_outlive_the_process,
            }
            intake::{
                a_message_reads_back_as_it_was_put,
                the_same_message_again_is_counted_and_adds_nothing,
                a_put_that_is_repeated_is_counted_once,
                racing_puts_of_one_message_keep_one_row,
                a_full_source_takes_no_more_until_some_is_closed,
                open_messages_are_listed_in_pages_the_oldest_first,
                a_message_is_closed_once,
                who_closes_at_once_closes_once,
                messages_that_no_store_takes_are_refused,
            }
            purge::{
                a_purged_saga_leaves_its_key_and_how_it_ended,
                what_is_not_over_or_waits_for_somebody_is_never_purged,
                who_ended_first_is_purged_first_and_in_chunks,
                many_purge_each_saga_once_beside_starts_and_posters,
                what_is_left_is_forgotten_and_its_key_is_free,
                closed_messages_go_and_open_ones_stay,
            }
            registry::{
                what_a_node_says_of_itself_is_read_back_and_may_be_said_again,
                only_who_is_alive_introduces_itself_and_is_listed,
                whoever_joined_once_is_remembered,
                open_sagas_are_counted_by_definition,
            }
            lists::{
                a_saga_keeps_its_tenant_and_its_labels,
                sagas_are_found_by_tenant_and_age,
                sagas_are_found_by_phase_open_and_ended,
                sagas_that_need_attention_are_found_by_step_and_reason,
                a_full_page_says_where_the_next_one_begins,
                desk_entries_are_found_by_each_filter,
                desk_entries_come_in_pages_the_oldest_first,
                alike_entries_are_counted_the_largest_group_first,
            }
            limits::{
                nul_is_refused_wherever_it_stands,
                one_unstorable_commit_among_255_stands_alone,
                a_key_of_512_bytes_is_the_longest,
                a_version_of_31_bits_is_the_greatest,
                a_sequence_and_its_start_belong_together,
                unknown_words_are_refused,
            }
        }
    };
}

/// One `#[test]` for each behaviour of a store that nodes share. The argument is an expression that makes a
/// [`SharedStoreFactory`](crate::conformance::store::SharedStoreFactory).
#[macro_export]
macro_rules! store_conformance_of_nodes {
    ($factory:expr) => {
        $crate::store_behaviours! { $factory;
            nodes::{
                joining_leaves_the_others_alone,
                a_beat_moves_my_counter_and_no_other,
                who_never_joined_cannot_beat,
                a_dismissed_incarnation_does_nothing_any_more,
                a_counter_that_moved_saves_its_node,
                of_many_dismissals_one_counts,
                a_batch_beside_a_dismissal_is_whole_or_nothing,
                the_sagas_of_the_dismissed_stay_theirs_until_released,
                orphans_are_released_in_chunks_beside_live_owners,
                many_nodes_release_each_orphan_once,
                leaving_hands_over_what_is_mine_and_nothing_else,
                what_another_node_owns_cannot_be_set_aside,
                my_sagas_are_listed_in_pages,
                a_clock_that_ran_ahead_is_mended_in_chunks,
            }
            lanes::{
                nodes_share_the_lanes_evenly,
                racing_nodes_own_each_lane_once,
                lanes_of_the_dismissed_are_released_with_their_sagas,
                who_leaves_gives_its_lanes_up,
                who_lost_a_lane_removes_nothing_of_it,
            }
            leases::{
                a_node_with_another_lease_than_a_live_one_is_refused,
                of_two_leases_at_once_one_is_refused,
            }
        }
    };
}

/// One `#[test]` for each behaviour of a store that nodes share and that gives hints. The argument is as for
/// [`store_conformance_of_nodes!`](crate::store_conformance_of_nodes).
#[macro_export]
macro_rules! store_conformance_of_hints {
    ($factory:expr) => {
        $crate::store_behaviours! { $factory;
            hints::{
                the_owner_of_a_saga_is_told_of_its_mail_and_nobody_else,
                everybody_is_told_of_mail_to_a_saga_without_owner,
                everybody_is_told_of_a_saga_that_was_released_and_is_due,
                everybody_is_told_of_the_sagas_of_who_left,
                everybody_is_told_of_orphans_that_were_released,
            }
        }
    };
}

/// One `#[test]` for each behaviour under faults of the real connection. The argument is an expression that
/// makes a [`FaultyStoreFactory`](crate::conformance::store::FaultyStoreFactory).
#[macro_export]
macro_rules! store_conformance_under_faults {
    ($factory:expr) => {
        $crate::store_behaviours! { $factory;
            faults::{
                a_poisonous_row_among_255_stands_alone,
                a_poisonous_start_leaves_no_saga,
                a_lost_answer_is_found_by_resubmitting,
                a_lost_answer_of_starts_is_found_by_resubmitting,
                a_lost_answer_of_a_post_is_found_by_posting_again,
                a_lost_answer_of_the_outbox_is_found_by_asking_again,
                a_lost_answer_of_a_put_is_found_by_putting_again,
                a_refusing_database_is_unavailable_until_it_heals,
                an_occupied_database_is_unavailable_within_bounds,
                a_reader_does_not_wait_for_who_occupies,
                a_takeover_behind_the_stores_back_fences,
            }
        }
    };
}

/// One `#[test]` for each behaviour of a store of which somebody holds single rows. The argument is an expression that
/// makes a [`HoldingStoreFactory`](crate::conformance::store::HoldingStoreFactory).
#[macro_export]
macro_rules! store_conformance_of_held_rows {
    ($factory:expr) => {
        $crate::store_behaviours! { $factory;
            held::{
                a_start_whose_key_is_held_by_an_open_transaction_holds_up_nobody_else,
                a_transition_whose_saga_is_held_comes_later_alone,
                of_many_commits_those_that_are_held_come_later,
                of_those_who_waited_for_a_key_one_gets_it,
                a_held_saga_is_neither_claimed_nor_set_aside,
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! store_behaviours {
    ($factory:expr; $($area:ident :: { $($behaviour:ident),* $(,)? })*) => {$(
        mod $area {
            use super::*;
            $(
                #[test]
                fn $behaviour() {
                    $crate::conformance::store::check(
                        $factory,
                        $crate::conformance::store::$area::$behaviour,
                    );
                }
            )*
        }
    )*};
}
