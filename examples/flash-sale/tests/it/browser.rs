//! A real browser without a window.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD as STANDARD};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::instance::PATIENCE;

pub(crate) struct Browser {
    driver: Child,
    client: Client,
    session: String,
    /// Its process, which its driver would leave behind.
    process: Option<u64>,
    _folder: tempfile::TempDir,
}

impl Browser {
    /// Chromium by its driver.
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let driver = Command::new("chromedriver")
            .arg("--port=0")
            // What it leaves behind goes with ours.
            .env("TMPDIR", folder.path())
            .stdout(Stdio::piped())
            .spawn();
        let mut driver = driver.expect("install it with: apt-get install chromium chromium-driver");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let said = lines.find_map(|line| {
            let line = line.unwrap();
            line.contains("started successfully").then_some(line)
        });
        let port = said.unwrap().rsplit(' ').next().unwrap().trim_end_matches('.').to_owned();
        // Nobody reads on, and it has nothing more to say.
        std::thread::spawn(move || lines.for_each(drop));
        let profile = format!("--user-data-dir={}", folder.path().join("profile").display());
        let words = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--window-size=1000,980",
            &profile,
        ];
        let driver_url = format!("http://127.0.0.1:{port}");
        let options = json!({ "goog:chromeOptions": { "args": words } });
        let client = Client::builder().no_proxy().build().unwrap();
        let mut browser = Self {
            driver,
            client,
            session: format!("{driver_url}/session"),
            process: None,
            _folder: folder,
        };
        let body = json!({ "capabilities": { "alwaysMatch": options } });
        let session = browser.ask("", &body).await;
        browser.process = session["capabilities"]["goog:processID"].as_u64();
        browser.session += &format!("/{}", session["sessionId"].as_str().unwrap());
        browser
    }

    /// Opens a page.
    pub(crate) async fn open(&self, url: &str) {
        self.ask("/url", &json!({ "url": url })).await;
    }

    /// Clicks on the first element that this selects, as a person does.
    pub(crate) async fn click(&self, selector: &str) {
        let which = json!({ "using": "css selector", "value": selector });
        let element = self.ask("/element", &which).await;
        let id = element.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned();
        self.ask(&format!("/element/{id}/click"), &json!({})).await;
    }

    /// Waits until an element has this text.
    pub(crate) async fn shows(&self, id: &str, text: &str) {
        let script = format!("return document.getElementById('{id}').textContent");
        let since = Instant::now();
        loop {
            let shown = self.run(&script).await;
            if shown.as_str().is_some_and(|shown| shown.contains(text)) {
                return;
            }
            assert!(since.elapsed() < PATIENCE, "{id} shows {shown}, not {text:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// What a script on the page says.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.ask("/execute/sync", &json!({ "script": script, "args": [] })).await
    }

    /// A picture of the page, as PNG.
    pub(crate) async fn picture(&self) -> Vec<u8> {
        let answer = self.client.get(format!("{}/screenshot", self.session)).send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        STANDARD.decode(answer["value"].as_str().unwrap()).unwrap()
    }

    /// Asks the driver, as the W3C's WebDriver says.
    async fn ask(&self, path: &str, body: &Value) -> Value {
        let sent = self.client.post(format!("{}{path}", self.session)).json(body).send().await;
        let answer: Value = sent.unwrap().json().await.unwrap();
        assert!(answer["value"]["error"].is_null(), "{path}: {answer}");
        answer["value"].clone()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(process) = self.process {
            let _ = Command::new("kill").arg(process.to_string()).status();
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
