//! URLs as hosting providers and frameworks write them: each is run as it is, but for the host, the credentials and the
//! file with the authorities, or refused in one line. `docs/stores/postgres.md` shows them.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use tenure_core::{FaultKind, Store};
use tenure_postgres::PostgresStore;
use tenure_servers::{Certificates, PgBouncer, PostgresServer};

use crate::{
    support::{name, session, sql, told, tries, until},
    tls::server,
};

/// Where a URL leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    /// A server that lets a user in over TLS alone.
    Tls,
    /// One that lets a user in in the clear.
    Plain,
    /// A socket in the file system.
    Socket,
    /// A pooler, over TLS and in the clear.
    TlsPooler,
    Pooler,
    /// Nowhere: what is wrong is said, with this in it.
    Refused(&'static str),
}

use To::{Plain, Pooler, Refused, Socket, Tls, TlsPooler};

const URLS: &[(&str, &str, To)] = &[
    (
        "RDS",
        "postgres://app:pw@shop.abc.eu-west-1.rds.amazonaws.com:5432/shop?sslmode=verify-full&sslrootcert=/certs/global-bundle.pem",
        Tls,
    ),
    ("Cloud SQL", "postgres://app:pw@/shop?host=/cloudsql/shop-1:europe-west1:main", Socket),
    ("Supabase", "postgresql://postgres:pw@db.abc.supabase.co:5432/postgres", Plain),
    (
        "Supabase, pooled",
        "postgresql://postgres.abc:pw@aws-0-eu-central-1.pooler.supabase.com:6543/postgres?pgbouncer=true",
        Pooler,
    ),
    (
        "Neon",
        "postgresql://app:pw@ep-cool-1.eu-central-1.aws.neon.tech/neondb?sslmode=require&channel_binding=require",
        Tls,
    ),
    (
        "Neon, pooled",
        "postgresql://app:pw@ep-cool-1-pooler.eu-central-1.aws.neon.tech/neondb?sslmode=require",
        TlsPooler,
    ),
    (
        "Neon, verified",
        "postgresql://app:pw@ep-cool-1.eu-central-1.aws.neon.tech/neondb?sslmode=verify-full&sslrootcert=system",
        Tls,
    ),
    (
        "Heroku",
        "postgres://app:pw@ec2-1-2-3-4.compute-1.amazonaws.com:5432/d8abc",
        Refused("write tls=yes (sslmode=verify-full)"),
    ),
    (
        "Heroku, of node-postgres",
        "postgres://app:pw@ec2-1-2-3-4.compute-1.amazonaws.com:5432/d8abc?sslmode=no-verify",
        Tls,
    ),
    (
        "Azure",
        "postgres://app%40shop:pw@shop.postgres.database.azure.com:5432/shop?sslmode=require",
        Tls,
    ),
    ("Aiven", "postgres://avnadmin:pw@shop.aivencloud.com:12345/defaultdb?sslmode=require", Tls),
    (
        "DigitalOcean, pooled",
        "postgresql://doadmin:pw@shop-do-user-1-0.b.db.ondigitalocean.com:25061/shop-pool?sslmode=require",
        TlsPooler,
    ),
    (
        "sqlx",
        "postgres://app:pw@db/shop?ssl-mode=prefer&statement-cache-capacity=0&application_name=shop",
        Tls,
    ),
    (
        "Django",
        "postgis://app:pw@db:5432/shop?options=-c%20search_path%3Dshop,public&conn_max_age=600",
        Plain,
    ),
    (
        "SQLAlchemy",
        "postgresql+asyncpg://app:pw@db/shop?ssl=require&prepared_statement_cache_size=0",
        Tls,
    ),
    (
        "Rails",
        "postgresql://app:pw@db/shop?pool=5&timeout=5000&encoding=utf8&prepared_statements=false",
        Plain,
    ),
    (
        "Spring",
        "jdbc:postgresql://db:5432/shop?user=app&password=pw&ssl=true&sslmode=verify-ca&sslrootcert=/certs/ca.pem&currentSchema=shop&ApplicationName=shop&socketTimeout=30",
        Tls,
    ),
    ("Laravel", "pgsql://app:pw@db:5432/shop?charset=utf8&sslmode=prefer&search_path=public", Tls),
    (
        "Prisma",
        "postgresql://app:pw@db:5432/shop?schema=public&connection_limit=5&pool_timeout=2&connect_timeout=10&sslmode=prefer",
        Tls,
    ),
    ("Prisma", "postgresql://app:pw@db:5432/shop?schema=shop", Refused("also write lock_schema=")),
    (
        "Spring, a replica",
        "jdbc:postgresql://a,b/shop?user=app&password=pw&targetServerType=preferSecondary",
        Refused("write target_session_attrs=read-write"),
    ),
    (
        "Prisma Postgres",
        "postgres://app:pw@db.prisma.io:5432/?sslmode=require",
        Refused("the name of the database"),
    ),
];

