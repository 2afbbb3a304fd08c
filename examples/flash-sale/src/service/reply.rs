//! What customers are told: a status, a word for programs and a sentence for people. What went wrong inside is
//! for the log.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use serde_json::json;
use tracing::{debug, error};

use crate::shop::Refusal;

/// A request that cannot be answered as it was meant.
#[derive(Debug)]
pub(super) enum Problem {
    Refused(Refusal),
    /// The request itself, and what is wrong with it.
    Invalid(String),
    NoPage,
    NoMethod,
}

impl Problem {
    const fn status(&self) -> StatusCode {
        match self {
            Self::Refused(Refusal::Unknown) | Self::NoPage => StatusCode::NOT_FOUND,
            Self::Refused(Refusal::NotBegun) => StatusCode::FORBIDDEN,
            Self::Refused(Refusal::Over | Refusal::SoldOut) => StatusCode::GONE,
            Self::Refused(Refusal::AlreadyOrdered) => StatusCode::CONFLICT,
            Self::Refused(Refusal::Busy(_) | Refusal::Database(_)) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Refused(Refusal::Lock(_)) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NoMethod => StatusCode::METHOD_NOT_ALLOWED,
        }
    }

    /// For programs.
    pub(super) const fn code(&self) -> &'static str {
        match self {
            Self::Refused(Refusal::Unknown) => "no_such_voucher",
            Self::Refused(Refusal::NotBegun) => "not_begun",
            Self::Refused(Refusal::Over) => "over",
            Self::Refused(Refusal::SoldOut) => "sold_out",
            Self::Refused(Refusal::AlreadyOrdered) => "already_ordered",
            Self::Refused(Refusal::Busy(_)) => "busy",
            Self::Refused(Refusal::Database(_)) => "unavailable",
            Self::Refused(Refusal::Lock(_)) => "internal",
            Self::Invalid(_) => "invalid",
            Self::NoPage => "no_such_page",
            Self::NoMethod => "no_such_method",
        }
    }

    /// For people.
    fn message(&self) -> &str {
        match self {
            Self::Refused(Refusal::Unknown) => "There is no such voucher.",
            Self::Refused(Refusal::NotBegun) => "The sale has not begun.",
            Self::Refused(Refusal::Over) => "The sale is over.",
            Self::Refused(Refusal::SoldOut) => "Sold out.",
            Self::Refused(Refusal::AlreadyOrdered) => "You have ordered one already.",
            Self::Refused(Refusal::Busy(_)) => "Busy: try again.",
            Self::Refused(Refusal::Database(_)) => "We cannot sell just now: try again.",
            Self::Refused(Refusal::Lock(_)) => "This is our fault.",
            Self::Invalid(what) => what,
            Self::NoPage => "There is no such page.",
            Self::NoMethod => "This page cannot be asked in that way.",
        }
    }
}

impl<R: Into<Refusal>> From<R> for Problem {
    fn from(refusal: R) -> Self {
        Self::Refused(refusal.into())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        match &self {
            Self::Refused(refusal @ (Refusal::Database(_) | Refusal::Lock(_))) => {
                error!(%refusal, "an order failed");
            }
            Self::Refused(refusal) => debug!(%refusal, "refused"),
            _ => {}
        }
        let status = self.status();
        let body = Json(json!({ "error": self.code(), "message": self.message() }));
        let mut response = (status, body).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

pub(super) async fn no_such_page() -> Problem {
    Problem::NoPage
}

pub(super) async fn no_such_method() -> Problem {
    Problem::NoMethod
}
