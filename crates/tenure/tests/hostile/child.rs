//! A process that meets a server that lies: the memory of it is its own.

use std::{fs, time::Duration};

use tenure::Tenure;
use tenure_testkit::child::{role, say, wait_to_go_on};
use tokio::time::{Instant, timeout};

/// For all that one process does there.
const PATIENCE: Duration = Duration::from_secs(90);
/// For a call of a store, beyond which no store waits.
const CALL: Duration = Duration::from_secs(15);

/// As much memory as it ever had, in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim_end_matches("kB").trim().parse().unwrap()
}

/// What comes of each thing that a program does, where anything does that is no error.
async fn uses(tenure: &Tenure) -> Result<String, String> {
    let calls = async {
        let listed = tenure.store().list("", 10).await.map(|found| format!("{found:?}"));
        let looked = tenure.store().health().await;
        let held = tenure.mutex("lock").try_lock().await;
        let text = listed.as_ref().map_or_else(ToString::to_string, Clone::clone);
        match held {
            Ok(Some(guard)) => Err(format!("it holds a lock: {guard:?}, {listed:?}, {looked:?}")),
            Ok(None) => Ok(format!("{text} / somebody else has it")),
            Err(error) => Ok(format!("{text} / {error:#}")),
        }
    };
    timeout(CALL * 3, calls).await.unwrap_or_else(|_| Err("no answer, and no error".to_owned()))
}

#[test]
fn plays_its_role() {
    let Some(role) = role() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let said = runtime.block_on(async { timeout(PATIENCE, meets(&role[0], &role[1])).await });
    say(said.unwrap());
    // What floods it need not be waited for.
    std::process::exit(0);
}

async fn meets(url: &str, when: &str) -> String {
    // What the program is by itself does not count.
    let (before, mut begun) = (peak(), Instant::now());
    let opening = timeout(CALL, Tenure::open(url)).await;
    let used = match opening {
        Err(_) => Err("it was not opened, and no error came".to_owned()),
        Ok(Err(error)) => Ok(format!("{error:#}")),
        Ok(Ok(tenure)) => {
            if when == "later" {
                let guard = tenure.mutex("lock").try_lock().await.unwrap();
                guard.unwrap().release().await.unwrap();
                say("open");
                wait_to_go_on();
                begun = Instant::now();
            }
            uses(&tenure).await
        }
    };
    let (result, text) = match used {
        Ok(text) => ("error", text),
        Err(text) => ("WRONG", text),
    };
    let (memory, time) = ((peak() - before) / 1024, begun.elapsed().as_millis());
    format!("{result}\t{memory}\t{time}\t{}", text.replace(['\n', '\t'], " "))
}
