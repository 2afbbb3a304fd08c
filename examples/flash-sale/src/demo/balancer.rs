//! What stands before the instances: nginx, or a small one of this process.

use std::{
    env,
    error::Error,
    net::{Ipv4Addr, SocketAddr, TcpListener as StdListener, TcpStream},
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use axum::Router;
use axum_reverse_proxy::BalancedProxy;
use clap::ValueEnum;
use tokio::{
    net::TcpListener,
    process::{Child, Command},
    task::JoinHandle,
};

/// How long nginx may take to start.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which one is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Choice {
    /// nginx if it is there, else the small one
    Auto,
    /// nginx, or an error
    Nginx,
    /// The small one of the demo itself
    RoundRobin,
}

/// Which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Nginx,
    RoundRobin,
}

impl Choice {
    pub(super) fn decided(self) -> Result<Kind, Box<dyn Error>> {
        match (self, nginx()) {
            (Self::RoundRobin, _) | (Self::Auto, None) => Ok(Kind::RoundRobin),
            (Self::Nginx | Self::Auto, Some(_)) => Ok(Kind::Nginx),
            (Self::Nginx, None) => {
                Err("there is no nginx: install it with: apt-get install nginx-light".into())
            }
        }
    }
}

impl Kind {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::RoundRobin => "round-robin",
        }
    }
}

/// A balancer that runs; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Balancer {
    pub(super) address: SocketAddr,
    _running: Running,
}

#[derive(Debug)]
enum Running {
    Nginx { _process: Child },
    Here(JoinHandle<()>),
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Self::Here(task) = self {
            task.abort();
        }
    }
}

impl Balancer {
    pub(super) async fn start(
        kind: Kind,
        folder: &Path,
        instances: &[SocketAddr],
    ) -> Result<Self, Box<dyn Error>> {
        match kind {
            Kind::Nginx => start_nginx(folder, instances).await,
            Kind::RoundRobin => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
                let address = listener.local_addr()?;
                let targets = instances.iter().map(|at| format!("http://{at}")).collect();
                let routes =
                    Router::new().fallback_service(BalancedProxy::new("/".to_owned(), targets));
                let task = tokio::spawn(async move {
                    let _ = axum::serve(listener, routes).await;
                });
                Ok(Self { address, _running: Running::Here(task) })
            }
        }
    }
}

/// Where nginx is.
fn nginx() -> Option<PathBuf> {
    program("nginx")
}

fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    places.map(|place| place.join(name)).find(|binary| binary.is_file())
}

/// What runs a program that dies with this process, also if that is killed.
fn bound_to_us(binary: &Path) -> Command {
    match program("setpriv") {
        Some(setpriv) if cfg!(target_os = "linux") => {
            let mut command = Command::new(setpriv);
            command.args(["--pdeathsig", "KILL", "--"]).arg(binary);
            command
        }
        _ => Command::new(binary),
    }
}

async fn start_nginx(folder: &Path, instances: &[SocketAddr]) -> Result<Balancer, Box<dyn Error>> {
    let binary = nginx().ok_or("there is no nginx")?;
    let folder = folder.join("nginx");
    std::fs::create_dir_all(&folder)?;
    // Somebody else may take a port between its choice and its use.
    for _ in 0..10 {
        let port = StdListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let file = folder.join("nginx.conf");
        std::fs::write(&file, configuration(&folder, port, instances))?;
        let mut process = bound_to_us(&binary)
            .arg("-p")
            .arg(&folder)
            .arg("-c")
            .arg(&file)
            .args(["-e", "error.log"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let since = Instant::now();
        while since.elapsed() < PATIENCE && process.try_wait()?.is_none() {
            if TcpStream::connect(address).is_ok() {
                let running = Running::Nginx { _process: process };
                return Ok(Balancer { address, _running: running });
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    let log = super::instance::tail(&folder.join("error.log"));
    Err(format!("nginx does not start: {log}").into())
}

/// One process in the foreground, with everything it writes in its own folder. No instance is given up: one
/// that is started anew is used at once. A request that may have arrived is not sent twice.
fn configuration(folder: &Path, port: u16, instances: &[SocketAddr]) -> String {
    let servers: String =
        instances.iter().map(|at| format!("    server {at} max_fails=0;\n")).collect();
    let temporary: String = ["client_body", "proxy", "fastcgi", "scgi", "uwsgi"]
        .map(|kind| format!("  {kind}_temp_path \"{}/{kind}\";\n", folder.display()))
        .concat();
    format!(
        "daemon off;\nmaster_process off;\npid \"{folder}/nginx.pid\";\nerror_log \"{folder}/error.log\";\n\
         events {{ worker_connections 4096; }}\n\
         http {{\n  access_log off;\n{temporary}  upstream shop {{\n{servers}    keepalive 128;\n  }}\n  \
         server {{\n    listen 127.0.0.1:{port};\n    location / {{\n      proxy_pass http://shop;\n      \
         proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n      \
         proxy_connect_timeout 1s;\n      proxy_read_timeout 5s;\n    }}\n  }}\n}}\n",
        folder = folder.display()
    )
}
