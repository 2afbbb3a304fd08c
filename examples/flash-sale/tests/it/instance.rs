//! An instance of the shop, and requests to it.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant, SystemTime},
};

use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

/// How long what must come may take on a slow machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_flash-sale");

/// One that is killed when it is dropped.
pub(crate) struct Instance {
    process: Child,
    pub(crate) url: String,
    pub(crate) folder: tempfile::TempDir,
    client: Client,
}

impl Instance {
    pub(crate) fn start(strategy: &str) -> Self {
        Self::start_with(strategy, &[])
    }

    /// One that is told more.
    pub(crate) fn start_with(strategy: &str, words: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut process = Command::new(BINARY)
            .args(["serve", "--listen", "127.0.0.1:0", "--strategy", strategy])
            .args(["--database", &format!("sqlite:{}", folder.path().join("shop.db").display())])
            .args(["--store", &store(&folder)])
            .args(words)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().find(|word| word.starts_with("http")).unwrap().to_owned();
        Self { process, url, folder, client: Client::builder().no_proxy().build().unwrap() }
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder.path().join("shop.db")
    }

    /// Where its locks are.
    pub(crate) fn store(&self) -> String {
        store(&self.folder)
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        let answer = self.client.get(format!("{}{path}", self.url)).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }

    pub(crate) async fn text(&self, path: &str) -> (StatusCode, String) {
        let answer = self.client.get(format!("{}{path}", self.url)).send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        let sent = self.client.post(format!("{}{path}", self.url)).json(body).send().await;
        let answer = sent.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }

    /// Puts a voucher on sale from so long ago until then.
    pub(crate) async fn voucher(&self, stock: i64, begin: i64, end: i64) -> i64 {
        let body = json!({ "stock": stock, "begin": seconds_from_now(begin), "end": seconds_from_now(end) });
        let (status, answer) = self.post("/vouchers", &body).await;
        assert_eq!(status, StatusCode::CREATED, "{answer}");
        answer["voucher"].as_i64().unwrap()
    }

    pub(crate) async fn order(&self, voucher: i64, user: i64) -> (StatusCode, Value) {
        self.post(&format!("/vouchers/{voucher}/orders"), &json!({ "user": user })).await
    }

    /// Sends a signal as `kill` names it.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Waits for its end, and says whether it was a good one.
    pub(crate) fn ends_well(&mut self) -> bool {
        let since = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status.success();
            }
            assert!(since.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn store(folder: &tempfile::TempDir) -> String {
    format!("file:{}", folder.path().join("locks").display())
}

/// A time as the shop wants it.
pub(crate) fn seconds_from_now(seconds: i64) -> String {
    let length = Duration::from_secs(seconds.unsigned_abs());
    let now = SystemTime::now();
    let time = if seconds < 0 { now - length } else { now + length };
    humantime::format_rfc3339_millis(time).to_string()
}
