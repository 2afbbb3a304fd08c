//! How a fencing token is made of the transaction that created a node. Nothing is asked here.

use tenure_core::Token;

/// What a record begins with.
const RECORD: &str = "tokens=";

/// The form of all tokens below one base path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TokenForm {
    /// The transaction, and ten bits for the hand-overs inside one process.
    #[default]
    Shifted,
    /// The transaction alone, as programs compare it that use Curator.
    Czxid,
}

impl TokenForm {
    const ALL: [Self; 2] = [Self::Shifted, Self::Czxid];

    /// The form as the URL and the record at the ensemble write it.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Shifted => "shifted",
            Self::Czxid => "czxid",
        }
    }

    /// The record of it.
    pub(crate) fn record(self) -> Vec<u8> {
        format!("{RECORD}{}", self.text()).into_bytes()
    }

    pub(crate) const fn has_pass_bits(self) -> bool {
        matches!(self, Self::Shifted)
    }

    /// The token of a node that was made by this transaction, on an ensemble of this epoch.
    pub(crate) fn token_of(self, czxid: i64, epoch: u32) -> Option<Token> {
        let transaction = u64::try_from(czxid).ok()?.checked_add(u64::from(epoch) << 32)?;
        match self {
            Self::Shifted => Token::from_time(transaction),
            Self::Czxid => Token::from_raw(transaction),
        }
    }
}

/// What the base path says, as its data, of the tokens of all locks below it.
///
/// It is there for as long as there is a contender below it, whatever becomes of processes, sessions and directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenRecord {
    /// Nothing yet. Whoever has shifted tokens records it where the data still have this version.
    Unwritten {
        version: i32,
    },
    Form(TokenForm),
    /// A form that this version of tenure does not know.
    Unknown(String),
    /// Data of somebody else, which stay.
    Foreign,
    /// This user may not read it.
    Unreadable,
}

impl TokenRecord {
    pub(crate) fn read(data: &[u8], version: i32) -> Self {
        if data.is_empty() {
            return Self::Unwritten { version };
        }
        let Some(form) = data.strip_prefix(RECORD.as_bytes()) else { return Self::Foreign };
        match TokenForm::ALL.into_iter().find(|known| known.text().as_bytes() == form) {
            Some(form) => Self::Form(form),
            None => Self::Unknown(String::from_utf8_lossy(form).chars().take(32).collect()),
        }
    }

    /// Whether programs with this form may hand out tokens; nothing where the record is to be written first.
    ///
    /// Where no record is seen, the bare form is refused, so the other one is the only one there: others may have used
    /// the path without a right to record anything.
    pub(crate) fn permits(&self, ours: TokenForm) -> Option<bool> {
        match self {
            Self::Unwritten { .. } if ours == TokenForm::Shifted => None,
            Self::Form(form) => Some(*form == ours),
            Self::Unknown(_) => Some(false),
            Self::Unwritten { .. } | Self::Foreign | Self::Unreadable => {
                Some(ours == TokenForm::Shifted)
            }
        }
    }

    /// The form of the tokens that others were handed out, for a program with `ours`; nothing if it is not known.
    pub(crate) fn form_or(record: Option<&Self>, ours: TokenForm) -> Option<TokenForm> {
        match record {
            Some(Self::Form(form)) => Some(*form),
            Some(Self::Unknown(_)) => None,
            // Nobody else is permitted there.
            Some(Self::Foreign | Self::Unwritten { .. }) => Some(TokenForm::Shifted),
            Some(Self::Unreadable) | None => Some(ours),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rebuilt_ensemble_goes_on_above_the_last_one() {
        for form in TokenForm::ALL {
            let old = form.token_of(0x0000_0007_ffff_ffff, 0).unwrap();
            let rebuilt = form.token_of(1, 8).unwrap();
            assert!(rebuilt > old);
            assert_eq!(form.token_of(-1, 0), None);
            assert_eq!(form.token_of(i64::MAX, 1), None);
        }
        assert_eq!(TokenForm::Shifted.token_of(5, 0).unwrap().time(), 5);
        assert_eq!(TokenForm::Shifted.token_of(i64::MAX, 0), None);
        assert_eq!(TokenForm::Czxid.token_of(5, 0).unwrap().get(), 5);
    }

    #[test]
    fn a_record_permits_its_form_alone() {
        for form in TokenForm::ALL {
            let record = TokenRecord::read(&form.record(), 3);
            assert_eq!(record, TokenRecord::Form(form));
            for ours in TokenForm::ALL {
                assert_eq!(record.permits(ours), Some(ours == form));
                assert_eq!(TokenRecord::read(b"tokens=later", 7).permits(ours), Some(false));
            }
        }
        let unwritten = TokenRecord::read(b"", 7);
        assert_eq!(unwritten, TokenRecord::Unwritten { version: 7 });
        assert_eq!(unwritten.permits(TokenForm::Shifted), None);
        assert_eq!(unwritten.permits(TokenForm::Czxid), Some(false));
        // As Curator writes where it is given none.
        let foreign = TokenRecord::read(b"192.168.1.2", 0);
        assert_eq!(foreign.permits(TokenForm::Shifted), Some(true));
        assert_eq!(foreign.permits(TokenForm::Czxid), Some(false));
        assert_eq!(TokenRecord::Unreadable.permits(TokenForm::Shifted), Some(true));
        assert_eq!(TokenRecord::Unreadable.permits(TokenForm::Czxid), Some(false));
    }

    #[test]
    fn tokens_of_others_have_the_recorded_form() {
        for ours in TokenForm::ALL {
            let shown = |record| TokenRecord::form_or(Some(&record), ours);
            for recorded in TokenForm::ALL {
                assert_eq!(shown(TokenRecord::Form(recorded)), Some(recorded));
            }
            assert_eq!(shown(TokenRecord::Unknown("later".to_owned())), None);
            assert_eq!(shown(TokenRecord::Foreign), Some(TokenForm::Shifted));
            assert_eq!(shown(TokenRecord::Unwritten { version: 0 }), Some(TokenForm::Shifted));
            assert_eq!(TokenRecord::form_or(None, ours), Some(ours));
        }
    }

    #[test]
    fn any_data_are_a_record_or_none() {
        let examples = TokenForm::ALL.map(TokenForm::record);
        tenure_testkit::fuzz(20_000, &examples.each_ref().map(Vec::as_slice), |data| {
            matches!(TokenRecord::read(data, 0), TokenRecord::Form(_))
        });
    }
}
