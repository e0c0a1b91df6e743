"""torch: rounds of PrivSGP with all nodes in one tensor, by hand and by torch.compile."""

import os
import sys
import warnings

import torch

from descent import (
    CLASSES, CLIP, FEATURES, HIDDEN, INPUTS, LOGISTIC, NETWORKS, SIGMA, STEP, rounds
)

torch.set_num_threads(len(os.sched_getaffinity(0)))
warnings.filterwarnings("ignore")


def main():
    for peer, prepare in ways():
        for name, nodes, records, count in NETWORKS:
            network(f"{peer}_{name}", prepare, nodes, records, count)
        logistic(peer, prepare)


def ways():
    yield "torch", lambda work: work
    if "--quick" in sys.argv:
        return
    import torch._dynamo
    import torch._inductor.config

    # The compiler's own generator of noise is several times slower than that of torch.
    torch._inductor.config.fallback_random = True
    torch._dynamo.config.cache_size_limit = 64

    def compiled(work):
        torch._dynamo.reset()
        return torch.compile(work, dynamic=False)

    yield "torch_compiled", compiled


def half(x, shift: int):
    return 0.5 * (x + x.roll(shift, 0))


def clip(d, squared):
    return d * (CLIP / (squared.sqrt() + 1e-12)).clamp(max=1)[:, None]


def network_round(w1, b1, w2, b2, weight, x, y, shift: int):
    share = (1 / weight)[:, None]
    h = torch.sigmoid((torch.bmm(x[:, None], w1)[:, 0] + b1) * share)
    d2 = torch.softmax((torch.bmm(h[:, None], w2)[:, 0] + b2) * share, 1) - y
    d1 = torch.bmm(w2, d2[:, :, None])[:, :, 0] * share * h * (1 - h)
    squared = (x.square().sum(1) + 1) * d1.square().sum(1)
    squared = squared + (h.square().sum(1) + 1) * d2.square().sum(1)
    d1, d2 = clip(d1, squared), clip(d2, squared)
    gradients = [x[:, :, None] * d1[:, None], d1, h[:, :, None] * d2[:, None], d2]
    moved = []
    for part, gradient in zip((w1, b1, w2, b2), gradients):
        noisy = gradient + SIGMA * CLIP * torch.randn_like(part)
        moved.append(half(part - STEP * noisy, shift))
    return moved + [half(weight, shift)]


def logistic_round(w, weight, x, y, shift: int):
    c = -y * torch.sigmoid(-y * (w * x).sum(1) / weight)
    gradient = clip(x * c[:, None], c.square() * x.square().sum(1))
    noisy = gradient + SIGMA * CLIP * torch.randn_like(w)
    return [half(w - STEP * noisy, shift), half(weight, shift)]


def drive(name, prepare, step, state, x, y, count):
    nodes, records = y.shape[:2]
    every, step = torch.arange(nodes), prepare(step)
    kept = [state]

    @torch.no_grad()
    def one(shift):
        chosen = torch.randint(0, records, (nodes,))
        kept[0] = step(*kept[0], x[every, chosen], y[every, chosen], shift)

    rounds(name, one, nodes, count)


def network(name, prepare, nodes, records, count):
    x = torch.rand(nodes, records, INPUTS)
    y = torch.eye(CLASSES)[torch.randint(0, CLASSES, (nodes, records))]
    state = [
        torch.randn(nodes, INPUTS, HIDDEN) * 0.03,
        torch.zeros(nodes, HIDDEN),
        torch.randn(nodes, HIDDEN, CLASSES) * 0.1,
        torch.zeros(nodes, CLASSES),
        torch.ones(nodes),
    ]
    drive(name, prepare, network_round, state, x, y, count)


def logistic(peer, prepare):
    name, nodes, records, count = LOGISTIC
    x = torch.rand(nodes, records, FEATURES)
    y = 2.0 * torch.randint(0, 2, (nodes, records)) - 1
    state = [torch.zeros(nodes, FEATURES), torch.ones(nodes)]
    drive(f"{peer}_{name}", prepare, logistic_round, state, x, y, count)


if __name__ == "__main__":
    main()
