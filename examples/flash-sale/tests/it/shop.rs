//! What the shop answers.

use std::{io::Write, time::Duration};

use futures_util::future::join_all;
use reqwest::StatusCode;
use serde_json::json;

use super::instance::{Instance, seconds_from_now};

#[tokio::test]
async fn a_customer_has_one_and_the_stock_is_what_it_is() {
    let shop = Instance::start("tenure-fenced");
    let voucher = shop.voucher(2, -10, 3600).await;
    assert_eq!(shop.order(voucher, 1).await.0, StatusCode::CREATED);
    let (status, answer) = shop.order(voucher, 1).await;
    assert_eq!((status, &answer["error"]), (StatusCode::CONFLICT, &json!("already_ordered")));
    assert_eq!(shop.order(voucher, 2).await.0, StatusCode::CREATED);
    let (status, answer) = shop.order(voucher, 3).await;
    assert_eq!((status, &answer["error"]), (StatusCode::GONE, &json!("sold_out")));
    // Who has one is told so, also when all are sold.
    assert_eq!(shop.order(voucher, 1).await.1["error"], "already_ordered");
    let (_, orders) = shop.get(&format!("/vouchers/{voucher}/orders")).await;
    assert_eq!(orders["users"], json!([1, 2]));
    assert_eq!(shop.get(&format!("/vouchers/{voucher}")).await.1["left"], 0);
    assert_eq!(shop.get("/vouchers").await.1["latest"], voucher);
}

#[tokio::test]
async fn nothing_is_sold_before_and_after() {
    let shop = Instance::start("tenure-fenced");
    let early = shop.voucher(2, 3600, 7200).await;
    let (status, answer) = shop.order(early, 1).await;
    assert_eq!((status, &answer["error"]), (StatusCode::FORBIDDEN, &json!("not_begun")));
    let late = shop.voucher(2, -7200, -3600).await;
    let (status, answer) = shop.order(late, 1).await;
    assert_eq!((status, &answer["error"]), (StatusCode::GONE, &json!("over")));
    assert_ne!(early, late);
    for voucher in [early, late] {
        assert_eq!(shop.get(&format!("/vouchers/{voucher}")).await.1["left"], 2);
    }
}

#[tokio::test]
async fn requests_that_make_no_sense_are_told_so() {
    let shop = Instance::start("tenure-fenced");
    let (begin, end) = (seconds_from_now(-10), seconds_from_now(10));
    let vouchers = [
        json!({ "stock": 0, "begin": begin, "end": end }),
        json!({ "stock": 1_000_001, "begin": begin, "end": end }),
        json!({ "stock": 1, "begin": end, "end": begin }),
        json!({ "stock": 1, "begin": "noon", "end": end }),
        json!({ "stock": 1, "begin": begin, "end": end, "more": 1 }),
        json!({ "stock": "1", "begin": begin, "end": end }),
    ];
    for body in vouchers {
        let (status, answer) = shop.post("/vouchers", &body).await;
        assert_eq!(
            (status, &answer["error"]),
            (StatusCode::UNPROCESSABLE_ENTITY, &json!("invalid")),
            "{body}"
        );
    }
    assert!(shop.get("/vouchers").await.1["latest"].is_null());
    let voucher = shop.voucher(1, -10, 3600).await;
    for user in [json!(0), json!(-1), json!("1"), json!(1.5), json!(null)] {
        let path = format!("/vouchers/{voucher}/orders");
        let (status, _) = shop.post(&path, &json!({ "user": user })).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{user}");
    }
    let (status, answer) = shop.order(voucher + 1, 1).await;
    assert_eq!((status, &answer["error"]), (StatusCode::NOT_FOUND, &json!("no_such_voucher")));
    for path in
        ["/vouchers/x", "/vouchers/1/orders?limit=1001", "/vouchers/1/orders?limit=x", "/no"]
    {
        assert!(shop.get(path).await.0.is_client_error(), "{path}");
    }
}

