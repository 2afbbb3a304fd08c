//! A look at the real database.

use tenure_core::{Fault, store::Finding};
use tenure_sql::{CONNECTION, Database};

use crate::database::Mysql;

impl Mysql {
    pub(crate) async fn look_at_health(&self) -> Result<Vec<Finding>, Fault> {
        if let Err(fault) = self.first_look().await {
            let finding = Finding::failed(CONNECTION, &fault);
            return Ok(vec![finding.touches("S9")]);
        }
        Ok(vec![Finding::good(CONNECTION, self.common.location.clone())])
    }
}
