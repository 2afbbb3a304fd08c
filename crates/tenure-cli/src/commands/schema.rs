//! `tenure schema`: the tables of a store on a database, for those who make them by hand.

use crate::{
    args::{Database, Schema},
    exit::Failure,
    output::write_answer,
};

pub(super) fn schema(args: &Schema) -> Result<u8, Failure> {
    let statements = match args.database {
        Database::Postgres => tenure::schema::postgres(&args.schema),
        Database::Mysql => tenure::schema::mysql(&args.schema),
    };
    write_answer(&statements.map_err(|fault| Failure::Usage(fault.into()))?)?;
    Ok(0)
}