/// The text of an error never has a path, an address or a statement.
#[tokio::test]
async fn what_is_broken_inside_stays_inside() {
    let shop = Instance::start("tenure-fenced");
    let voucher = shop.voucher(1, -10, 3600).await;
    let database = rusqlite::Connection::open(shop.database()).unwrap();
    database.execute_batch("ALTER TABLE flash_sale_order RENAME TO gone").unwrap();
    let (status, answer) = shop.order(voucher, 1).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer["error"], "unavailable");
    let told = answer.to_string();
    for inside in ["sqlite", "flash_sale", "/", "gone"] {
        assert!(!told.contains(inside), "{told}");
    }
    // It is the customer's to try again, and it works again.
    database.execute_batch("ALTER TABLE gone RENAME TO flash_sale_order").unwrap();
    assert_eq!(shop.order(voucher, 1).await.0, StatusCode::CREATED);
}

#[tokio::test]
async fn it_tells_how_it_is() {
    let shop = Instance::start("tenure-fenced");
    assert_eq!(shop.text("/health/live").await.0, StatusCode::OK);
    assert_eq!(shop.text("/health/ready").await.0, StatusCode::OK);
    let voucher = shop.voucher(5, -10, 3600).await;
    join_all((1..=3).map(|user| shop.order(voucher, user))).await;
    let (_, metrics) = shop.text("/metrics").await;
    assert!(metrics.contains("flash_sale_clicks_total{answer=\"ordered\"} 3"), "{metrics}");
    assert!(metrics.contains("tenure_acquired_total"), "{metrics}");
    let (_, live) = shop.get(&format!("/vouchers/{voucher}/live")).await;
    assert_eq!(
        (&live["orders"], &live["oversold"], &live["duplicates"]),
        (&json!(3), &json!(0), &json!(0))
    );
    assert_eq!(live["holders"], json!([]));
}

/// What is under way when it is told to end is ended, and its lock is released. Who has sent half a request does not
/// keep it from ending.
#[tokio::test]
async fn it_ends_well() {
    let mut shop =
        Instance::start_with("tenure-fenced", &["--slow-at", "1", "--slow-for", "1500ms"]);
    let voucher = shop.voucher(50, -10, 3600).await;
    let address = shop.url.trim_start_matches("http://").to_owned();
    let mut half = std::net::TcpStream::connect(&address).unwrap();
    half.write_all(b"POST /vouchers HTTP/1.1\r\nHost: ").unwrap();
    let (url, path) = (shop.url.clone(), format!("/vouchers/{voucher}/orders"));
    let order = tokio::spawn(async move {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        client
            .post(format!("{url}{path}"))
            .json(&json!({ "user": 1 }))
            .send()
            .await
            .unwrap()
            .status()
    });
    let tenure = tenure::Tenure::open(shop.store()).await.unwrap();
    let lock = tenure.mutex(format!("voucher:{voucher}"));
    while !lock.inspect().await.unwrap().is_held() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    shop.signal("-TERM");
    assert_eq!(order.await.unwrap(), StatusCode::CREATED);
    assert!(shop.ends_well());
    drop(half);
    let database = rusqlite::Connection::open(shop.database()).unwrap();
    let orders: i64 =
        database.query_row("SELECT COUNT(*) FROM flash_sale_order", [], |row| row.get(0)).unwrap();
    assert_eq!(orders, 1);
    assert!(lock.try_lock().await.unwrap().is_some());
}

/// Five clicks at once, again and again: with each way that is to be safe there is one order.
#[tokio::test]
async fn whoever_clicks_five_times_has_one() {
    for strategy in ["local", "tenure", "tenure-fenced", "tenure-per-customer", "unique-index"] {
        let shop = Instance::start(strategy);
        let voucher = shop.voucher(10, -10, 3600).await;
        let clicks = (0..100).map(|click| shop.order(voucher, 1 + click % 20));
        let created = join_all(clicks)
            .await
            .iter()
            .filter(|(status, _)| *status == StatusCode::CREATED)
            .count();
        let (_, live) = shop.get(&format!("/vouchers/{voucher}/live")).await;
        assert_eq!(created, 10, "{strategy}");
        let figures = [&live["orders"], &live["oversold"], &live["duplicates"], &live["left"]];
        assert_eq!(figures, [&json!(10), &json!(0), &json!(0), &json!(0)], "{strategy}");
    }
}
