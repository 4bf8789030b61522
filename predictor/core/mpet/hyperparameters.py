"""The numbers of the Gaussian process."""

from __future__ import annotations

from dataclasses import dataclass

TINY = 1e-12


@dataclass(frozen=True)
class Hyperparameters:
    """One set for every database, chosen on public data (docs/method-mpet.md)."""

    far_off: float = 1.7  # standard deviations of a workload: curves farther off count less in a platform's speed
    worthwhile: float = 0.9  # of the variance without T's relatives: where they take off less, nothing is filled in
    workload_floor: float = 0.1  # a workload that tells nothing about A counts as a correlation of so much
    workload_power: float = 2.0
    nearness: float = 0.32  # in (ln n)^2: how far along the curve behaviour is evidence
    linear: float = 2.0
    smooth: float = 1.0
    smooth_length: float = 2.0
    short: float = 0.6
    short_length: float = 0.09
    shape: float = 0.2
    level: float = 0.05
    metadata: float = 0.5
    metadata_length: float = 4.0
    cpu_model: float = 0.1
    twin_cpu_model: float = 0.5  # the same where a reference has T's cpu_model
    twin_microarchitecture: float = 0.2
    noise: float = 0.02
    outside_noise: float = 0.6
    robust: float = 3.5  # residuals beyond so many standard deviations get more noise
    whole_share: float | None = None  # of the covariance of whole curves; None: by its errors on the references
    ridge: float = 2.0  # of the workloads' residuals, in units of their variance
    clip: float = 3.0  # standard deviations: larger residuals count as so large
    shift: float = 0.7  # of the variance, towards the median of relative errors
    most_shift: float = 0.35
    neighbours: int = 32  # references, of which a second process is made
    neighbours_paper: float = 0.1  # of squared distance on paper, in median squares of D_p
    other_share: float = 0.2  # of the transfer with positive weights, where it errs as much


DEFAULTS = Hyperparameters()
