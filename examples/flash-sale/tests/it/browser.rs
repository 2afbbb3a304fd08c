//! A real browser without a window.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::json;
use tokio::time::sleep;

use super::instance::PATIENCE;

pub(crate) struct Browser {
    driver: Child,
    pub(crate) page: Client,
    _folder: tempfile::TempDir,
}

impl Browser {
    /// Chromium by its driver.
    pub(crate) async fn start() -> Self {
        let driver = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).spawn();
        let mut driver = driver.expect("install it with: apt-get install chromium chromium-driver");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let said = lines.find_map(|line| {
            let line = line.unwrap();
            line.contains("started successfully").then_some(line)
        });
        let port = said.unwrap().rsplit(' ').next().unwrap().trim_end_matches('.').to_owned();
        // Nobody reads on, and it has nothing more to say.
        std::thread::spawn(move || lines.for_each(drop));
        let folder = tempfile::tempdir().unwrap();
        let profile = format!("--user-data-dir={}", folder.path().display());
        let words = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--window-size=1000,820",
            &profile,
        ];
        let options = json!({ "goog:chromeOptions": { "args": words } });
        let page = ClientBuilder::new(HttpConnector::new())
            .capabilities(options.as_object().unwrap().clone())
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .unwrap();
        Self { driver, page, _folder: folder }
    }

    /// The text of an element.
    pub(crate) async fn text(&self, id: &str) -> String {
        self.page.find(Locator::Id(id)).await.unwrap().text().await.unwrap()
    }

    /// Waits until an element has this text.
    pub(crate) async fn shows(&self, id: &str, text: &str) {
        let since = Instant::now();
        loop {
            let shown = self.text(id).await;
            if shown.contains(text) {
                return;
            }
            assert!(since.elapsed() < PATIENCE, "{id} shows {shown:?}, not {text:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// What a script on the page says.
    pub(crate) async fn run(&self, script: &str) -> serde_json::Value {
        self.page.execute(script, Vec::new()).await.unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends its Chromium with it.
        let _ = Command::new("kill").arg(self.driver.id().to_string()).status();
        let _ = self.driver.wait();
    }
}
