//! The votes on one acquire, in two rounds.

use std::time::Duration;

use super::{certain_length, majority};
use crate::{
    Token,
    rule::{Rule, kept},
};

/// A member's answer to the first round, the ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    /// The member holds the name for this acquisition.
    Granted {
        /// The member's token.
        token: Token,
        /// What is left of the member's lease.
        left: Duration,
    },
    /// Another holder has the name there. For a take-over: there is no hold to take over.
    Busy,
    /// A writer is ahead by the member's [gate](super::gate). The member may still hold the name for this acquisition.
    Closed,
    /// The member failed, and certainly keeps nothing of this ask. It is not known what it keeps of an earlier ask of
    /// the same acquisition.
    Failed,
    /// The member did not answer, so it may hold the name.
    Doubt,
}

/// A member's answer to the second round, which writes the greatest token and reads the member's mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// The member holds the name with the token that was sent, and may be counted.
    Confirmed,
    /// The member holds the name, but lost its memory recently, so it may not be counted.
    KeptOut,
    /// The member's token is greater, or the hold is gone.
    No,
    /// The member did not answer the write or the read.
    Doubt,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Wait for more answers.
    Wait,
    /// Send the second round to these members.
    Confirm {
        /// The token to write.
        token: Token,
        /// The members to send it to.
        members: Vec<usize>,
    },
    /// A majority holds the name.
    Won {
        /// The token that a majority keeps.
        token: Token,
        /// What is certainly left of the lease, counted from before the first ask.
        left: Duration,
    },
    /// Other holders have so many members that no majority is left.
    Outvoted,
    /// So many members failed that no majority is left, or it is not known whether a majority keeps the answer to an
    /// earlier ask.
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemberState {
    Asked,
    /// Granted. The second round was sent with this token, if it was sent.
    Granted {
        token: Token,
        left: Duration,
        sent: Option<Token>,
    },
    /// Granted, and this token was confirmed.
    Confirmed {
        left: Duration,
        token: Token,
    },
    /// Granted, but not to be counted.
    Uncounted,
    /// Granted with this token, and the second round was not answered.
    Unanswered {
        token: Token,
    },
    Busy,
    Closed,
    Failed,
    Doubt,
}

/// The votes on one acquire.
///
/// The second round makes tokens rise across quorums (promise
/// [S2](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s2-tokens-rise)): the greatest token of a
/// majority is written to a majority before it is answered. The next majority shares a member with that one, and a
/// store's next token is greater than any that it was given.
///
/// ```
/// use std::time::Duration;
/// use tenure_proto::{Token, quorum::{Ballot, Confirmation, Step, Vote}};
///
/// let token = |micros| Token::from_time(micros).unwrap();
/// let left = Duration::from_secs(30);
/// let mut ballot = Ballot::new(3, None);
/// ballot.voted(0, Vote::Granted { token: token(7), left });
/// ballot.voted(2, Vote::Granted { token: token(9), left });
/// assert_eq!(ballot.step(), Step::Confirm { token: token(9), members: vec![0, 2] });
/// ballot.confirmed(0, token(9), Confirmation::Confirmed);
/// ballot.confirmed(2, token(9), Confirmation::Confirmed);
/// assert_eq!(ballot.step(), Step::Won { token: token(9), left });
/// ```
#[derive(Clone, Debug)]
pub struct Ballot {
    seats: Vec<MemberState>,
    /// The answer to an earlier ask of the same acquisition.
    known: Option<Token>,
    /// The members that have a greater token for that same hold.
    joined: Vec<Option<Token>>,
    /// The token that the second round writes, once there is one.
    token: Option<Token>,
    /// The rule that requires a majority also for a hold that was granted before.
    needs: Option<Rule>,
}

impl Ballot {
    /// Begins a ballot among this many members. `known` is the token that an earlier ask of the same acquisition
    /// received. Repeating the ask returns that token while a majority keeps it.
    #[must_use]
    pub fn new(members: usize, known: Option<Token>) -> Self {
        let joined = vec![None; members];
        let needs = known.map(|_| Rule::DowngradeByMajority);
        Self { seats: vec![MemberState::Asked; members], known, joined, token: None, needs }
    }

    /// Begins a ballot for a take-over: each member hands the hold over, or has none of it. It takes a majority,
    /// because a hold that fewer members have was lost, and another holder may have had the name since.
    #[must_use]
    pub fn of_take_over(members: usize, known: Option<Token>) -> Self {
        Self { needs: Some(Rule::TakeOverByMajority), ..Self::new(members, known) }
    }

