"""torch: private steps with Opacus, by hand with ghost norms, and record by record."""

import os
import warnings

import torch
from opacus import GradSampleModule
from opacus.grad_sample import GradSampleModuleFastGradientClipping
from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
from torch import nn

from clipping import BATCHES, CLIP, MLPS, SIGMA, STEP, steps
from timing import memory

warnings.filterwarnings("ignore")


def main():
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.manual_seed(0)
    logistic = nn.Sequential(nn.Linear(105, 1, bias=False), nn.Flatten(0))
    x, y = torch.randn(BATCHES, 256, 105), torch.randint(0, 2, (BATCHES, 256)).float()
    hooks("logistic_105_b256", logistic, nn.BCEWithLogitsLoss(), x, y, 100)
    for name, inputs, hidden, batch in MLPS:
        net = lambda: nn.Sequential(nn.Linear(inputs, hidden), nn.Sigmoid(), nn.Linear(hidden, 10))
        x, y = records(batch, (inputs,))
        hooks(name, net(), nn.CrossEntropyLoss(), x, y, 16)
        ghost(name, net(), x, y, 16)
        by_hand(name, x, y, inputs, hidden, batch)
    x, y = records(64, (1, 28, 28))
    hooks("mnist_cnn_b64", cnn(), nn.CrossEntropyLoss(), x, y, 16)
    ghost("mnist_cnn_b64", cnn(), x, y, 16)
    x, y = records(8, (3, 32, 32))
    hooks("resnet18_b8", ResNet(), nn.CrossEntropyLoss(), x, y, 1, 3)
    one_by_one("resnet18_b8", ResNet(), x, y, 1, 3)


def records(batch, shape):
    return torch.randn((BATCHES, batch) + shape), torch.randint(0, 10, (BATCHES, batch))


def private(module, batch, kind):
    plain = torch.optim.SGD(module.parameters(), lr=STEP)
    return kind(plain, noise_multiplier=SIGMA, max_grad_norm=CLIP, expected_batch_size=batch)


def hook_step(net, loss, x, y):
    module = GradSampleModule(net)
    optimizer = private(module, x.shape[1], DPOptimizer)

    def step(i):
        loss(module(x[i]), y[i]).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def hooks(name, net, loss, x, y, count, runs=5):
    steps(f"opacus_{name}", hook_step(net, loss, x, y), x.shape[1], count, runs)


def ghost(name, net, x, y, count, runs=5):
    module = GradSampleModuleFastGradientClipping(net, max_grad_norm=CLIP, use_ghost_clipping=True)
    optimizer = private(module, x.shape[1], DPOptimizerFastGradientClipping)
    loss = DPLossFastGradientClipping(module, optimizer, nn.CrossEntropyLoss())

    def step(i):
        loss(module(x[i]), y[i]).backward()
        optimizer.step()
        optimizer.zero_grad()

    steps(f"opacus_ghost_{name}", step, x.shape[1], count, runs)


def by_hand(name, x, y, inputs, hidden, batch):
    w1, w2 = torch.randn(inputs, hidden) / inputs**0.5, torch.randn(hidden, 10) / hidden**0.5
    b1, b2 = torch.zeros(hidden), torch.zeros(10)
    one_hot = torch.eye(10)[y]

    @torch.no_grad()
    def step(i):
        a = x[i]
        h = torch.sigmoid(torch.addmm(b1, a, w1))
        d2 = torch.softmax(torch.addmm(b2, h, w2), 1) - one_hot[i]
        d1 = (d2 @ w2.T) * h * (1 - h)
        square = lambda t: t.square().sum(1)
        norms = (square(a) + 1) * square(d1) + (square(h) + 1) * square(d2)
        factor = (CLIP / (norms.sqrt() + 1e-12)).clamp(max=1)[:, None]
        d1, d2 = d1 * factor, d2 * factor
        for weight, left, right in ((w1, a, d1), (w2, h, d2)):
            noisy = torch.empty_like(weight).normal_(0, SIGMA * CLIP)
            weight.add_(torch.addmm(noisy, left.T, right, out=noisy), alpha=-STEP / batch)
        for bias, delta in ((b1, d1), (b2, d2)):
            bias.add_(delta.sum(0) + SIGMA * CLIP * torch.randn_like(bias), alpha=-STEP / batch)

    steps(f"torch_{name}", step, batch, 100)


def one_by_one(name, net, x, y, count, runs):
    """Plain gradients of one record after the other, without Opacus."""
    parts, loss = list(net.parameters()), nn.CrossEntropyLoss()
    sums = [torch.zeros_like(part) for part in parts]

    def step(i):
        for total in sums:
            total.normal_(0, SIGMA * CLIP)
        for k in range(x.shape[1]):
            gradient = torch.autograd.grad(loss(net(x[i, k : k + 1]), y[i, k : k + 1]), parts)
            norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradient)))
            torch._foreach_add_(sums, gradient, alpha=min(1.0, CLIP / (norm.item() + 1e-12)))
        with torch.no_grad():
            torch._foreach_add_(parts, sums, alpha=-STEP / x.shape[1])

    steps(f"torch_one_by_one_{name}", step, x.shape[1], count, runs)


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, padding=3), nn.ReLU(), nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.MaxPool2d(2, 1), nn.Flatten(),
        nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 10),
    )


class Block(nn.Module):
    def __init__(self, inputs, channels, stride):
        super().__init__()
        unit = lambda a, size, stride, around: nn.Sequential(
            nn.Conv2d(a, channels, size, stride, around, bias=False), nn.GroupNorm(32, channels)
        )
        self.main = nn.Sequential(unit(inputs, 3, stride, 1), nn.ReLU(), unit(channels, 3, 1, 1))
        self.short = nn.Identity() if inputs == channels else unit(inputs, 1, stride, 0)

    def forward(self, x):
        return torch.relu(self.short(x) + self.main(x))


class ResNet(nn.Sequential):
    def __init__(self):
        layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.GroupNorm(32, 64), nn.ReLU()]
        inputs = 64
        for k, channels in enumerate((64, 128, 256, 512)):
            for b in range(2):
                layers.append(Block(inputs, channels, 2 if b == 0 and k > 0 else 1))
                inputs = channels
        layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)]
        super().__init__(*layers)


def peak():
    """The memory of a step with the largest model above what it needs to exist and to answer."""
    torch.set_num_threads(1)
    net = ResNet()
    x, y = records(8, (3, 32, 32))
    with torch.no_grad():
        net(x[0, :1])
    step = hook_step(net, nn.CrossEntropyLoss(), x, y)
    memory("opacus_resnet18_b8_memory", lambda: [step(i) for i in range(3)])


if __name__ == "__main__":
    main()
