"""The constants that several modules of the method use, and the hyperparameters of the Gaussian processes."""

from __future__ import annotations

from dataclasses import dataclass

SOME_REFERENCES = 5  # references below which the process over platforms has a smaller weight
MANY_REFERENCES = 20  # references above which ratios have a smaller weight
ENOUGH = 48  # platforms, workloads or laws; further ones hardly change a mean, a median or a quantile
MOST_COUNTS, SOME_COUNTS = 16, 4  # thread counts of a curve; further ones take time and improve nothing
USUAL_COUNT = 3.0  # number of measured profiles that has the same weight as a prior mean
LEAST_LOG_ERROR = 0.02  # of ln t: the least standard deviation of a measurement


@dataclass(frozen=True)
class Hyperparameters:
    """The hyperparameters for all databases, chosen on public data (docs/method-mpet.md)."""

    workload_power: float = 2.0  # exponent of the correlation with A in the weight of a workload
    nearness: float = 0.32  # in (ln n)^2: length scale of the weights of knots
    linear: float = 2.0  # variance of the part that is linear in the platforms' behaviour
    smooth: float = 1.0  # variance of the part that decreases with the squared distance of behaviour
    smooth_length: float = 2.0  # length scale of that part, in median squared distances
    short: float = 0.6  # variance of the part that decreases with the distance of behaviour, steep near 0
    short_length: float = 0.09  # length scale of that part, in median squared distances
    metadata: float = 0.5  # variance of the part that decreases with the squared distance of the metadata
    metadata_length: float = 4.0  # length scale of that part, a squared distance
    cpu_model: float = 0.1  # covariance added for two platforms with the same cpu_model
    twin_cpu_model: float = 0.5  # the same if a reference has T's cpu_model
    twin_microarchitecture: float = 0.2  # added for the same microarchitecture in that case
    noise: float = 0.02  # variance of the noise of a reference inside its measured range
    outside_noise: float = 0.6  # variance added per squared ln n outside the measured range
    robust: float = 3.5  # standard deviations of a residual above which a reference gets more noise
    ridge: float = 2.0  # regularisation of the regression on the workloads' residuals, in units of their variance
    clip: float = 3.0  # standard deviations to which residuals are clipped
    shift: float = 0.7  # share of the variance by which a prediction is lowered, towards the median of relative errors
    most_shift: float = 0.35  # of ln t: the largest such shift
    ratio_shift: float = 0.15  # standard deviations by which a prediction by ratios is lowered
    neighbours: int = 32  # references of the second process; largest number that counts as measured at an n
    paper_share: float = 0.3  # weight of the squared distance of metadata, relative to that of behaviour
    features: float = 1.0  # variance of the part that decreases with the distance of counters; 0 disables it
    features_length: float = 0.3  # length scale of that part: root mean square distance of features in 0..1
    workload_noise: float = 0.1  # variance of the noise of a workload


DEFAULTS = Hyperparameters()