    /// Records that this member joined the known hold with this greater token. While it keeps that token, it keeps the
    /// hold.
    pub fn note_joined(&mut self, member: usize, token: Token) {
        if let Some(joined) = self.joined.get_mut(member) {
            *joined = Some(token);
        }
    }

    /// Returns the members that hold the name with a greater token than the one that was won.
    pub fn joined(&self) -> impl Iterator<Item = (usize, Token)> {
        self.seats.iter().enumerate().filter_map(|(member, seat)| match seat {
            MemberState::Granted { token, .. } if Some(*token) > self.token => {
                Some((member, *token))
            }
            _ => None,
        })
    }

    /// Returns whether the member's greater token belongs to the known hold.
    #[must_use]
    pub fn keeps_known(&self, member: usize) -> bool {
        let own = self.seats.get(member).and_then(MemberState::token);
        own.is_some() && self.joined.get(member).copied().flatten() == own
    }

    /// Records a member's answer to the ask.
    pub fn voted(&mut self, member: usize, vote: Vote) {
        let Some(seat) = self.seats.get_mut(member) else { return };
        *seat = match vote {
            Vote::Granted { token, left } => MemberState::Granted { token, left, sent: None },
            Vote::Busy => MemberState::Busy,
            Vote::Closed => MemberState::Closed,
            Vote::Failed => MemberState::Failed,
            Vote::Doubt => MemberState::Doubt,
        };
    }

    /// Records a member's answer to the second round with `token`.
    pub fn confirmed(&mut self, member: usize, token: Token, confirmation: Confirmation) {
        let Some(seat) = self.seats.get_mut(member) else { return };
        let MemberState::Granted { token: own, left, .. } = *seat else { return };
        *seat = match confirmation {
            Confirmation::Confirmed => MemberState::Confirmed { left, token },
            Confirmation::KeptOut if !kept(Rule::WipedMemberKeptOut) => {
                MemberState::Confirmed { left, token }
            }
            Confirmation::KeptOut | Confirmation::No => MemberState::Uncounted,
            Confirmation::Doubt => MemberState::Unanswered { token: own },
        };
    }

    /// Returns what to do next. It returns each [`Step::Confirm`] once.
    #[must_use]
    pub fn step(&mut self) -> Step {
        let needed = self.needed();
        if let Some(won) = self.winning_step() {
            return won;
        }
        let hopeful = self.count(|seat| {
            matches!(
                seat,
                MemberState::Asked | MemberState::Granted { .. } | MemberState::Confirmed { .. }
            )
        });
        if hopeful < needed {
            let failed = self.count(|seat| seat.is_missing());
            // If only these were missing, there would be a majority, so other holders are the cause.
            let by_others = failed + needed <= self.seats.len();
            return if by_others { Step::Outvoted } else { Step::Failed };
        }
        let token = match self.choose() {
            TokenChoice::Token(token) => token,
            TokenChoice::Open => return Step::Wait,
            TokenChoice::Uncertain => return Step::Failed,
        };
        let mut members = Vec::new();
        let joined = &self.joined;
        for (member, seat) in self.seats.iter_mut().enumerate() {
            // A greater token came after the smaller one was written, so it is written there too.
            if let MemberState::Confirmed { left, token: old } = *seat
                && old < token
            {
                *seat = MemberState::Granted { token: old, left, sent: None };
            }
            if let MemberState::Granted { token: own, left, sent } = *seat
                && sent != Some(token)
                && (own <= token || joined.get(member).copied().flatten() == Some(own))
            {
                *seat = MemberState::Granted { token: own, left, sent: Some(token) };
                members.push(member);
            }
        }
        if members.is_empty() { Step::Wait } else { Step::Confirm { token, members } }
    }

