//! Hints to the holders of a name from which nothing is taken.

use tenure_core::{Fault, LockName};
use tokio::time::timeout;

use crate::{
    client::{Error, MultiWriteError},
    contenders::{data, layout::LockPath},
    session::Session,
    store::Shared,
};

impl Shared {
    /// Writes into the node of each holder what stands there already: the holder watches it.
    pub(crate) async fn hint_holders(&self, name: &LockName) -> Result<(), Fault> {
        let session = self.sessions.get().await?;
        let place = LockPath::new(&self.options.base, name);
        let queue = self.list_with_record(&session, &place.dir).await?;
        let holding = queue.holding().iter();
        let mut paths: Vec<_> =
            holding.map(|node| format!("{}/{}", place.dir, node.name())).collect();
        if queue.has_permits() {
            let leases = self.list_line(&session, &place.leases()).await?;
            let leases = leases.nodes().iter();
            paths.extend(leases.map(|node| format!("{}/{}", place.leases(), node.name())));
        }
        for path in paths {
            hint(&session, &path).await?;
        }
        Ok(())
    }
}

/// A holder that is gone by now, or whose node this user may not write, gets no hint.
async fn hint(session: &Session, path: &str) -> Result<(), Fault> {
    let (text, stat) = match session.read(session.client().get_data(path)).await? {
        Ok(seen) => seen,
        Err(Error::NoNode | Error::NoAuth) => return Ok(()),
        Err(error) => return Err(session.fault(error, false)),
    };
    // It is asked to release, in a way of which it hears again and again.
    if text == data::REVOKE {
        return Ok(());
    }
    let mut writer = session.client().new_multi_writer();
    let refused = |error| session.fault(error, true);
    writer.add_set_data(path, &text, stat.version).map_err(refused)?;
    let Ok(written) = timeout(session.limit(), writer.commit()).await else { return Ok(()) };
    match written {
        Ok(_) => Ok(()),
        // Another hint, or a request, came in between.
        Err(MultiWriteError::OperationFailed {
            source: Error::NoNode | Error::BadVersion | Error::NoAuth,
            ..
        }) => Ok(()),
        Err(MultiWriteError::OperationFailed { source, .. }) => Err(refused(source)),
        Err(error) => Err(refused(Error::from(error))),
    }
}
