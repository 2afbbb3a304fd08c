//! Raising the token of a hold, which quorums do.

use tenure_core::proto::{
    Token,
    queue::{Ask, Raised},
};

use super::{Client, Grant, client::expect_success, scene::Scene};

/// A token somewhat greater than the one of a hold.
fn greater(than: Token) -> Token {
    match Token::from_raw(than.get() + (1_000_000 << 10)) {
        Some(token) => token,
        None => panic!("no token is greater than {than}"),
    }
}

/// A hold, or nothing where the store does not raise tokens.
async fn held(scene: &Scene) -> Option<(Client, Ask, Grant)> {
    let client = scene.client().await;
    let held = client.tries();
    let grant = client.lock(&held).await;
    if !client.can().raise {
        scene.refused("raising of tokens", client.raise(&held.owner, greater(grant.token)).await);
        return None;
    }
    Some((client, held, grant))
}

/// Clause 1: a repeated ask answers the token that the hold was raised to.
pub async fn a_raised_token_is_what_a_repeat_answers(scene: Scene) {
    let Some((client, held, grant)) = held(&scene).await else { return };
    let token = greater(grant.token);
    assert_eq!(expect_success(client.raise(&held.owner, token).await), Raised::Raised);
    assert_eq!(expect_success(client.raise(&held.owner, token).await), Raised::Raised);
    assert_eq!(client.lock(&held).await.token, token);
    assert_eq!(client.inspect().await.holders.first().and_then(|holder| holder.token), Some(token));
}

/// Clause 8: a token never goes back.
pub async fn a_smaller_token_is_stale(scene: Scene) {
    let Some((client, held, grant)) = held(&scene).await else { return };
    let token = greater(greater(grant.token));
    assert_eq!(expect_success(client.raise(&held.owner, token).await), Raised::Raised);
    let smaller = greater(grant.token);
    assert_eq!(expect_success(client.raise(&held.owner, smaller).await), Raised::Stale);
    assert_eq!(client.lock(&held).await.token, token);
}

/// Clause 7: only the holder's own hold is raised.
pub async fn only_the_holder_raises(scene: Scene) {
    let Some((client, held, grant)) = held(&scene).await else { return };
    let token = greater(grant.token);
    assert_eq!(expect_success(client.raise(&scene.owner(), token).await), Raised::NotHeld);
    assert_eq!(client.lock(&held).await.token, grant.token);
    client.let_go(&held.owner).await;
    assert_eq!(expect_success(client.raise(&held.owner, token).await), Raised::NotHeld);
}

/// Clause 8: what is granted next lies above the raised token.
pub async fn tokens_rise_above_a_raised_one(scene: Scene) {
    let Some((client, held, grant)) = held(&scene).await else { return };
    let token = greater(grant.token);
    assert_eq!(expect_success(client.raise(&held.owner, token).await), Raised::Raised);
    client.let_go(&held.owner).await;
    let next = client.lock(&client.tries()).await;
    assert!(next.token > token, "{next:?} after a token raised to {token}");
}
