//! What a statement is given, without what it says.

use std::{error::Error, fmt};

use bytes::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};

/// A value for the server alone: the driver writes the values of each statement into the log, and an owner is what a
/// hold is proven by.
pub(crate) struct RedactedParameter<'a>(pub(crate) &'a (dyn ToSql + Sync));

impl fmt::Debug for RedactedParameter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl ToSql for RedactedParameter<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.0.to_sql_checked(kind, out)
    }

    /// Whether the value does is seen as it is written.
    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, kind: &Type) -> Format {
        self.0.encode_format(kind)
    }

    to_sql_checked!();
}
