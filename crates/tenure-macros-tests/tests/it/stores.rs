//! Where a locked function finds its store.

use std::sync::Arc;

use tenure::{
    Error, Tenure, locked,
    locked::{DefaultIsSet, set_default},
};

use crate::scene::{Done, holders, open};

struct App {
    tenure: Arc<Tenure>,
}

impl App {
    fn tenure(&self) -> &Tenure {
        &self.tenure
    }
}

#[locked(name = "field", store = app.tenure)]
async fn by_field(app: &App) -> Done<usize> {
    Ok(holders(&app.tenure, "field").await)
}

#[locked(name = "method", store = app.tenure())]
async fn by_method(app: &App) -> Done<usize> {
    Ok(holders(&app.tenure, "method").await)
}

#[tokio::test]
async fn a_store_is_any_expression_that_leads_to_one() {
    let app = App { tenure: Arc::new(open().await) };
    assert_eq!(by_field(&app).await.unwrap(), 1);
    assert_eq!(by_method(&app).await.unwrap(), 1);
}

#[locked(name = "default")]
async fn by_default(tenure: &Tenure) -> Done<usize> {
    Ok(holders(tenure, "default").await)
}

/// One test, for there is one default in a process.
#[tokio::test]
async fn without_a_store_there_is_the_default_or_an_error() {
    let tenure = open().await;
    let error = by_default(&tenure).await.unwrap_err();
    assert!(matches!(error, Error::Acquire(_)));
    assert_eq!(
        format!("{error:#}"),
        "lock \"default\" in no store: this #[locked] function names no store, and there is no \
         default; call tenure::locked::set_default(…) at the start of main, or write store = …"
    );
    set_default(tenure.clone()).unwrap();
    assert_eq!(by_default(&tenure).await.unwrap(), 1);
    assert_eq!(set_default(tenure), Err(DefaultIsSet));
}
