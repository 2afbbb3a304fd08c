//! Files that say anything, with right checksums: they are read, repaired or refused, and nothing panics.

use std::{fs, time::Duration};

use tenure_core::Store;
use tenure_testkit::fuzz;

use crate::support::{files, name, once, open, owner, put, take, waiting};

const SLOT: usize = 2048;
const HEADER: usize = 48;

/// Gives both slots of a file the checksums that their bytes have.
fn sum_up(bytes: &mut [u8]) {
    for slot in bytes.chunks_mut(SLOT).take(2) {
        let Some((head, rest)) = slot.split_at_mut_checked(HEADER) else { continue };
        let length = u32::from_le_bytes(head[32..36].try_into().unwrap()) as usize;
        let payload = &rest[..length.min(rest.len())];
        let mut sum = crc32fast::Hasher::new();
        sum.update(&head[..40]);
        sum.update(payload);
        head[40..44].copy_from_slice(&sum.finalize().to_le_bytes());
    }
}

#[test]
fn files_that_say_anything_are_read_or_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let name = name("a");
    let store = open(&dir);
    runtime.block_on(async {
        let (mine, _) = take(&store, &name).await;
        put(&store, &name, &mine, ("record", Duration::from_secs(3_600))).await.unwrap();
        store.acquire(&name, &waiting(owner())).await.unwrap();
    });
    let kept: Vec<_> = files(dir.path())
        .into_iter()
        .filter(|path| fs::symlink_metadata(path).unwrap().is_file())
        .map(|path| (fs::read(&path).unwrap(), path))
        .filter(|(bytes, _)| !bytes.is_empty())
        .collect();
    drop(store);
    for (before, path) in &kept {
        eprintln!("{}", path.display());
        fuzz(300, &[before], |bytes| {
            for (bytes, path) in &kept {
                fs::write(path, bytes).unwrap();
            }
            let mut bytes = bytes.to_vec();
            sum_up(&mut bytes);
            fs::write(path, bytes).unwrap();
            runtime.block_on(async {
                let Ok(store) = tenure_embedded::EmbeddedStore::open(dir.path()) else {
                    return false;
                };
                let seen = store.inspect(&name).await;
                let asked = store.acquire(&name, &once(owner())).await;
                let listed = store.list("", 10).await;
                let _ = store.evict(&name).await;
                let record = store.read_slots(&name).await;
                seen.is_ok() && asked.is_ok() && listed.is_ok() && record.is_ok()
            })
        });
    }
}
