//! Messages of peers: checked, taken in, kept for the next transaction.

use undertone_protocol::wire::DecodeError;

use super::*;
use crate::frame::Refusal;
use crate::statement::Payload;

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It is for a round too far ahead; give it again later.
    Early,
    /// It was taken in, or known already, or late by rule.
    Taken,
    /// The peer broke a rule. Nothing has changed.
    Refused(Refusal),
}

impl<R: Real> Engine<R> {
    /// A peer has sent a message.
    pub fn hear(
        &mut self,
        from: u32,
        statement: &Statement,
        payload: &Payload,
    ) -> Result<Heard, EngineError> {
        let round = statement.round;
        if let Some(refusal) = self.complaint(from, statement, payload)? {
            return Ok(Heard::Refused(refusal));
        }
        match self.known(from, round)? {
            Some(known) if known.digest != statement.digest => {
                return Ok(Heard::Refused(Refusal::Equivocation));
            }
            Some(_) => {
                self.setup.counters.doubled.add(1);
                if self.store.heard(from, round)?.is_some() {
                    self.effects.push(Effect::Ack { peer: from, round });
                }
                return Ok(Heard::Taken);
            }
            None => {}
        }
        match self.machine.timing(round, AHEAD) {
            Timing::Late => {
                // By rule. The word is kept all the same: it may be the newest of that node.
                self.setup.counters.late.add(1);
                self.remember(from, statement);
                if self.machine.is_finished() {
                    self.settle()?;
                }
                return Ok(Heard::Taken);
            }
            Timing::Early => return Ok(Heard::Early),
            // What it says in reply is a release, too: not before enough witnesses have spoken.
            Timing::Due if self.machine.reacts() && !self.is_cleared() => return Ok(Heard::Early),
            Timing::Due => {}
        }
        let message =
            match wire::decode_over(self.spare.take(), payload.bytes(), self.machine.shape()) {
                Ok(message) if message.round() == round => Arc::new(message),
                Ok(_) => return Ok(Heard::Refused(Refusal::Malformed)),
                Err(DecodeError::NotFinite { .. }) => {
                    return Ok(Heard::Refused(Refusal::NotFinite));
                }
                Err(_) => return Ok(Heard::Refused(Refusal::Malformed)),
            };
        let before = self.machine.malformed();
        self.machine.handle(Input::Message { from: NodeId(from), message });
        if self.machine.malformed() > before {
            return Ok(Heard::Refused(Refusal::Malformed));
        }
        self.setup.counters.heard.add(1);
        self.batch.events.push(Event::Heard { from, round, digest: statement.digest });
        self.batch.taken.push((from, round, payload.bytes().clone()));
        self.kept.add(from, round, payload.bytes().len());
        self.remember(from, statement);
        self.drain()?;
        Ok(Heard::Taken)
    }

    /// What can be said against a message without looking into it.
    fn complaint(
        &mut self,
        from: u32,
        statement: &Statement,
        payload: &Payload,
    ) -> Result<Option<Refusal>, EngineError> {
        let Setup { network, .. } = &self.setup;
        let key = network.member(from).map(|member| member.key);
        let genuine = statement.node == from
            && statement.digest == *payload.digest()
            && key.is_some_and(|key| statement.is_of(network, &key));
        if !genuine {
            return Ok(Some(Refusal::Forged));
        }
        if statement.round >= self.machine.numbers() {
            return Ok(Some(Refusal::OutOfRound));
        }
        if self.machine.timing(statement.round, AHEAD) == Timing::Early {
            return Ok(None); // looked at when its time has come
        }
        let wiring = self.wirings.at(statement.round)?;
        let heard = wiring.around(self.machine.node()).heard;
        let is_heard = heard.binary_search(&NodeId(from)).is_ok();
        Ok((!is_heard).then_some(Refusal::OutOfRound))
    }

    /// Whether a word of this node that a peer shows is one that its store knows.
    pub(super) fn check_word(
        &self,
        witness: u32,
        seen: Option<&Statement>,
    ) -> Result<(), EngineError> {
        let Some(word) = seen else { return Ok(()) };
        let (seen, key) = (word.round, self.setup.identity.public());
        if word.node != self.setup.node || !word.is_of(&self.setup.network, &key) {
            // Not ours: the peer made it up, and that tells nothing.
            return Ok(());
        }
        let own = match self.sent.get(&seen) {
            Some(digest) if *digest == word.digest => return Ok(()),
            Some(_) => "it has another message of that round".to_string(),
            None => match self.sent.last_key_value() {
                Some((last, _)) => format!("it ends with round {last}"),
                None => "it is empty".to_string(),
            },
        };
        Err(EngineError::RolledBack { witness, seen, own })
    }

    fn known(&self, from: u32, round: u64) -> Result<Option<Statement>, EngineError> {
        let fresh = self.batch.heard.iter().find(|word| (word.node, word.round) == (from, round));
        match fresh {
            Some(word) => Ok(Some(*word)),
            None => Ok(self.store.heard(from, round)?),
        }
    }

    fn remember(&mut self, from: u32, statement: &Statement) {
        self.batch.heard.push(*statement);
        let owed = self.owed.entry(from).or_insert(statement.round);
        *owed = statement.round.max(*owed);
    }
}
