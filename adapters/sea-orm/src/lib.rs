//! sea-orm
