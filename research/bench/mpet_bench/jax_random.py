"""The part of JAX's random numbers that draws Pitot's splits, so that the splits can be reproduced without JAX.

JAX 0.5 (the version in Pitot's lock file) draws from Threefry-2x32 (Salmon et al. 2011) with one block for each number:
`jax_threefry_partitionable`. Tests compare with permutations that JAX 0.5.0 drew.
"""

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)


def threefry(key: Words, high: Words, low: Words) -> tuple[Words, Words]:
    """Return the two words of each block with the counter (high, low)."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ PARITY)
    x, y = high + schedule[0], low + schedule[1]
    for step in range(5):
        for rotation in ROTATIONS[step % 2]:
            x = x + y
            y = ((y << np.uint32(rotation)) | (y >> np.uint32(32 - rotation))) ^ x
        x = x + schedule[(step + 1) % 3]
        y = y + schedule[(step + 2) % 3] + np.uint32(step + 1)
    return x, y


def make_key(seed: int) -> Words:
    """Return `jax.random.PRNGKey` of a seed below 2^32."""
    return np.array([0, seed], dtype=np.uint32)


def split(key: Words, count: int) -> Words:
    """Return `jax.random.split` of the key: `count` keys (count, 2)."""
    return np.stack(_blocks(key, count), axis=1)


def fold_in(key: Words, data: int) -> Words:
    """Return `jax.random.fold_in` of a number below 2^32."""
    words = make_key(data)
    return np.concatenate(threefry(key, words[:1], words[1:]))


def permutation(key: Words, count: int) -> NDArray[np.int64]:
    """Return `jax.random.permutation` of 0 .. count - 1, by repeated sorting with random keys.

    The sort is repeated so often that equal keys do not matter.
    """
    order = np.arange(count)
    for _ in range(int(np.ceil(3 * np.log(max(1, count)) / np.log(np.iinfo(np.uint32).max)))):
        key, drawn = split(key, 2)
        x, y = _blocks(drawn, count)
        order = order[np.argsort(x ^ y, kind="stable")]
    return order


def _blocks(key: Words, count: int) -> tuple[Words, Words]:
    return threefry(key, np.zeros(count, dtype=np.uint32), np.arange(count, dtype=np.uint32))
