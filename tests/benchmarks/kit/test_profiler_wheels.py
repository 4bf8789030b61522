"""Python packages that bring their own libgomp, under a name of its own and out of the global scope, or an OpenBLAS
with threads of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
import sklearn

from tests.benchmarks.kit.profiled import LIBRARIES, build_profiler, profile, run_preloaded

CODE = """
import numpy, sklearn.cluster
points = numpy.random.default_rng(0).random((5000, 8))
print(len(sklearn.cluster.KMeans(4, n_init=1, max_iter=5, random_state=0).fit(points).cluster_centers_))
"""
BUNDLED = list((Path(sklearn.__file__).parents[1] / "scikit_learn.libs").glob("libgomp-*"))
OWN_THREADS = "loads an OpenBLAS that creates its own threads (pthreads) instead of OpenMP's: "
ONCE = ("--n", "1", "--repeats", "1", "--runtime", "libgomp")
BLAS = """
#include <pthread.h>
double sum = 0;
#ifdef DEBIAN
char openblas_get_config;
#endif
static void *work(void *nothing) { return nothing; }
void dgemm_(void) {
    pthread_t thread;
    if (THREADS && pthread_create(&thread, 0, work, 0) == 0) pthread_join(thread, 0);
#ifdef _OPENMP
#pragma omp parallel for reduction(+ : sum)
#endif
    for (int i = 0; i < 1000000; i++) sum += i % 7;
}
"""


@pytest.mark.kit
@pytest.mark.skipif(not BUNDLED, reason="scikit-learn was built here, with the system's libgomp")
def test_a_runtime_of_another_name_is_found_among_what_is_loaded(tmp_path):
    library = build_profiler() / LIBRARIES["gcc"]
    output, recording = run_preloaded(Path(sys.executable), library, tmp_path, 2, "-c", CODE)
    assert output == "4\n"
    assert [line for line in recording.splitlines() if line.startswith("region")]


@pytest.mark.kit
@pytest.mark.lab
@pytest.mark.skipif(not BUNDLED, reason="scikit-learn was built here, with the system's libgomp")
def test_regions_of_a_wheel_are_named(tmp_path):
    kept = profile([sys.executable, "-c", CODE], tmp_path, *ONCE, "--min-share", "0")
    assert kept.status == 0, kept.said
    assert any("sklearn.cluster._k_means_lloyd.lloyd_iter_chunked_dense" in section for section in kept.regions())


@pytest.mark.kit
def test_a_wheel_with_threads_of_its_own_is_told_what_to_use(tmp_path):
    code = "import numpy; a = numpy.ones((300, 300)); print((a @ a).sum())"
    done = profile([sys.executable, "-c", code], tmp_path, *ONCE)
    assert done.status == 4
    (told,) = [line for line in done.said.splitlines() if OWN_THREADS in line]
    assert "openblas" in told.split(OWN_THREADS)[1] and "mpet sweep -- PROGRAM" in told


@pytest.mark.kit
@pytest.mark.parametrize(
    ("name", "flags", "is_told"),
    [
        ("libopenblas.so", ["-DTHREADS=1"], True),
        ("libopenblas.so", ["-DTHREADS=0"], False),  # for one thread
        ("libopenblas.so", ["-DTHREADS=1", "-fopenmp"], False),
        ("libblas.so.3", ["-DTHREADS=1", "-DDEBIAN"], True),
        ("libblas.so.3", ["-DTHREADS=1"], False),
    ],
)
def test_kinds_of_openblas_are_told_apart(name, flags, is_told, tmp_path):
    library = ["gcc", "-O1", "-g", "-shared", "-fPIC", "-pthread", *flags, "-xc", "-", "-o", tmp_path / name]
    subprocess.run(library, input=BLAS, text=True, check=True)
    main = "void dgemm_(void); int main(void) {\n#pragma omp parallel\n{ }\ndgemm_(); return 0; }"
    command = ["gcc", "-g", "-fopenmp", "-xc", "-", "-xnone", tmp_path / name, f"-Wl,-rpath,{tmp_path}"]
    subprocess.run([*command, "-o", tmp_path / "solve"], input=main, text=True, check=True)
    done = profile([tmp_path / "solve"], tmp_path, *ONCE, "--min-share", "0")
    assert done.status == 0, done.said
    assert (OWN_THREADS + name in done.said) == is_told
    assert any(section.startswith("dgemm_:") for section in done.regions()) == ("-fopenmp" in flags)
