//! What a session is told, whatever it inherits from the server, from its user and from what stands in between.
//!
//! [docs/stores/mysql.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/mysql.md) says of each setting what it could do; a test holds that none of a server's is unknown.

use std::time::Duration;

use tenure_core::{Fault, FaultKind};

/// What it is told, as it is read again.
const TOLD: &str = "1 NO_CHAIN utf8mb4 utf8mb4_bin utf8mb4 0 1 1 1";
/// As `TOLD` has them.
const READ_AGAIN: &str = "concat_ws(' ', 0 + @@session.autocommit, @@session.completion_type, \
     @@session.character_set_client, @@session.collation_connection, @@session.character_set_results, \
     0 + @@session.sql_safe_updates, 0 + @@session.sql_big_selects, 0 + @@session.unique_checks, \
     0 + @@session.foreign_key_checks)";

/// Notifications a session how it is to be, and reads it again, with what the server says of itself and whether the session
/// writes past the log or the cluster. All in one go: what stands in between cannot give the parts to two sessions. By
/// `mark` the session is known again.
///
/// Each kind of server skips what stands in a comment of the other's.
pub(crate) fn session_setup_sql(limit: Duration, mark: u32) -> String {
    let seconds = limit.as_secs().max(1);
    let millis = seconds * 1_000;
    format!(
        // The first goes by itself: words of the others would be of the old character set. `default` would be what the
        // server has by default; of the time alone it is the clock.
        "set names utf8mb4 collate utf8mb4_bin; \
         set session autocommit = 1, completion_type = 'NO_CHAIN', \
         sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
         timestamp = default, sql_safe_updates = 0, sql_big_selects = 1, sql_select_limit = 18446744073709551615, \
         max_sort_length = 1024, group_concat_max_len = 1024, unique_checks = 1, foreign_key_checks = 1, \
         innodb_lock_wait_timeout = 1, lock_wait_timeout = {seconds} \
         /*M!100600 , max_statement_time = {seconds}, in_predicate_conversion_threshold = 0, \
         optimizer_max_sel_arg_weight = 0 */ \
         /*!80000 , max_execution_time = {millis}, range_optimizer_max_mem_size = 0 */ \
         , @tenure = {mark}; \
         set session transaction isolation level read committed; \
         select version(), @@innodb_flush_log_at_trx_commit, @@read_only, @@max_allowed_packet, {READ_AGAIN}, \
         @@log_bin and not @@session.sql_log_bin /*M!100600 , (select s.variable_value = 'OFF' and \
         g.variable_value = 'ON' from information_schema.session_variables s join information_schema.global_variables g \
         using (variable_name) where variable_name = 'WSREP_ON') */"
    )
}

/// Looks whether a session is as it was told.
pub(crate) fn check(read: &str, is_past_log: bool, is_past_cluster: bool) -> Result<(), Fault> {
    let (what, help) = if read != TOLD {
        let what = format!("a session does not have the settings that tenure gave it, but: {read}");
        (
            what,
            "use no proxy that shares sessions: see \
             https://github.com/tenure-rs/tenure/blob/main/docs/stores/mysql.md",
        )
    } else if is_past_log {
        let what = "the writes of this user's sessions are not logged, so no replica has them: sql_log_bin is 0";
        (what.to_owned(), "see what sets it: init_connect, or a proxy in between")
    } else if is_past_cluster {
        let what = "the writes of this user's sessions reach no other node: wsrep_on is OFF";
        (what.to_owned(), "see what sets it: init_connect, or a proxy in between")
    } else {
        return Ok(());
    };
    Err(Fault::new(FaultKind::Misconfigured, what, help))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_is_not_as_it_was_told_or_writes_for_itself_alone_is_refused() {
        check(TOLD, false, false).unwrap();
        let otherwise = TOLD.replace("utf8mb4_bin", "latin1_swedish_ci");
        for (read, past_log, past_cluster, says) in [
            (&*otherwise, false, false, "latin1_swedish_ci"),
            (TOLD, true, false, "sql_log_bin"),
            (TOLD, false, true, "wsrep_on"),
        ] {
            let fault = check(read, past_log, past_cluster).unwrap_err();
            assert!(fault.message().contains(says), "{fault:#}");
        }
    }
}
