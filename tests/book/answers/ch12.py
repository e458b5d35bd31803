"""Chapter 12: answers people give, and a piece of what each is told."""

import torch


def row_of(previous, current, rows):
    return ((36313 * current) ^ (27191 * previous)) % (rows - 1)


def in_numpy(previous, current, rows):
    previous, current = previous.numpy(), current.numpy()
    return (36313 * current ^ 27191 * previous) % (rows - 1)


def in_place(previous, current, rows):
    current *= 36313
    return (current ^ (27191 * previous)) % (rows - 1)


def primes_from(n, count):
    found = []
    while len(found) < count:
        if n > 1 and all(n % k for k in range(2, int(n**0.5) + 1)):
            found.append(n)
        n += 1
    return found


def total(base, heads, divisor):
    whole = sum(primes_from(base, heads))
    return (whole + divisor - 1) // divisor * divisor


WRONG = {
    "12.1": [
        (lambda p, c, n: (36313 * c) ^ (27191 * p) % (n - 1), "^ or %?"),
        (lambda p, c, n: (36313 * c) ^ (27191 * p), "Without any %"),
        (lambda p, c, n: ((36313 * c) ^ (27191 * p)) % n, "kept for the first"),
        (
            lambda p, c, n: (36313 * c) % (n - 1) ^ (27191 * p) % (n - 1),
            "past its end again",
        ),
        (lambda p, c, n: (36313 * c + 27191 * p) % (n - 1), "other rows"),
        (lambda p, c, n: (36313 * c + 27191 * p) % (2 * n), "are outside"),
        (lambda p, c, n: row_of(p, c, n) / 1, "whole number"),
        (lambda p, c, n: None, "Return a tensor"),
        (in_place, "changed the ids"),
    ],
    "12.2": [
        (lambda b, h, d: sum(primes_from(b, h)), "round it up"),
        (lambda b, h, d: sum(primes_from(b, h)) // d * d, "rounded down"),
        (lambda b, h, d: (sum(primes_from(b, h)) // d + 1) * d, "already stays"),
        (lambda b, h, d: sum(-(-p // d) * d for p in primes_from(b, h)), "each prime"),
        (lambda b, h, d: -(-h * primes_from(b, 1)[0] // d) * d, "are distinct"),
        (lambda b, h, d: -(-sum(primes_from(b + 1, h)) // d) * d, "itself is a prime"),
        (lambda b, h, d: 128, "the total is"),
    ],
    "12.3": [
        ("ace", "Give a set of letters"),
        ({"c", "e"}, "(a) The lookup"),
        ({"a", "b", "c", "e"}, "(b) The product"),
        ({"a", "e"}, "(c) That is"),
        ({"a", "c", "d", "e"}, "(d) None"),
        ({"a", "c"}, "(e) nanochat"),
        ({"a", "c", "e", "f"}, "(f) None"),
    ],
}

RIGHT = {
    "12.1": [
        row_of,
        in_numpy,
        lambda p, c, n: torch.remainder(c * 36313 ^ p * 27191, n - 1),
    ],
    "12.2": [total, lambda b, h, d: float(total(b, h, d))],
    "12.3": [{"a", "c", "e"}, frozenset("ace"), {"(a)", "C", "e"}],
}
