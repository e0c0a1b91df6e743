use undertone_graph::{Family, Schedule};
use undertone_privacy::release::Released;

use super::*;
use crate::push_sum::PushSum;
use crate::topology::Topology;

type Node = Machine<PushSum<f64>, f64>;

const ROUNDS: u64 = 10;

/// Node 0 of three that all hear each other, when its first answer is still out.
fn asking(patience: Patience) -> Node {
    let mut machine = Machine::new(PushSum::new(1), NodeId(0), ROUNDS, patience);
    assert!(matches!(machine.poll(), Some(Output::Begin { round: 0 })));
    machine.handle(Input::Wiring { round: 0, wiring: wiring() });
    assert!(matches!(machine.poll(), Some(Output::Ask { round: 0, .. })));
    assert!(machine.poll().is_none());
    machine
}

/// The same when it has sent its first message and waits for the others.
fn hearing(patience: Patience) -> Node {
    let mut machine = asking(patience);
    answer(&mut machine);
    assert!(matches!(machine.poll(), Some(Output::Send { .. })));
    assert!(matches!(machine.poll(), Some(Output::Wait { round: 0 })));
    assert!(machine.poll().is_none());
    machine
}

fn wiring() -> Arc<Wiring> {
    let graph = Family::Complete { nodes: 3 }.build(0).unwrap();
    Arc::new(Topology::new(Schedule::Fixed(graph)).wiring_at(0).unwrap())
}

fn answer(machine: &mut Node) {
    let answer = Answer::Released(Released::public(vec![9.0]));
    machine.handle(Input::Answer { round: 0, answer });
}

fn hear(machine: &mut Node, from: u32, round: u64, values: [f64; 2]) {
    let message = Message::write(round, machine.protocol().shape(), |slot| {
        slot.send(&Released::public(values.to_vec()));
    });
    machine.handle(Input::Message { from: NodeId(from), message: Arc::new(message) });
}

fn held(machine: &Node) -> [f64; 2] {
    let mut sum = [0.0; 2];
    machine.protocol().add_conserved(&mut sum);
    sum
}

#[test]
fn a_deadline_while_the_question_is_out_changes_nothing() {
    let mut machine = asking(Patience::Deadline);
    machine.handle(Input::Deadline { round: 0 });
    assert!(machine.poll().is_none());
    answer(&mut machine);
    assert!(matches!(machine.poll(), Some(Output::Send { .. })));
    assert_eq!(held(&machine), [3.0, 1.0 / 3.0]);
}

#[test]
fn a_deadline_after_the_end_changes_nothing() {
    let mut machine = hearing(Patience::Deadline);
    machine.handle(Input::Rejoin { round: ROUNDS });
    assert!(machine.is_finished());
    machine.handle(Input::Deadline { round: ROUNDS });
    assert!(machine.is_finished());
    hear(&mut machine, 1, ROUNDS - 1, [1.0, 1.0]);
    assert_eq!(machine.drops().late, 1);
}

#[test]
fn whom_a_machine_waits_for_is_known() {
    let mut machine = hearing(Patience::Forever);
    assert_eq!(machine.missing(), [NodeId(1), NodeId(2)]);
    hear(&mut machine, 2, 0, [1.0, 1.0]);
    assert_eq!((machine.missing(), machine.kept()), (vec![NodeId(1)], 1));
    hear(&mut machine, 1, 0, [1.0, 1.0]);
    assert_eq!((machine.missing(), machine.round(), machine.kept()), (vec![], 1, 0));
}

#[test]
fn whoever_rejoins_closes_its_round_with_what_came_and_goes_to_the_present() {
    let mut machine = hearing(Patience::Deadline);
    hear(&mut machine, 2, 0, [1.0, 0.5]);
    hear(&mut machine, 2, 3, [7.0, 7.0]);
    hear(&mut machine, 1, 6, [7.0, 7.0]);
    machine.handle(Input::Rejoin { round: 6 });
    // Its own third and what it heard; the message of round 3 came for nothing, 6 is yet to come.
    assert_eq!(held(&machine), [4.0, 1.0 / 3.0 + 0.5]);
    assert_eq!((machine.round(), machine.kept(), machine.drops().late), (6, 1, 1));
    assert!(matches!(machine.poll(), Some(Output::RoundDone { round: 0 })));
    assert!(matches!(machine.poll(), Some(Output::Begin { round: 6 })));
    assert!(machine.poll().is_none());
    machine.handle(Input::Wiring { round: 6, wiring: wiring() });
    let Some(Output::Send { message }) = machine.poll() else { panic!("nothing was sent") };
    assert_eq!(message.round(), 6);
}

#[test]
fn an_answer_that_was_paid_for_is_taken_before_rounds_are_passed_over() {
    let mut machine = asking(Patience::Deadline);
    machine.handle(Input::Rejoin { round: 4 });
    assert_eq!(machine.round(), 0);
    answer(&mut machine);
    // Nothing was sent in the rounds between, so all of it is still there.
    assert_eq!((machine.round(), held(&machine)), (4, [9.0, 1.0]));
    assert!(matches!(machine.poll(), Some(Output::Begin { round: 4 })));
    assert!(machine.poll().is_none());
}

#[test]
fn who_has_not_begun_a_round_passes_over_it() {
    let mut machine = Node::new(PushSum::new(1), NodeId(0), ROUNDS, Patience::Deadline);
    machine.handle(Input::Rejoin { round: 2 });
    assert!(matches!(machine.poll(), Some(Output::Begin { round: 0 })));
    // The driver may still answer the old request; it has no effect.
    machine.handle(Input::Wiring { round: 0, wiring: wiring() });
    assert!(matches!(machine.poll(), Some(Output::Begin { round: 2 })));
    assert!(machine.poll().is_none());
}

#[test]
fn a_machine_never_goes_back_and_a_patient_one_never_passes_over() {
    let mut machine = hearing(Patience::Deadline);
    machine.handle(Input::Rejoin { round: 5 });
    while machine.poll().is_some() {}
    machine.handle(Input::Rejoin { round: 5 });
    machine.handle(Input::Rejoin { round: 1 });
    assert_eq!(machine.round(), 5);
    assert!(machine.poll().is_none());
    let mut patient = hearing(Patience::Forever);
    patient.handle(Input::Rejoin { round: 5 });
    assert_eq!((patient.round(), patient.missing().len()), (0, 2));
}
