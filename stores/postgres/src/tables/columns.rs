//! The columns of a row, as statements are told of them.

/// The columns of who has a name alone, and of who is next.
#[derive(Default)]
pub(crate) struct Columns<'a> {
    pub(crate) owner: Option<&'a [u8]>,
    pub(crate) client: Option<&'a [u8]>,
    pub(crate) kind: Option<i16>,
    pub(crate) token: Option<i64>,
    pub(crate) since: Option<i64>,
    pub(crate) expires: Option<i64>,
    pub(crate) label: Option<&'a str>,
    pub(crate) next_owner: Option<&'a [u8]>,
    pub(crate) next_client: Option<&'a [u8]>,
    pub(crate) next_is_last: Option<bool>,
    pub(crate) next_until: Option<i64>,
}

impl<'a> Columns<'a> {
    pub(crate) fn of(row: &'a tenure_sql::Row) -> Self {
        let mut columns = Self::default();
        if let Some(sole) = &row.sole {
            columns.owner = Some(&sole.owner);
            columns.client = Some(&sole.client);
            columns.kind = Some(sole.kind);
            columns.token = Some(sole.token);
            columns.since = Some(sole.since);
            columns.expires = Some(sole.expires);
            columns.label = Some(&sole.label);
        }
        if let Some(next) = &row.next {
            columns.next_owner = Some(&next.owner);
            columns.next_client = Some(&next.client);
            columns.next_is_last = Some(next.is_last);
            columns.next_until = next.until;
        }
        columns
    }
}
