//! Which memory of the database this is.

use sha2::{Digest, Sha256};
use tenure_core::{Fault, Incarnation};

use crate::database::{Postgres, query::Parameters};

impl Postgres {
    /// The cluster's number and its time line, which a failover changes; without `fsync` also the start of the server.
    pub(crate) async fn look_at_incarnation(&self) -> Result<Incarnation, Fault> {
        let nothing: &Parameters<'_> = &[];
        let statement = &self.common.statements.incarnation;
        let row = self.row(statement, nothing, false).await?;
        let text: String = self.get(&row, 0)?;
        let hash = Sha256::digest(text.as_bytes());
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(hash.iter()).for_each(|(byte, of)| *byte = *of);
        Ok(Incarnation::from_bytes(bytes))
    }

    /// The cluster's number, which a copy of its files has too, and when its server began.
    pub(crate) async fn look_at_server(&self) -> Result<String, Fault> {
        let nothing: &Parameters<'_> = &[];
        let row = self.row(&self.common.statements.which_server, nothing, false).await?;
        self.get(&row, 0)
    }
}
