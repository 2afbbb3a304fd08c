use tenure::{Error, Tenure, locked};

#[locked(name = "digest", kind = read, once_per = "1d", store = tenure)]
async fn digest(tenure: &Tenure) -> Result<(), Error> {
    Ok(())
}

fn main() {}
