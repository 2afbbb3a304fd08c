//! Where it is sold: reads, and writes what was decided, each in a transaction of its own.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::{Drill, Refusal, not_yet};
use crate::{
    database::{Customers, Database, Sale, Stock, Written},
    records::{Click, Customer, Moment, Voucher},
};

/// Writes under way at a time, those included whose order was given up.
const MOST: usize = 4096;

/// One for all strategies, so that they differ in nothing but how they exclude each other.
#[derive(Clone)]
pub(crate) struct Till {
    database: Arc<Database>,
    drill: Arc<Drill>,
    writes: TaskTracker,
    places: Arc<Semaphore>,
}

impl Till {
    pub(crate) fn new(database: Arc<Database>, drill: Drill) -> Self {
        let places = Arc::new(Semaphore::new(MOST));
        Self { database, drill: Arc::new(drill), writes: TaskTracker::new(), places }
    }

    /// Waits until nothing is being written any more.
    pub(crate) async fn close(&self) {
        self.writes.close();
        self.writes.wait().await;
    }

    /// What is true for good is told at once, without a lock: stock never rises, orders stay, and the
    /// times of the sale are what they are.
    pub(crate) async fn glance(&self, click: Click) -> Result<(), Refusal> {
        let voucher = self.voucher(click).await?;
        if voucher.left <= 0 {
            // An answer for who has one, also when nothing is left.
            self.customer(click).await?;
            return Err(Refusal::SoldOut);
        }
        self.customer(click).await.map(|_| ())
    }

    /// The voucher, if it is on sale now.
    pub(crate) async fn voucher(&self, click: Click) -> Result<Voucher, Refusal> {
        let voucher = self.database.voucher(click.voucher).await?.ok_or(Refusal::Unknown)?;
        match not_yet(&voucher, Moment::now()) {
            Some(refusal) => Err(refusal),
            None => Ok(voucher),
        }
    }

    /// The customer, if this one has not ordered.
    pub(crate) async fn customer(&self, click: Click) -> Result<Customer, Refusal> {
        let customer = self.database.customer(click.voucher, click.customer).await?;
        if customer.has_ordered { Err(Refusal::AlreadyOrdered) } else { Ok(customer) }
    }

    /// Work between the decision and the write: where a demo makes somebody slow.
    pub(crate) async fn work(&self) {
        self.drill.slow().await;
    }

    /// Writes the order.
    pub(crate) async fn write(
        &self,
        click: Click,
        stock: Stock,
        customers: Customers,
    ) -> Result<(), Refusal> {
        let Ok(place) = self.places.clone().acquire_owned().await else {
            return Err(Refusal::Busy("the shop closes".to_owned()));
        };
        // The last moment at which anything can come between.
        self.drill.stop();
        let at = Moment::now();
        let sale = Sale { click, at, stock, customers };
        let database = self.database.clone();
        // A task of its own: what has begun to write is not cut off when the lock is lost or the customer
        // has gone. It may arrive late; that is what the fence is for.
        let writing = self.writes.spawn(async move {
            let _place = place;
            let written = database.write(&sale).await?;
            if written == Written::Refused {
                metrics::counter!("flash_sale_refused_total").increment(1);
                warn!(?click, "a write was refused by its token: another holder was there");
                database.count_refused(click.voucher).await?;
            }
            Ok::<_, crate::database::DatabaseError>(written)
        });
        match writing.await {
            Ok(Ok(Written::Done)) => Ok(()),
            Ok(Ok(Written::SoldOut)) => Err(Refusal::SoldOut),
            Ok(Ok(Written::Already)) => Err(Refusal::AlreadyOrdered),
            Ok(Ok(Written::Refused)) => Err(Refusal::Busy("another holder was there".to_owned())),
            Ok(Err(error)) => Err(error.into()),
            Err(error) => Err(Refusal::Busy(format!("{error:#}"))),
        }
    }
}