    /// Returns whether a majority says that other holders have the name.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.count(|seat| *seat == MemberState::Busy) >= majority(self.seats.len())
    }

    /// Returns whether so many members have nothing to hand over that the others are no majority.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.count(|seat| *seat == MemberState::Busy)
            > self.seats.len() - majority(self.seats.len())
    }

    /// Returns whether a member may keep something of this acquire.
    #[must_use]
    pub fn may_hold(&self, member: usize) -> bool {
        !matches!(self.seats.get(member), None | Some(MemberState::Busy | MemberState::Failed))
    }

    /// Returns whether a majority may keep something of this acquire.
    #[must_use]
    pub fn may_hold_majority(&self) -> bool {
        let holding = (0..self.seats.len()).filter(|member| self.may_hold(*member)).count();
        holding >= majority(self.seats.len())
    }

    /// Returns how many members granted it or may have, counted or not.
    #[must_use]
    pub fn granted(&self) -> usize {
        self.count(|seat| {
            matches!(
                seat,
                MemberState::Granted { .. }
                    | MemberState::Confirmed { .. }
                    | MemberState::Uncounted
                    | MemberState::Unanswered { .. }
                    | MemberState::Closed
            )
        })
    }

    fn needed(&self) -> usize {
        if self.needs.is_none_or(kept) { majority(self.seats.len()) } else { 1 }
    }

    fn count(&self, which: impl Fn(&MemberState) -> bool) -> usize {
        self.seats.iter().filter(|seat| which(seat)).count()
    }

    fn winning_step(&self) -> Option<Step> {
        let counted: Vec<_> = self
            .seats
            .iter()
            .filter_map(|seat| match seat {
                MemberState::Confirmed { left, token } if Some(*token) == self.token => Some(*left),
                _ => None,
            })
            .collect();
        let most = counted.iter().max().copied();
        let certain = certain_length(counted, self.needed())?;
        let left = if kept(Rule::LeaseOfQuorumIsTheLeast) { certain } else { most? };
        Some(Step::Won { token: self.token?, left })
    }

    fn tokens(&self) -> impl Iterator<Item = Token> {
        self.seats.iter().filter_map(MemberState::token)
    }

    fn greatest(&self) -> Option<Token> {
        self.tokens().max()
    }

    /// Whether the member certainly keeps the known hold, and whether it may.
    fn keeps(&self, member: usize, known: Token) -> (bool, bool) {
        let of_it = |token: Token| {
            token == known || self.joined.get(member).copied().flatten() == Some(token)
        };
        match self.seats.get(member) {
            Some(MemberState::Granted { token, .. } | MemberState::Confirmed { token, .. }) => {
                (of_it(*token), of_it(*token))
            }
            Some(MemberState::Unanswered { token }) => (false, of_it(*token)),
            Some(MemberState::Asked | MemberState::Failed | MemberState::Doubt) => (false, true),
            None | Some(MemberState::Uncounted | MemberState::Busy | MemberState::Closed) => {
                (false, false)
            }
        }
    }

    /// The token to write, once a majority granted: the known one if a majority keeps it, otherwise the greatest that
    /// was received. While a majority may keep the known token, this is no other, because its holder would be notified
    /// that it is lost.
    fn choose(&mut self) -> TokenChoice {
        let needed = self.needed();
        if self.tokens().count() < needed {
            return self.token.map_or(TokenChoice::Open, TokenChoice::Token);
        }
        if let Some(known) = self.known
            && self.token.is_none_or(|token| token == known)
        {
            let keeps = || (0..self.seats.len()).map(|member| self.keeps(member, known));
            if keeps().filter(|(surely, _)| *surely).count() >= needed {
                self.token = Some(known);
                return TokenChoice::Token(known);
            }
            if keeps().filter(|(_, perhaps)| *perhaps).count() >= needed {
                let asked = self.seats.contains(&MemberState::Asked);
                return if asked { TokenChoice::Open } else { TokenChoice::Uncertain };
            }
        }
        // A late greater token is no reason to start again while the smaller one can still be written to a majority.
        if self.count(|seat| seat.is_on_the_way(self.token)) < needed {
            self.token = self.token.max(self.greatest());
        }
        self.token.map_or(TokenChoice::Open, TokenChoice::Token)
    }
}

/// What the second round writes.
enum TokenChoice {
    Token(Token),
    /// More answers must arrive first.
    Open,
    /// No more answers will arrive, and a majority may or may not keep the known token.
    Uncertain,
}

impl MemberState {
    /// The token that it granted, if it may be counted.
    const fn token(&self) -> Option<Token> {
        match self {
            Self::Granted { token, .. } | Self::Confirmed { token, .. } => Some(*token),
            _ => None,
        }
    }

    /// Whether `token` was confirmed here, or may be.
    fn is_on_the_way(&self, token: Option<Token>) -> bool {
        match self {
            Self::Granted { sent, .. } => sent.is_some() && *sent == token,
            Self::Confirmed { token: confirmed, .. } => Some(*confirmed) == token,
            _ => false,
        }
    }

    /// Whether no other holder has it, but it still may not be counted.
    const fn is_missing(&self) -> bool {
        matches!(self, Self::Failed | Self::Doubt | Self::Uncounted | Self::Unanswered { .. })
    }
}
