"""A Python package that brings its own libgomp, under a name of its own and out of the global scope."""

import sys
from pathlib import Path

import pytest
import sklearn

from tests.benchmarks.kit.profiled import LIBRARIES, build_profiler, run_preloaded

CODE = """
import numpy, sklearn.cluster
points = numpy.random.default_rng(0).random((5000, 8))
print(len(sklearn.cluster.KMeans(4, n_init=1, max_iter=5, random_state=0).fit(points).cluster_centers_))
"""
BUNDLED = list((Path(sklearn.__file__).parents[1] / "scikit_learn.libs").glob("libgomp-*"))


@pytest.mark.kit
@pytest.mark.skipif(not BUNDLED, reason="scikit-learn was built here, with the system's libgomp")
def test_a_runtime_of_another_name_is_found_among_what_is_loaded(tmp_path):
    library = build_profiler() / LIBRARIES["gcc"]
    output, recording = run_preloaded(Path(sys.executable), library, tmp_path, 2, "-c", CODE)
    assert output == "4\n"
    assert [line for line in recording.splitlines() if line.startswith("region")]
