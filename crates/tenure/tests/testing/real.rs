use tempfile::tempdir;
use tenure::Tenure;
use tenure_servers::RedisServer;

#[tokio::test]
async fn on_files() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempdir()?; // of this test alone; it outlives what uses it
    let tenure = Tenure::open(format!("file:{}", dir.path().display())).await?;
    tenure.mutex("order:42").lock().await?.release().await?;
    Ok(())
}

#[tokio::test]
async fn on_redis() -> Result<(), Box<dyn std::error::Error>> {
    let server = RedisServer::start(); // a redis-server on a free port, ended with the test
    let tenure = Tenure::open(format!("redis://{}", server.address())).await?;
    tenure.mutex("order:42").lock().await?.release().await?;
    Ok(())
}
