//! What a store is asked, as steps at the ensemble.

pub(crate) mod asking;
pub(crate) mod full_queue;
pub(crate) mod granting;
pub(crate) mod hinting;
pub(crate) mod inspect;
pub(crate) mod known;
pub(crate) mod passing;
pub(crate) mod permits;
pub(crate) mod refusing;
pub(crate) mod release;
pub(crate) mod renewal;
pub(crate) mod strangers;
pub(crate) mod token_form;
pub(crate) mod watch;
