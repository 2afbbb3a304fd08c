//! Functions of every shape.

use std::{fmt::Display, future::Future, rc::Rc};

use async_trait::async_trait;
use tenure::{LockedError, Tenure, locked, locked::current};

use crate::scene::{Done, open};

fn held() -> String {
    current().unwrap().name().to_string()
}

struct Shop {
    tenure: Tenure,
    id: u32,
    sold: u32,
}

impl Shop {
    /// Documented.
    #[locked(key = "shop:{self.id}", store = self.tenure)]
    pub(crate) async fn name(&self) -> Done<String> {
        Ok(held())
    }

    #[locked(key = "shop:{self.id}", store = &self.tenure)]
    #[must_use = "it was sold"]
    async fn sell(&mut self, mut count: u32) -> Done<&mut u32> {
        count += 1;
        self.sold += count;
        Ok(&mut self.sold)
    }

    #[locked(name = "close", store = self.tenure.clone())]
    async fn close(self) -> Done<u32> {
        Ok(self.sold)
    }

    #[locked(key = "shop:{self.id}", store = self.tenure)]
    fn blocking(&mut self) -> Done<&mut u32> {
        self.sold += 1;
        Ok(&mut self.sold)
    }

    #[locked(name = "associated", store = tenure)]
    async fn associated(tenure: &Tenure) -> Done<Self> {
        Ok(Self { tenure: tenure.clone(), id: 9, sold: 0 })
    }
}

#[tokio::test]
async fn methods() {
    let mut shop = Shop::associated(&open().await).await.unwrap();
    assert_eq!(shop.name().await.unwrap(), "shop:9");
    *shop.sell(2).await.unwrap() += 1;
    *shop.blocking().unwrap() += 1;
    assert_eq!(shop.close().await.unwrap(), 6);
}

#[locked(key = "generic:{value}", store = tenure)]
async fn generic<T, const N: usize>(tenure: &Tenure, value: T, more: [T; N]) -> Done<(T, usize)>
where
    T: Display + Send,
{
    Ok((value, more.len()))
}

#[locked(key = "longest:{left}", store = tenure)]
async fn longest<'a>(tenure: &Tenure, left: &'a str, right: &'a str) -> Done<&'a str> {
    if left.len() > right.len() {
        return Ok(left);
    }
    Ok(right)
}

#[tokio::test]
async fn generics_and_lifetimes() {
    let tenure = open().await;
    assert_eq!(generic(&tenure, 1.5, [2.5, 3.5]).await.unwrap(), (1.5, 2));
    assert_eq!(longest(&tenure, "long", "longer").await.unwrap(), "longer");
}

#[locked(name = "shown", store = tenure)]
async fn shown(tenure: &Tenure, value: impl Display) -> Result<impl Display, LockedError> {
    if value.to_string().is_empty() {
        return Ok("nothing".to_owned());
    }
    Ok(format!("<{value}>"))
}

#[locked(name = "shown", store = tenure)]
fn shown_blocking(
    tenure: &Tenure,
    value: u8,
) -> Result<impl Iterator<Item = u8> + use<>, LockedError> {
    Ok(0..value)
}

#[allow(clippy::manual_async_fn, reason = "the shape is what is tested")]
#[locked(name = "by hand", store = tenure)]
fn by_hand(tenure: &Tenure, value: u8) -> impl Future<Output = Done<u8>> + Send {
    async move { Ok(value + u8::from(held() == "by hand")) }
}

#[locked(name = "boxed", store = tenure)]
fn boxed(tenure: &Tenure) -> std::pin::Pin<Box<dyn Future<Output = Done<String>> + Send + '_>> {
    Box::pin(async move { Ok(held()) })
}

#[tokio::test]
async fn opaque_and_boxed_results() {
    let tenure = open().await;
    assert_eq!(shown(&tenure, 3).await.unwrap().to_string(), "<3>");
    assert_eq!(shown_blocking(&tenure, 3).unwrap().count(), 3);
    assert_eq!(by_hand(&tenure, 3).await.unwrap(), 4);
    assert_eq!(boxed(&tenure).await.unwrap(), "boxed");
}

#[allow(clippy::future_not_send, reason = "so it is meant")]
#[locked(name = "local", store = tenure)]
async fn not_send(tenure: &Tenure, value: Rc<u8>) -> Done<u8> {
    tokio::task::yield_now().await;
    Ok(*value)
}

#[tokio::test]
async fn a_body_need_not_be_send() {
    assert_eq!(not_send(&open().await, Rc::new(3)).await.unwrap(), 3);
}

#[test]
fn a_call_is_send_if_its_body_is() {
    fn is_send<F: Send>(_: impl FnOnce(&'static Tenure) -> F) {}
    is_send(|tenure| longest(tenure, "", ""));
}

#[async_trait]
trait Till {
    async fn pay(&self, amount: u32) -> Result<String, LockedError>;
}

#[async_trait]
impl Till for Shop {
    #[locked(key = "till:{self.id}:{amount}", store = self.tenure)]
    async fn pay(&self, amount: u32) -> Result<String, LockedError> {
        if amount == 0 {
            return Ok("nothing".to_owned());
        }
        Ok(held())
    }
}

trait Native {
    fn pay(&self, amount: u32) -> impl Future<Output = Done<String>> + Send;
}

impl Native for Shop {
    #[locked(key = "native:{self.id}:{amount}", store = self.tenure)]
    async fn pay(&self, amount: u32) -> Done<String> {
        Ok(held())
    }
}

#[tokio::test]
async fn methods_of_traits() {
    let shop = Shop::associated(&open().await).await.unwrap();
    assert_eq!(Till::pay(&shop, 3).await.unwrap(), "till:9:3");
    assert_eq!(Till::pay(&shop, 0).await.unwrap(), "nothing");
    assert_eq!(Native::pay(&shop, 3).await.unwrap(), "native:9:3");
}

#[locked(name = "outside", store = tenure)]
#[tracing::instrument(skip(tenure))]
async fn instrumented_inside(tenure: &Tenure) -> Done<String> {
    Ok(held())
}

#[tracing::instrument(skip(tenure))]
#[locked(name = "inside", store = tenure)]
async fn instrumented_outside(tenure: &Tenure) -> Done<String> {
    Ok(held())
}

#[tokio::test]
async fn beside_other_attributes() {
    let tenure = open().await;
    assert_eq!(instrumented_inside(&tenure).await.unwrap(), "outside");
    assert_eq!(instrumented_outside(&tenure).await.unwrap(), "inside");
}

/// Names that the macro might use too.
#[locked(key = "{name}{plan}{body}{never}{scope}", store = tenure)]
async fn unlucky(tenure: &Tenure, name: u8, plan: u8, body: u8, never: u8, scope: u8) -> Done<u8> {
    #[allow(non_camel_case_types, dead_code, reason = "shadows what the macro needs")]
    struct Option;
    #[allow(dead_code, reason = "shadows what the macro needs")]
    mod core {}
    Ok(name + plan + body + never + scope)
}

#[tokio::test]
async fn names_do_not_clash() {
    assert_eq!(unlucky(&open().await, 1, 2, 3, 4, 5).await.unwrap(), 15);
}
