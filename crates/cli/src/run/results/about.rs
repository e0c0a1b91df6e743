//! What algorithms are, in a few words.

use undertone_node::plan::AlgorithmWord;

/// As it goes into a sentence.
pub fn about(name: AlgorithmWord) -> &'static str {
    use AlgorithmWord as A;
    match name {
        A::Adp2Sgd => "noisy gradient descent by meetings of two, each node at its own pace",
        A::Admm => "consensus by penalties, without noise",
        A::Dp2Sgd => "noisy gradient descent with symmetric weights",
        A::Dsgd => "gradient descent with symmetric weights, without noise",
        A::Dvp => "ADMM with noise in the dual variable",
        A::Gossip => "averaging with symmetric weights",
        A::IppAdmm => "ADMM that sends only what is worth its price",
        A::MAdmm => "ADMM with noise in the penalty",
        A::MrAdmm => "ADMM that recycles every second step under a growing penalty, without noise",
        A::PpAdmm => "ADMM with noise on what is sent, or in the objective",
        A::PrAdmmIteration => "ADMM with noise that falls from round to round",
        A::PrAdmmPeriodic => "ADMM with noise that falls after every period",
        A::PrivSgp => "noisy gradient push over directed graphs",
        A::PrivSgpVr => "noisy gradient push with remembered gradients",
        A::PrivateMrAdmm => "ADMM that recycles every second step, with noise in the objective",
        A::PrivateRAdmm => "ADMM that recycles every second step, with noise in the objective",
        A::PushSum => "averaging over directed graphs",
        A::QDpsgd1 => "noisy gradient descent with quantised messages",
        A::QDpsgd2 => "gradient descent with quantised messages and noise on the lattice",
        A::RAdmm => "ADMM that recycles every second step, without noise",
        A::RunningSum => "averaging over links that lose messages",
        A::Sdm => "noisy gradient descent that sends a random part of every change",
        A::SparsePushSum => "averaging that sends some coordinates only",
        A::Surplus => "averaging that sends some coordinates only, with a surplus",
        A::SurplusGradient => "noisy gradient descent on top of sparse averaging",
        A::TwoStage => "noisy gradient descent, then averaging",
    }
}
