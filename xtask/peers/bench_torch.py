"""torch: `normal_` into a tensor, on one thread."""

import torch

from timing import samples

COUNT = 4_000_000


def main():
    torch.set_num_threads(1)
    for name, kind in [("f32", torch.float32), ("f64", torch.float64)]:
        out = torch.empty(COUNT, dtype=kind)
        samples(f"torch_normal_{name}", out.normal_, COUNT)


if __name__ == "__main__":
    main()
