//! What the page shows of a sale, again and again.

use axum::{
    Json,
    extract::{Path, State, rejection::PathRejection},
};
use serde_json::{Value, json};

use super::{Shop, reply::Problem};
use crate::{records::Moment, shop::Refusal};

/// The figures of a sale, counted from its orders, and who holds the lock of its stock.
pub(super) async fn live(
    State(shop): State<Shop>,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Json<Value>, Problem> {
    let Path(id) = id.map_err(|_| Problem::NoPage)?;
    let voucher = shop.database.voucher(id).await?.ok_or(Refusal::Unknown)?;
    let tally = shop.database.tally(id).await?;
    let (holders, waiters) = match &shop.tenure {
        // A store that is away is no reason to hide the figures.
        Some(tenure) => match tenure.mutex(format!("voucher:{id}")).inspect().await {
            Ok(seen) => {
                let labels = seen.holders.iter().map(|holder| holder.label.to_string());
                (Some(labels.collect::<Vec<_>>()), Some(seen.waiters.len()))
            }
            Err(_) => (None, None),
        },
        None => (None, None),
    };
    Ok(Json(json!({
        "voucher": id,
        "strategy": shop.name.text(),
        "holds": shop.name.holds(),
        "now": Moment::now().0,
        "begin": voucher.terms.begin.0,
        "end": voucher.terms.end.0,
        "stock": voucher.terms.stock,
        "left": voucher.left,
        "orders": tally.orders,
        "oversold": tally.oversold(voucher.terms.stock),
        "duplicates": tally.duplicates(),
        "refused": voucher.refused,
        "holders": holders,
        "waiters": waiters,
    })))
}
