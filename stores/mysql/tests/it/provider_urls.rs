//! URLs as hosting providers and frameworks write them: each is run as it is, but for the host, the credentials and the
//! file with the authorities, or refused in one line. `docs/stores/mysql.md` shows them.

use tenure_core::FaultKind;
use tenure_mysql::MysqlStore;
use tenure_servers::Certificates;

use crate::{
    support::{outside, owner, run, take},
    tls::{ca, server},
};

/// Where a URL leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    /// A server that lets a user in over TLS alone.
    Tls,
    /// The same, whose authority is one of the system's.
    Public,
    /// One that lets a user in in the clear.
    Plain,
    /// Nowhere: what is wrong is said, with this in it.
    Refused(&'static str),
}

use To::{Plain, Public, Refused, Tls};

const URLS: &[(&str, &str, To)] = &[
    (
        "RDS",
        "mysql://app:pw@shop.abc.eu-west-1.rds.amazonaws.com:3306/shop?ssl-mode=VERIFY_IDENTITY&ssl-ca=/certs/global-bundle.pem",
        Tls,
    ),
    (
        "Azure, of Spring",
        "jdbc:mysql://shop.mysql.database.azure.com:3306/shop?user=app&password=pw&useSSL=true&requireSSL=true&serverTimezone=UTC",
        Tls,
    ),
    ("Azure", "mysql://app:pw@shop.mysql.database.azure.com:3306/shop?ssl-mode=REQUIRED", Tls),
    (
        "PlanetScale",
        "mysql://app:pw@aws.connect.psdb.cloud/shop?ssl={\"rejectUnauthorized\":true}",
        Public,
    ),
    (
        "PlanetScale, of Prisma",
        "mysql://app:pw@aws.connect.psdb.cloud/shop?sslaccept=strict",
        Public,
    ),
    ("Aiven", "mysql://avnadmin:pw@shop.aivencloud.com:12345/defaultdb?ssl-mode=REQUIRED", Tls),
    (
        "DigitalOcean",
        "mysql://doadmin:pw@shop-do-user-1-0.b.db.ondigitalocean.com:25060/defaultdb?ssl-mode=REQUIRED",
        Tls,
    ),
    (
        "Cloud SQL",
        "mysql://app:pw@localhost/shop?socket=/cloudsql/shop-1:europe-west1:main",
        Refused("name the host, such as 127.0.0.1"),
    ),
    ("sqlx", "mysql://app:pw@db/shop?ssl-mode=PREFERRED&charset=utf8mb4", Tls),
    ("Django", "mysql://app:pw@db:3306/shop?charset=utf8mb4&ssl-ca=/certs/ca.pem", Tls),
    (
        "SQLAlchemy",
        "mysql+pymysql://app:pw@db/shop?charset=utf8mb4&ssl_ca=/certs/ca.pem&ssl_verify_cert=true&ssl_verify_identity=true",
        Tls,
    ),
    (
        "Rails",
        "mysql2://app:pw@db/shop?encoding=utf8mb4&pool=5&reconnect=true&ssl_mode=verify_identity&sslca=/certs/ca.pem",
        Tls,
    ),
    ("Rails, without TLS", "trilogy://app:pw@db/shop?pool=5&timeout=5000", Plain),
    ("Spring", "jdbc:mariadb://db:3306/shop?user=app&password=pw&sslMode=trust", Tls),
    (
        "Spring, verified",
        "jdbc:mysql://db:3306/shop?user=app&password=pw&useSSL=true&verifyServerCertificate=true",
        Refused("also verify the name"),
    ),
    (
        "Laravel",
        "mysql://app:pw@127.0.0.1:3306/laravel?charset=utf8mb4&collation=utf8mb4_unicode_ci",
        Plain,
    ),
    (
        "Prisma",
        "mysql://app:pw@db:3306/shop?connection_limit=5&connect_timeout=10&sslcert=/certs/ca.pem&sslaccept=strict",
        Tls,
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn urls_of_providers_and_frameworks_work_or_say_what_to_change() {
    let certificates = Certificates::new();
    let ours = ca(&certificates);
    let (server, tls) = server(&certificates).await;
    let mut conn = outside(&server).await;
    // Its proof does without the password on each server.
    run(&mut conn, "create user plain").await;
    let at = tls.split(['@', '/']).nth(3).unwrap();
    for (who, url, to) in URLS {
        let (scheme, behind) = url.split_once("://").unwrap();
        let (_, rest) = behind.split_once('/').unwrap();
        let database = rest.split('?').next().unwrap();
        run(&mut conn, &format!("create database if not exists {database}")).await;
        for user in ["locks", "plain"] {
            run(&mut conn, &format!("grant all on {database}.* to {user}")).await;
        }
        let credentials = if *to == Plain { ("plain", "") } else { ("locks", "s3ntinel") };
        let rest = rest.replace("/certs/global-bundle.pem", &ours).replace("/certs/ca.pem", &ours);
        let mut led = if rest.contains("user=app") {
            let by = format!("user={}&password={}", credentials.0, credentials.1);
            format!("{scheme}://{at}/{}", rest.replace("user=app&password=pw", &by))
        } else {
            format!("{scheme}://{}:{}@{at}/{rest}", credentials.0, credentials.1)
        };
        if *to == Public {
            led += &format!("&ssl-ca={ours}");
        }
        match (MysqlStore::open(&led).await, to) {
            (Ok(store), Tls | Public | Plain) => {
                take(&store, who, owner(1)).await;
            }
            (Err(fault), Refused(says)) => {
                let text = format!("{fault:#}");
                assert_eq!(fault.kind(), FaultKind::Misconfigured, "{who}: {text}");
                assert!(text.contains(says) && !text.contains('\n'), "{who}: {text}");
                assert!(!text.contains("s3ntinel"), "{who}: {text}");
            }
            (opened, to) => panic!("{who}: {led} leads to {to:?}, and it is {opened:?}"),
        }
    }
}

/// The page shows each, with what becomes of it.
#[test]
fn the_page_has_the_urls_of_providers_and_frameworks() {
    let page = include_str!("../../../../docs/stores/mysql.md");
    for (who, url, _) in URLS {
        let settings = url.split('?').nth(1).unwrap_or_default();
        let settings = settings.replace("user=app&password=pw&", "");
        assert!(page.contains(&settings), "{who}: {settings}");
    }
}
