//! A lock on a server whose password a vault hands out and changes.
//!
//! The password is asked for at each login, and kept by nobody. When it changes, what is held is renewed over new
//! connections with the new one.
//!
//! Run it with `cargo run -p tenure-examples --bin rotating_password`: it starts a `redis-server` of its own, which has to
//! be installed. With a host, a port, a user and the file with the password it uses yours.

#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::{
    env, error,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tenure::{Error, Tenure, redis::RedisOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn error::Error>> {
    let mut given = env::args().skip(1);
    if let (Some(host), Some(port), Some(user), Some(file)) =
        (given.next(), given.next(), given.next(), given.next())
    {
        let options = RedisOptions::new((host, port.parse()?)).user(user).password_file(file)?;
        return Ok(hold(options).await?);
    }
    let server = Server::start()?;
    server.tell("ACL SETUSER locks on >first ~* &* +@all")?;

    // Where your program asks the vault. What it says is not kept.
    let vault = Arc::new(Mutex::new("first"));
    let asked = vault.clone();
    let ask = move || {
        let password = *asked.lock().unwrap_or_else(PoisonError::into_inner);
        async move { Ok::<_, Error>(password) }
    };
    let options = RedisOptions::new(("127.0.0.1", server.port)).user("locks").password_from(ask);
    let tenure = Tenure::open_with(options).await?;
    let guard = tenure.mutex("report").ttl(Duration::from_secs(3)).lock().await?;
    println!("holding with token {}", guard.token());

    // Whoever logs in meanwhile may have either.
    server.tell("ACL SETUSER locks >second")?;
    *vault.lock().unwrap_or_else(PoisonError::into_inner) = "second";
    server.tell("ACL SETUSER locks <first")?;
    server.tell("CLIENT KILL USER locks")?;
    println!("the password has changed, and all connections are gone");

    let before = guard.deadline();
    while guard.deadline() == before {
        guard.check()?;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("the lock is renewed by a login with the new password");
    guard.release().await?;
    Ok(())
}

async fn hold(options: RedisOptions) -> Result<(), Error> {
    let guard = Tenure::open_with(options).await?.mutex("report").lock().await?;
    println!("holding with token {}", guard.token());
    guard.release().await?;
    Ok(())
}

/// A server for this program alone.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start() -> Result<Self, Box<dyn error::Error>> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let settings = ["--bind", "127.0.0.1", "--save", "", "--port"];
        let process = Command::new("redis-server")
            .args(settings)
            .arg(port.to_string())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("redis-server cannot be started: {error}"))?;
        let mut server = Self { process, port };
        while server.tell("PING").is_err() {
            if let Some(ended) = server.process.try_wait()? {
                return Err(format!("redis-server does not start: {ended}").into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    /// Sends a command as its administrator.
    fn tell(&self, command: &str) -> Result<(), Box<dyn error::Error>> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.write_all(format!("{command}\r\n").as_bytes())?;
        let mut said = String::new();
        BufReader::new(stream).read_line(&mut said)?;
        if said.starts_with(['+', ':']) { Ok(()) } else { Err(said.into()) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
