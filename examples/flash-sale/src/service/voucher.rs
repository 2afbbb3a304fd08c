//! Vouchers: putting one on sale, and what is left of it.

use std::time::SystemTime;

use axum::{
    Json,
    extract::{
        Path, State,
        rejection::{JsonRejection, PathRejection},
    },
    http::StatusCode,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Shop, reply::Problem};
use crate::{
    records::{Moment, Terms},
    shop::Refusal,
};

/// The largest stock.
const MOST: i64 = 1_000_000;

/// What goes on sale, and when: times as in RFC 3339, `2026-11-27T12:00:00Z`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Announced {
    stock: i64,
    begin: String,
    end: String,
}

impl Announced {
    fn checked(&self) -> Result<Terms, Problem> {
        if !(1..=MOST).contains(&self.stock) {
            return Err(Problem::Invalid(format!("stock is a number from 1 to {MOST}")));
        }
        let begin = moment("begin", &self.begin)?;
        let end = moment("end", &self.end)?;
        if end <= begin {
            return Err(Problem::Invalid("end is after begin".to_owned()));
        }
        Ok(Terms { stock: self.stock, begin, end })
    }
}

fn moment(what: &str, text: &str) -> Result<Moment, Problem> {
    let wrong = |_| Problem::Invalid(format!("{what} is a time such as 2026-11-27T12:00:00Z"));
    humantime::parse_rfc3339(text).map(Moment::from).map_err(wrong)
}

/// Puts one on sale.
pub(super) async fn create(
    State(shop): State<Shop>,
    announced: Result<Json<Announced>, JsonRejection>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let Json(announced) = announced.map_err(|error| Problem::Invalid(error.body_text()))?;
    let id = shop.database.create(&announced.checked()?).await?;
    Ok((StatusCode::CREATED, Json(json!({ "voucher": id }))))
}

/// Which one was put on sale last.
pub(super) async fn latest(State(shop): State<Shop>) -> Result<Json<Value>, Problem> {
    Ok(Json(json!({ "latest": shop.database.latest().await? })))
}

/// One of them.
pub(super) async fn show(
    State(shop): State<Shop>,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Json<Value>, Problem> {
    let Path(id) = id.map_err(|_| Problem::NoPage)?;
    let voucher = shop.database.voucher(id).await?.ok_or(Refusal::Unknown)?;
    let text = |moment| humantime::format_rfc3339_millis(SystemTime::from(moment)).to_string();
    Ok(Json(json!({
        "voucher": id,
        "stock": voucher.terms.stock,
        "left": voucher.left.max(0),
        "begin": text(voucher.terms.begin),
        "end": text(voucher.terms.end),
    })))
}
