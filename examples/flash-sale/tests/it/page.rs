//! The page, in a real browser.

use std::{env, fs};

use futures_util::future::join_all;
use rusqlite::{Connection, params};

use tenure::{Tenure, reentrant::Scope};

use super::{browser::Browser, instance::Instance};

const RED: &str = "rgb(185, 28, 28)";
const COLOR: &str =
    "return getComputedStyle(document.getElementById('violations')).backgroundColor";

#[tokio::test]
async fn it_shows_a_sale_live_and_turns_red() {
    let mut shop = Instance::start("tenure-fenced");
    let browser = Browser::start().await;
    browser.open(&shop.url).await;
    browser.shows("phase", "nothing is on sale").await;
    browser.run("window.first = true").await;

    let voucher = shop.voucher(200, -10, 3600).await;
    browser.shows("left", "200").await;
    browser.shows("phase", "on sale").await;
    browser.click("button").await;
    browser.shows("answer", "ordered").await;
    browser.shows("left", "199").await;
    browser.click("button").await;
    browser.shows("answer", "You have ordered one already.").await;

    // The stock falls while it is looked at.
    for tens in 1..=9 {
        join_all((0..10).map(|user| shop.order(voucher, 10 * tens + user))).await;
        browser.shows("orders", &(10 * tens + 1).to_string()).await;
    }
    browser.shows("left", "109").await;
    browser.shows("wrong", "0").await;
    assert_ne!(browser.run(COLOR).await, RED);

    // Somebody holds the stock, and a customer waits for it.
    let tenure = Tenure::open(shop.store()).await.unwrap();
    let name = format!("voucher:{voucher}");
    let held = tenure.mutex(name).reentrant().label("till 7").within(&Scope::new()).lock();
    let guard = held.await.unwrap();
    browser.shows("holders", "till 7").await;
    browser.run("document.getElementById('user').value = 500").await;
    browser.click("button").await;
    browser.shows("waiters", "1").await;
    browser.run("scrollTo(0, 0)").await;
    if let Some(file) = env::var_os("FLASH_SALE_PICTURE") {
        fs::write(file, browser.picture().await).unwrap();
    }

    guard.release().await.unwrap();
    browser.shows("holders", "nobody").await;
    browser.shows("left", "108").await;

    // Somebody goes around the lock.
    let database = Connection::open(shop.database()).unwrap();
    let insert =
        "INSERT INTO flash_sale_order (voucher, customer, ordered_at, nonce) VALUES (?, 10, ?, 7)";
    database.execute(insert, params![voucher, 1]).unwrap();
    browser.shows("wrong", "1").await;
    browser.shows("which", "1 ordered twice").await;
    assert_eq!(browser.run(COLOR).await, RED);

    // Nothing comes from elsewhere, and it was never loaded anew.
    let asked = "return performance.getEntries().map(entry => entry.name).filter(name => name.startsWith('http'))";
    for place in browser.run(asked).await.as_array().unwrap() {
        assert!(place.as_str().unwrap().starts_with(&shop.url), "{place}");
    }
    assert_eq!(browser.run("return window.first").await, true);

    shop.signal("-TERM");
    assert!(shop.ends_well());
    browser.shows("phase", "the shop does not answer").await;
}
