"""The numbers that parts of the method share, and those of the Gaussian process."""

from __future__ import annotations

from dataclasses import dataclass

SOME_REFERENCES = 5  # with fewer, covariances between platforms count less
MANY_REFERENCES = 20  # with more, ratios count less
ENOUGH = 48  # platforms, workloads or laws: more of them change a mean, a median or a quantile no more
MOST_COUNTS, SOME_COUNTS = 16, 4  # thread counts of a curve: more cost time and gain nothing
USUAL_COUNT = 3.0  # profiles, as which what is usual counts beside what was measured
LEAST_LOG_ERROR = 0.02  # of ln t: no measurement is surer


@dataclass(frozen=True)
class Hyperparameters:
    """One set for every database, chosen on public data (docs/method-mpet.md)."""

    workload_power: float = 2.0  # of the correlation with A: how much alike workloads outweigh the others
    nearness: float = 0.32  # in (ln n)^2: how far along the curve behaviour is evidence
    linear: float = 2.0  # variance of the part that is linear in the platforms' behaviour
    smooth: float = 1.0  # variance of the part that falls with the squared distance of behaviour
    smooth_length: float = 2.0  # median squared distances over which it falls to 1/e
    short: float = 0.6  # variance of the part that falls with the distance of behaviour, so steeply near 0
    short_length: float = 0.09  # median squared distances where that has fallen to 1/e
    metadata: float = 0.5  # variance of the part that falls with the squared distance on paper
    metadata_length: float = 4.0  # squared distance on paper over which it falls to 1/e
    cpu_model: float = 0.1  # covariance added for two platforms of one cpu_model
    twin_cpu_model: float = 0.5  # the same where a reference has T's cpu_model
    twin_microarchitecture: float = 0.2  # and that of one microarchitecture, there alone
    noise: float = 0.02  # variance of a reference's own, where it was measured
    outside_noise: float = 0.6  # variance added for each squared ln n outside of where it was measured
    robust: float = 3.5  # residuals beyond so many standard deviations get more noise
    ridge: float = 2.0  # of the workloads' residuals, in units of their variance
    clip: float = 3.0  # standard deviations: larger residuals count as so large
    shift: float = 0.7  # of the variance, towards the median of relative errors
    most_shift: float = 0.35  # of ln t
    ratio_shift: float = 0.15  # standard deviations, of what is predicted by ratios
    neighbours: int = 32  # references, of which a second process is made; and at most so many count as measured at an n
    paper_share: float = 0.3  # of squared distance on paper, beside that of behaviour in units of its median
    features: float = 1.0  # variance of the part that falls with the distance of their counters; 0: these are unused
    features_length: float = 0.3  # root mean square distance of features, each in 0..1, over which it falls
    workload_noise: float = 0.1  # variance of a workload's own departure


DEFAULTS = Hyperparameters()
