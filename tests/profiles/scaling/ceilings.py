"""Sample ceilings in the kit's format, for tests."""

MEASURED = {
    "peak_flops": [{"n": 2, "flop_per_s": 240_000_000_000}, {"n": 1, "flop_per_s": 120_000_000_000}],
    "bandwidth": [{"n": 1, "bytes_per_s": 15_000_000_000}, {"n": 2, "bytes_per_s": 30_000_000_000}],
    "handover": [{"from": 0, "to": 1, "one_way_ps": 61_651}],
    "lock_handover": [{"n": 1, "ps": 6_115}, {"n": 2, "ps": 64_383}],
}
