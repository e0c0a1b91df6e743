"""Opacus: how much memory a private step of ResNet-18 takes; in a process of its own."""

from bench_opacus import peak

if __name__ == "__main__":
    peak()
