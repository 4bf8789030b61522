"""A slow reference implementation of mpet2020 with dictionaries and loops, written from the formulas alone.

It uses nothing of the package. Profiles are {(platform, workload): (t1, [84 values or None])} of the query's group, and
platforms and workloads are given by slug.
"""

from __future__ import annotations

import math


def valid(value):
    return value is not None and not math.isnan(value)


def normalised(vector, ranges):
    result = []
    for value, (low, high) in zip(vector, ranges, strict=True):
        if not valid(value):
            result.append(None)
        else:
            result.append((value - low) / (high - low) if high > low else 0.0)
    return result


def distance(a, b):
    squares = [(x - y) ** 2 for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    return math.sqrt(sum(squares) / len(squares)) if squares else None


def mean(values):
    values = [value for value in values if value is not None]
    return sum(values) / len(values) if values else None


def ranges_of(vectors, count):
    ranges = []
    for element in range(count):
        column = [vector[element] for vector in vectors if valid(vector[element])]
        ranges.append((min(column), max(column)) if column else (0.0, 0.0))
    return ranges


def weights(distances, k):
    w = [1 - distance for distance in distances]
    if k == 0 or max(w) - min(w) <= 1e-12:
        return [1.0] * len(w)
    return [((x - min(w)) / (max(w) - min(w))) ** k for x in w]


def interpolated(values, r):
    """Return the weighted mean of v_TB v_PA / v_PB over the candidates, where `values` has their (v_PA, v_PB, v_TB).

    Without a usable candidate, the result is v_PA of the first candidate, or the mean of v_TB if v_PA is not valid.
    """
    terms = [
        (v_tb * v_pa / v_pb * weight, weight)
        for (v_pa, v_pb, v_tb), weight in zip(values, r, strict=True)
        if valid(v_pa) and valid(v_pb) and valid(v_tb) and abs(v_pb) > 1e-12
    ]
    total = sum(weight for _, weight in terms)
    if terms and total > 0:
        return sum(term for term, _ in terms) / total
    if not values:
        return None
    on_target = [v_tb for _, _, v_tb in values if valid(v_tb)]
    if not valid(values[0][0]) and on_target:
        return sum(on_target) / len(on_target)
    return values[0][0] if valid(values[0][0]) else None


def predict(profiles, all_vectors, workload, target, cannot_have):
    """Return (t1, 84 elements, candidates of t(1), candidates of the vector), or None if there is no candidate.

    `all_vectors` is {(platform, workload, any key): vector} of the whole database, for the ranges.
    """
    profiles = {key: value for key, value in profiles.items() if key != (target, workload)}
    vectors = [vector for key, vector in all_vectors.items() if key[:2] != (target, workload)]
    ranges = ranges_of(vectors, 84)
    norm = {key: normalised(vector, ranges) for key, (_, vector) in profiles.items()}
    has_a = sorted(p for p, w in profiles if w == workload and p != target)
    on_t = sorted(w for p, w in profiles if p == target and w != workload)

    d_a = {(p, b): distance(norm[p, workload], norm[p, b]) for p in has_a for b in on_t if (p, b) in profiles}
    d_p = {(p, b): distance(norm[p, b], norm[target, b]) for p, b in d_a}
    mean_d_a = {b: mean([d_a[p, b] for p in has_a if (p, b) in d_a]) for b in on_t}

    near = sorted(
        {b for p, b in d_a if mean_d_a[b] is not None and d_p[p, b] is not None}, key=lambda b: (mean_d_a[b], b)
    )[:5]
    t1 = []
    for b in near:
        t1 += sorted(
            [(p, b) for p in has_a if d_p.get((p, b)) is not None], key=lambda candidate: (d_p[candidate], candidate)
        )[:5]
    if not t1:
        return None

    d_t = {key: 1 - (1 - d_p[key]) * (1 - d_a[key]) for key in d_a if None not in (d_a[key], d_p[key])}
    scaling = []
    for candidate in sorted(d_t, key=lambda candidate: (d_t[candidate], candidate)):
        named = [*scaling, candidate]
        if len({p for p, _ in named}) > 3 or len({b for _, b in named}) > 10:
            continue
        scaling = named

    def column(candidates, value):
        return [
            (value(profiles[p, workload]), value(profiles[p, b]), value(profiles[target, b])) for p, b in candidates
        ]

    t1_value = interpolated(column(t1, lambda profile: profile[0]), weights([mean_d_a[b] for _, b in t1], 0))
    vector = [None] * 84
    if scaling:
        r = weights([d_a[candidate] for candidate in scaling], 3)
        for element in range(84):
            if not cannot_have[element]:
                values = column(scaling, lambda profile, element=element: profile[1][element])
                vector[element] = interpolated(values, r)
    return t1_value, vector, t1, scaling
