//! A client of one server: the protocol, a connection that many calls share, and what failures mean.

pub(crate) mod connection;
pub(crate) mod error;
pub(crate) mod failure;
pub(crate) mod pool;
pub(crate) mod protocol;

pub(crate) use self::{
    connection::{
        Connection,
        batch::BatchKind,
        compare::{Compare, NoOutcome},
        confirm::Confirm,
        greet::{Endpoint, greet},
        journal::{Journal, Step},
        pipeline::PushHandler,
    },
    failure::Failure,
    protocol::{
        ServerError, Value,
        call::{Call, command},
        echo::Echo,
        epoch::Epoch,
        info::{field, text},
        script::Script,
        tag::Tag,
    },
};
