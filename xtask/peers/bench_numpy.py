"""numpy: standard normals into a buffer, ziggurat on PCG64."""

import numpy

from timing import samples

COUNT = 4_000_000


def main():
    generator = numpy.random.Generator(numpy.random.PCG64(1))
    for name, kind in [("f32", numpy.float32), ("f64", numpy.float64)]:
        out = numpy.empty(COUNT, kind)
        work = lambda: generator.standard_normal(out=out, dtype=kind)
        samples(f"numpy_standard_normal_{name}", work, COUNT)


if __name__ == "__main__":
    main()
