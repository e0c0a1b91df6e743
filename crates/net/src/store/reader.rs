//! What sessions read of a store, while the engine writes to it.

use std::sync::Arc;

use redb::{ReadableDatabase, ReadableTable};

use super::{ACKED, Disk, HEARD, OUTBOX, Outgoing, StoreError, read_error, statement};
use crate::statement::Statement;

/// Reads what is committed.
#[derive(Clone)]
pub struct Reader {
    pub(super) node: u32,
    pub(super) disk: Arc<Disk>,
}

impl Reader {
    /// The first promised message for a peer in round `from` or later.
    pub fn next_for(&self, peer: u32, from: u64) -> Result<Option<Outgoing>, StoreError> {
        let read = || -> Result<Option<(u64, Vec<u8>)>, redb::Error> {
            let outbox = self.disk.database.begin_read()?.open_table(OUTBOX)?;
            for row in outbox.range(from..)? {
                let (round, bytes) = row?;
                if Outgoing::is_for(bytes.value(), peer) {
                    return Ok(Some((round.value(), bytes.value().to_vec())));
                }
            }
            Ok(None)
        };
        let Some((round, row)) = read().map_err(read_error)? else { return Ok(None) };
        if let Some(recent) = self.disk.recent().get(round) {
            return Ok(Some(recent));
        }
        let Some(payload) = self.disk.bytes((self.node, round)).map_err(read_error)? else {
            // Everybody has it, since just now.
            return self.next_for(peer, round + 1);
        };
        let outgoing = Outgoing::decode(&row, payload.into());
        let whole = outgoing.filter(|outgoing| outgoing.statement.is_about(&outgoing.payload));
        let damaged = || StoreError::Read(format!("message {round} is not the one promised"));
        whole.map(Some).ok_or_else(damaged)
    }

    /// The promised rounds that somebody has not acknowledged, and who.
    pub fn promised(&self) -> Result<Vec<(u64, Vec<u32>)>, StoreError> {
        let read = || -> Result<Vec<(u64, Vec<u32>)>, redb::Error> {
            let transaction = self.disk.database.begin_read()?;
            let acked = transaction.open_table(ACKED)?;
            let mut promised = Vec::new();
            for row in transaction.open_table(OUTBOX)?.iter()? {
                let (round, bytes) = row?;
                let round = round.value();
                let mut open = Vec::new();
                for peer in Outgoing::hearers_of(bytes.value()) {
                    if acked.get(peer)?.is_none_or(|next| next.value() <= round) {
                        open.push(peer);
                    }
                }
                promised.push((round, open));
            }
            Ok(promised)
        };
        read().map_err(read_error)
    }

    /// The newest word of a peer that is stored.
    pub fn newest(&self, from: u32) -> Result<Option<Statement>, StoreError> {
        let read = || -> Result<Option<Statement>, redb::Error> {
            let heard = self.disk.database.begin_read()?.open_table(HEARD)?;
            let last = heard.range((from, 0)..=(from, u64::MAX))?.next_back().transpose()?;
            Ok(last.and_then(|(_, bytes)| statement(bytes.value())))
        };
        read().map_err(read_error)
    }
}
