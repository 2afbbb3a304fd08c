//! Orders: `POST /vouchers/{id}/orders`, and who has one.

use std::time::Instant;

use axum::{
    Json,
    extract::{
        Path, Query, State,
        rejection::{JsonRejection, PathRejection, QueryRejection},
    },
    http::StatusCode,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Shop, reply::Problem};
use crate::{records::Click, shop::Refusal};

/// Who orders.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Order {
    user: i64,
}

/// Which orders are listed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    #[serde(default)]
    after: i64,
    #[serde(default = "Page::limit")]
    limit: i64,
}

impl Page {
    const MOST: i64 = 1000;

    const fn limit() -> i64 {
        100
    }
}

/// Places one.
pub(super) async fn place(
    State(shop): State<Shop>,
    voucher: Result<Path<i64>, PathRejection>,
    order: Result<Json<Order>, JsonRejection>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let Path(voucher) = voucher.map_err(|_| Problem::NoPage)?;
    let Json(order) = order.map_err(|error| Problem::Invalid(error.body_text()))?;
    if order.user <= 0 {
        return Err(Problem::Invalid("user is a positive number".to_owned()));
    }
    let click = Click { voucher, customer: order.user };
    let Ok(place) = shop.places.clone().try_acquire_owned() else {
        return Err(Refusal::Busy("too many orders at a time".to_owned()).into());
    };
    let since = Instant::now();
    // A task of its own, so that a customer who goes away does not leave half an order behind. Were it
    // dropped with the request, its lock would be released while the database still writes.
    let orders = shop.orders.clone();
    let placed = orders.spawn(async move {
        let _place = place;
        shop.till.glance(click).await?;
        shop.strategy.order(click).await
    });
    let outcome = placed.await.unwrap_or_else(|error| Err(Refusal::Busy(format!("{error:#}"))));
    let answered = outcome.map_err(Problem::from);
    let code = answered.as_ref().map_or_else(Problem::code, |()| "ordered");
    metrics::counter!("flash_sale_clicks_total", "answer" => code).increment(1);
    metrics::histogram!("flash_sale_order_seconds").record(since.elapsed());
    answered?;
    let Click { voucher, customer } = click;
    Ok((StatusCode::CREATED, Json(json!({ "voucher": voucher, "user": customer }))))
}

/// Lists who has one.
pub(super) async fn list(
    State(shop): State<Shop>,
    voucher: Result<Path<i64>, PathRejection>,
    page: Result<Query<Page>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let Path(voucher) = voucher.map_err(|_| Problem::NoPage)?;
    let Query(page) = page.map_err(|error| Problem::Invalid(error.body_text()))?;
    if !(1..=Page::MOST).contains(&page.limit) {
        return Err(Problem::Invalid(format!("limit is a number from 1 to {}", Page::MOST)));
    }
    shop.database.voucher(voucher).await?.ok_or(Refusal::Unknown)?;
    let users = shop.database.customers(voucher, page.after, page.limit).await?;
    Ok(Json(json!({ "voucher": voucher, "users": users })))
}
