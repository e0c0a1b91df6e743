"""10,000 heterogeneous rounds (q, sigma) that any language can make: splitmix64 from state 0.

The k-th output of the generator, k = 1, 2, ..., becomes u = (output >> 11) * 2^-53.
The first 10,000 outputs give q = 0.001 + 0.049 u, the next 10,000 give sigma = 0.8 + 2.2 u.
"""

MASK = (1 << 64) - 1
COUNT = 10_000


def rounds():
    u = uniforms()
    qs = [0.001 + 0.049 * next(u) for _ in range(COUNT)]
    sigmas = [0.8 + 2.2 * next(u) for _ in range(COUNT)]
    return list(zip(qs, sigmas))


def uniforms():
    state = 0
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        z ^= z >> 31
        yield (z >> 11) * 2.0**-53


if __name__ == "__main__":
    pairs = rounds()
    print("first", pairs[0], "last", pairs[-1])
    print("sums", sum(q for q, _ in pairs), sum(s for _, s in pairs))