/// With users of whom `tls` may come over TLS alone, and `plain` in the clear alone; both by SCRAM.
async fn provider(certificates: &Certificates) -> PostgresServer {
    let server = server(certificates).await;
    let hba = server.folder().join("data/pg_hba.conf");
    let old = fs::read_to_string(&hba).unwrap();
    let lines = [("hostssl", "tls"), ("hostnossl", "plain")]
        .map(|(kind, user)| format!("{kind} all {user} 127.0.0.1/32 scram-sha-256\n"));
    let rest = "host all tls,plain all reject\nlocal all plain scram-sha-256\n";
    fs::write(&hba, lines.concat() + rest + &old).unwrap();
    let client = session(&server.url()).await.unwrap();
    for user in ["tls", "plain"] {
        let made = format!("create role {user} superuser login password 's3ntinel'");
        told(&client, &made).await.unwrap();
    }
    told(&client, "select pg_reload_conf()").await.unwrap();
    let wrong = server.url().replace("postgres@", "plain:wrong@");
    until("it has read them", async || PostgresStore::open(&wrong).await.is_err()).await;
    server
}

fn pooler(server: &PostgresServer, certificates: &Certificates, tls: &str) -> PgBouncer {
    // It runs as another user.
    let folder = tempfile::tempdir().unwrap().keep();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let mut files = Vec::new();
    for file in ["server.pem", "server.key"] {
        let copy = folder.join(file);
        fs::copy(certificates.file(file), &copy).unwrap();
        files.push(copy);
    }
    let users = folder.join("users");
    fs::write(&users, "\"tls\" \"s3ntinel\"\n\"plain\" \"s3ntinel\"\n").unwrap();
    for file in files.iter().chain([&users]) {
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let lines = [
        format!("client_tls_sslmode = {tls}"),
        format!("client_tls_cert_file = {}", files[0].display()),
        format!("client_tls_key_file = {}", files[1].display()),
        "auth_type = scram-sha-256".to_owned(),
        format!("auth_file = {}", users.display()),
    ];
    let pooler = PgBouncer::start(server, 10, &lines.each_ref().map(String::as_str));
    fs::remove_dir_all(folder).unwrap();
    pooler
}

/// The URL with what stands where the host does replaced, and the credentials.
fn led(url: &str, user: &str, server: &str) -> String {
    let (scheme, behind) = url.split_once("://").unwrap();
    let (_, rest) = behind.split_once('/').unwrap();
    if url.contains("user=app") {
        let rest = rest.replace("user=app&password=pw", &format!("user={user}&password=s3ntinel"));
        return format!("{scheme}://{server}/{rest}");
    }
    format!("{scheme}://{user}:s3ntinel@{server}/{rest}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn urls_of_providers_and_frameworks_work_or_say_what_to_change() {
    let certificates = Certificates::new();
    let ca = certificates.file("ca.pem").display().to_string();
    let server = provider(&certificates).await;
    let poolers = ["require", "disable"].map(|tls| pooler(&server, &certificates, tls));
    let [tls_pooler, plain_pooler] = poolers.each_ref().map(|pooler| {
        pooler.url_of("x").split(['@', '/']).nth(3).unwrap().replace("127.0.0.1", "localhost")
    });
    let direct = format!("localhost:{}", server.port());
    let sockets = tempfile::tempdir().unwrap();
    let socket = sockets.path().join("shop-1:europe-west1:main");
    fs::create_dir(&socket).unwrap();
    let of_server = server.folder().join(format!(".s.PGSQL.{}", server.port()));
    symlink(of_server, socket.join(".s.PGSQL.5432")).unwrap();
    let mut databases = vec!["postgres".to_owned(), "tenure".to_owned()];
    for (who, url, to) in URLS {
        let database = url.split("://").nth(1).unwrap().split(['/', '?']).nth(1).unwrap();
        if !database.is_empty() && !databases.iter().any(|known| known == database) {
            sql(&server.url(), &format!("create database \"{database}\"")).await;
            databases.push(database.to_owned());
        }
        let url = url
            .replace("/certs/global-bundle.pem", &ca)
            .replace("/certs/ca.pem", &ca)
            .replace("=system", &format!("={ca}"));
        let url = match to {
            Tls | Refused(_) => led(&url, "tls", &direct),
            Plain => led(&url, "plain", &direct),
            TlsPooler => led(&url, "tls", &tls_pooler),
            Pooler => led(&url, "plain", &plain_pooler),
            Socket => {
                led(&url, "plain", "").replace("/cloudsql", &sockets.path().display().to_string())
            }
        };
        match (PostgresStore::open(&url).await, to) {
            (Ok(store), to) if !matches!(to, Refused(_)) => {
                let answer = store.acquire(&name(who), &tries(1)).await;
                assert!(answer.is_ok(), "{who}: {answer:?}");
            }
            (Err(fault), Refused(says)) => {
                let text = format!("{fault:#}");
                assert_eq!(fault.kind(), FaultKind::Misconfigured, "{who}: {text}");
                assert!(text.contains(says) && !text.contains('\n'), "{who}: {text}");
                assert!(!text.contains("s3ntinel"), "{who}: {text}");
            }
            (opened, to) => panic!("{who}: {url} leads to {to:?}, and it is {opened:?}"),
        }
    }
}

/// The page shows each, with what becomes of it.
#[test]
fn the_page_has_the_urls_of_providers_and_frameworks() {
    let page = include_str!("../../../../docs/stores/postgres.md");
    for (who, url, _) in URLS {
        let settings = url.split('?').nth(1).unwrap_or_default();
        let settings = settings.replace("user=app&password=pw&", "");
        assert!(page.contains(&settings), "{who}: {settings}");
    }
}
