//! Servers that are not what they should be.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
};

use tenure_core::{Fault, FaultKind};
use tenure_redis::RedisStore;

/// Something that listens, and does this with whoever comes.
fn stranger(acts: impl Fn(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(acts));
    address
}

async fn refused(url: &str) -> Fault {
    RedisStore::open(url).await.unwrap_err()
}

#[tokio::test]
async fn whoever_repeats_what_it_hears_is_no_server() {
    let address = stranger(|mut stream| {
        let (mut heard, mut from) = ([0; 4096], stream.try_clone().unwrap());
        while let Ok(count @ 1..) = from.read(&mut heard) {
            let _ = stream.write_all(&heard[..count]);
        }
    });
    let fault = refused(&format!("redis://me:secret@{address}")).await;
    assert!(format!("{fault:#}").contains("does not speak the protocol of Redis"), "{fault:#}");
}

#[tokio::test]
async fn a_password_that_a_server_repeats_is_not_told() {
    let address = stranger(|mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"-WRONGPASS no user me with s3cr3t@x\r\n");
    });
    let fault = refused(&format!("redis://me:s3cr3t%40x@{address}")).await;
    assert_eq!(fault.kind(), FaultKind::Misconfigured);
    let told = format!("{fault:#} {fault:?}");
    assert!(told.contains("refuses this user and password"), "{told}");
    assert!(!told.contains("s3cr3t") && !told.contains("no user me"), "{told}");
}

#[tokio::test]
async fn a_reply_without_an_end_is_refused_before_it_fills_the_memory() {
    let address = stranger(|mut stream| {
        let _ = stream.write_all(b"$9000000000000000000\r\n");
        // Until nobody listens any more.
        while stream.write_all(&[b'x'; 65_536]).is_ok() {}
    });
    let patience = "connect_timeout=60s&response_timeout=60s";
    let fault = refused(&format!("redis://{address}?{patience}")).await;
    assert!(format!("{fault:#}").contains("does not speak the protocol of Redis"), "{fault:#}");
}
