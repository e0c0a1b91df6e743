//! Messages under way, and nodes that come and go.

use super::*;

impl<P: Synchronous<R>, R: Real, O> Events<P, R, O> {
    pub(super) fn transmit(&mut self, transfer: Transfer<R>) {
        let Transfer { from, to, bytes, attempt, .. } = transfer;
        let datagram = self.world.links.delivery == Delivery::Datagram;
        let open = self.world.faults.open_from(self.now, from, to);
        if open > self.now && !datagram {
            self.queue.push(open, Event::Retry(transfer));
            return;
        }
        let Flow { sent, retransmitted, .. } = &mut self.flow;
        count(if attempt == 0 { sent } else { retransmitted }, bytes);
        self.happenings.push(Happening::Sent(copy_of(&transfer)));
        if open > self.now {
            self.lose(&transfer);
            return;
        }
        let round = transfer.message.round();
        let name = [u64::from(from.0), u64::from(to.0), round, u64::from(attempt)];
        let passage = self.world.links.link(from, to).passage(self.world.seed, name, bytes);
        let uplink_free = &mut self.nodes[from.idx()].uplink_free;
        *uplink_free = self.now.max(*uplink_free) + passage.busy;
        let leaves = *uplink_free;
        if let Some(time) = passage.copy {
            count(&mut self.flow.duplicated, bytes);
            let transfer = transfer.clone();
            self.queue.push(leaves + time, Event::Arrival { transfer, is_extra: true });
        }
        match passage.travels {
            Some(time) => {
                self.queue.push(leaves + time, Event::Arrival { transfer, is_extra: false });
            }
            None => {
                self.lose(&transfer);
                self.try_later(transfer, leaves);
            }
        }
    }

    pub(super) fn arrive(&mut self, transfer: Transfer<R>, is_extra: bool) -> Result<(), SimError> {
        let to = transfer.to;
        let node = &mut self.nodes[to.idx()];
        if node.presence != Presence::Up {
            self.lose(&transfer);
            // Of a message and the copy that the link made, only one is acknowledged.
            if !is_extra {
                self.try_later(transfer, self.now);
            }
            return Ok(());
        }
        count(&mut self.flow.delivered, transfer.bytes);
        self.happenings.push(Happening::Delivered(copy_of(&transfer)));
        let Transfer { from, message, .. } = transfer;
        node.machine.handle(Input::Message { from, message });
        self.serve(to)
    }

    pub(super) fn retry(&mut self, transfer: Transfer<R>) {
        let receiver = self.nodes[transfer.to.idx()].presence;
        let sender = &mut self.nodes[transfer.from.idx()];
        match sender.presence {
            Presence::Up if receiver != Presence::Gone => self.transmit(transfer),
            Presence::Down => sender.parked.push(Event::Retry(transfer)),
            Presence::Up | Presence::Gone => count(&mut self.flow.abandoned, transfer.bytes),
        }
    }

    pub(super) fn fault(&mut self, node: NodeId, kind: FaultKind) -> Result<(), SimError> {
        let state = &mut self.nodes[node.idx()];
        match (kind, state.presence) {
            (FaultKind::Crash, Presence::Up) => {
                state.presence = Presence::Down;
                state.life += 1;
                self.happenings.push(Happening::Crashed { node });
            }
            (FaultKind::Leave, Presence::Up | Presence::Down) => {
                let was_open = state.is_open();
                state.presence = Presence::Gone;
                self.happenings.push(Happening::Left { node });
                if was_open {
                    self.close();
                }
            }
            (FaultKind::Rejoin, Presence::Down) => self.rejoin(node)?,
            // Nothing to crash, or nobody to come back.
            _ => {}
        }
        Ok(())
    }

    /// The node first learns where the others are, so that an answer that it was waiting for is
    /// not sent into a round that is over.
    fn rejoin(&mut self, node: NodeId) -> Result<(), SimError> {
        let present = self.present_round(node);
        let state = &mut self.nodes[node.idx()];
        state.presence = Presence::Up;
        state.machine.handle(Input::Rejoin { round: present });
        let parked = std::mem::take(&mut state.parked);
        self.happenings.push(Happening::Rejoined { node, present });
        self.serve(node)?;
        for event in parked {
            self.queue.push(self.now, event);
        }
        // Its timer was forgotten in the crash.
        let state = &self.nodes[node.idx()];
        let round = state.machine.round();
        if state.timer != Some((state.life, round)) && !state.machine.missing().is_empty() {
            self.start_timer(node, round);
        }
        Ok(())
    }

    /// The round that half of the others have reached: what a node would learn by asking around.
    fn present_round(&self, node: NodeId) -> u64 {
        let others = self
            .nodes
            .iter()
            .filter(|other| other.presence == Presence::Up && other.machine.node() != node);
        let mut rounds: Vec<u64> = others.map(|other| other.machine.round()).collect();
        rounds.sort_unstable();
        rounds.get(rounds.len() / 2).copied().unwrap_or(0)
    }

    fn lose(&mut self, transfer: &Transfer<R>) {
        count(&mut self.flow.lost, transfer.bytes);
        self.happenings.push(Happening::Lost(copy_of(transfer)));
    }

    /// A reliable link tries again when no acknowledgement comes.
    fn try_later(&mut self, mut transfer: Transfer<R>, lost_at: Time) {
        let links = &self.world.links;
        if links.delivery == Delivery::Datagram {
            return;
        }
        let wait = links.retry.wait(transfer.attempt);
        transfer.attempt += 1;
        if transfer.attempt >= links.retry.attempts {
            count(&mut self.flow.abandoned, transfer.bytes);
        } else {
            self.queue.push(lost_at + wait, Event::Retry(transfer));
        }
    }
}

impl<P: Synchronous<R>, R: Real, O> Node<P, R, O> {
    pub(super) fn is_open(&self) -> bool {
        self.presence != Presence::Gone && !self.machine.is_finished()
    }
}

fn copy_of<R: Real>(transfer: &Transfer<R>) -> Copy {
    let Transfer { from, to, bytes, .. } = *transfer;
    Copy { from, to, round: transfer.message.round(), bytes: bytes as u64 }
}
