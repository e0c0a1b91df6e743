"""gossipy: its nodes pass models on; each model that arrives is merged and takes one private step.

The graph is that of all hops of powers of two; in a round every node sends to one of its peers.
"""

import logging
import os

import numpy as np
import torch
from gossipy import simul
from gossipy.core import AntiEntropyProtocol, CreateModelMode, StaticP2PNetwork
from gossipy.data import DataDispatcher
from gossipy.data.handler import ClassificationDataHandler
from gossipy.model import TorchModel
from gossipy.model.handler import TorchModelHandler
from gossipy.node import GossipNode
from torch import nn

from descent import CLASSES, CLIP, FEATURES, HIDDEN, INPUTS, LOGISTIC, NETWORKS, SIGMA, STEP, shifts
from timing import rate

torch.set_num_threads(len(os.sched_getaffinity(0)))
logging.disable(logging.CRITICAL)


class Quiet:
    """In place of a progress bar."""

    def __init__(self, items, description=""):
        self.items = items

    def __iter__(self):
        return iter(self.items)

    def close(self):
        pass


simul.track = Quiet


class Network(TorchModel):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(INPUTS, HIDDEN), nn.Sigmoid(), nn.Linear(HIDDEN, CLASSES)
        )

    def init_weights(self, *_, **__):
        pass

    def forward(self, x):
        return self.layers(x)


class Logistic(TorchModel):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(FEATURES, 2, bias=False)

    def init_weights(self, *_, **__):
        pass

    def forward(self, x):
        return self.layer(x)


class Private(TorchModelHandler):
    """A batch of one is clipped by its whole gradient."""

    def _local_step(self, x, y):
        self.model.train()
        self.optimizer.zero_grad()
        self.criterion(self.model(x), y).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        for part in self.model.parameters():
            part.grad.add_(torch.randn_like(part), alpha=SIGMA * CLIP)
        self.optimizer.step()


class Untested(DataDispatcher):
    def has_test(self):
        return False


def hops(nodes):
    peers = np.zeros((nodes, nodes), int)
    every = np.arange(nodes)
    for shift in shifts(nodes):
        peers[every, (every + shift) % nodes] = 1
    np.fill_diagonal(peers, 0)
    return peers


def measure(name, nodes, records, model, width, classes):
    x = torch.rand(nodes * records, width)
    y = torch.randint(0, classes, (nodes * records,))
    handler = ClassificationDataHandler(x, y, None, None)
    data = Untested(handler, n=nodes, eval_on_user=False, auto_assign=True)
    learner = Private(
        net=model,
        optimizer=torch.optim.SGD,
        optimizer_params=dict(lr=STEP),
        criterion=nn.functional.cross_entropy,
        create_model_mode=CreateModelMode.MERGE_UPDATE,
        batch_size=1,
        local_epochs=0,
    )
    network = StaticP2PNetwork(nodes, hops(nodes))
    members = GossipNode.generate(
        data_dispatcher=data, p2p_net=network, round_len=1, sync=True, model_proto=learner
    )
    for member in members.values():
        member.delta = 0
        member.data = (member.data[0], None)
    simulator = simul.GossipSimulator(
        nodes=members, data_dispatcher=data, delta=1, protocol=AntiEntropyProtocol.PUSH
    )
    simulator.init_nodes(seed=1)
    count = 5 if nodes < 1000 else 1
    rate(f"gossipy_{name}", "rounds/s", lambda: simulator.start(n_rounds=count), count, runs=3)


def main():
    for name, nodes, records, _ in NETWORKS:
        measure(name, nodes, records, Network(), INPUTS, CLASSES)
    name, nodes, records, _ = LOGISTIC
    measure(name, nodes, records, Logistic(), FEATURES, 2)


if __name__ == "__main__":
    main()
