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
        compare::{CompareAndDelete, UnknownOutcome},
        confirm::ReplicaConfirmation,
        greet::{Endpoint, greet},
        journal::{ConnectStep, ConnectTrace},
        pipeline::PushHandler,
    },
    failure::Failure,
    protocol::{
        ServerError, Value,
        call::{ScriptCall, command},
        echo::CorrelationId,
        epoch::HighestEpoch,
        info::{field, text},
        script::Script,
        tag::HashTag,
    },
};
