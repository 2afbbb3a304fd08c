//! Servers to play with: starts those that are named, prints their URLs, and ends them when its standard
//! input ends.
//!
//! `cargo run -p tenure-servers --example servers -- redis quorum cluster postgres mariadb zookeeper ensemble`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it says where the servers are")]

use std::{any::Any, env, io::stdin, process::ExitCode};

use tenure_servers::{
    MariadbServer, PostgresServer, RedisCluster, RedisServer, ZookeeperEnsemble, ZookeeperServer,
};

fn main() -> ExitCode {
    let mut running: Vec<Box<dyn Any>> = Vec::new();
    for name in env::args().skip(1) {
        let url = match name.as_str() {
            "redis" => {
                let server = RedisServer::start();
                let url = server.url();
                running.push(Box::new(server));
                url
            }
            "quorum" => {
                let servers = [(); 3].map(|()| RedisServer::start());
                let url = format!("quorum:{}", servers.each_ref().map(RedisServer::url).join(","));
                running.push(Box::new(servers));
                url
            }
            "cluster" => {
                let cluster = RedisCluster::start();
                let url = cluster.url();
                running.push(Box::new(cluster));
                url
            }
            "postgres" => {
                let server = PostgresServer::start();
                let url = server.url();
                running.push(Box::new(server));
                url
            }
            "mariadb" => {
                let server = MariadbServer::start();
                let url = server.url();
                running.push(Box::new(server));
                url
            }
            "zookeeper" => {
                let server = ZookeeperServer::start();
                let url = server.url();
                running.push(Box::new(server));
                url
            }
            "ensemble" => {
                let ensemble = ZookeeperEnsemble::start();
                let url = ensemble.url();
                running.push(Box::new(ensemble));
                url
            }
            _ => {
                let names = "redis, quorum, cluster, postgres, mariadb, zookeeper or ensemble";
                eprintln!("{name}: say {names}");
                return ExitCode::from(2);
            }
        };
        println!("{name} {url}");
    }
    let mut line = String::new();
    while stdin().read_line(&mut line).is_ok_and(|length| length > 0) {}
    ExitCode::SUCCESS
}
