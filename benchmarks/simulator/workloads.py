"""The programs of the demo: models of sections from image processing pipelines and from standard benchmarks."""

from __future__ import annotations

from benchmarks.simulator.graphs import (
    nested_graph,
    pipeline_graph,
    recursion_graph,
    search_tree_graph,
    sparse_lu_graph,
    wavefront_graph,
)
from benchmarks.simulator.programs import (
    Access,
    Critical,
    DynamicLoop,
    Kernel,
    Phase,
    Program,
    Serial,
    StaticLoop,
    Tasks,
)

KIB, MIB = 1 << 10, 1 << 20

STREAM = Kernel(
    loads=0.35, stores=0.15, branches=0.05, mispredicted=0.001, vector=0.7, parallel=4.0,
    accesses=(Access(1.0, 256 * MIB, parallel=10),),
)  # fmt: skip
STENCIL = Kernel(
    loads=0.40, stores=0.10, branches=0.06, mispredicted=0.002, vector=0.6, parallel=4.0,
    accesses=(Access(0.5, 24 * KIB, "private"), Access(0.35, 128 * MIB, parallel=9)),
)  # fmt: skip
GRADIENT = Kernel(
    loads=0.30, stores=0.16, branches=0.07, mispredicted=0.003, vector=0.5, parallel=3.5,
    accesses=(Access(0.4, 16 * KIB, "private"), Access(0.5, 80 * MIB, parallel=8)),
)  # fmt: skip
BINNING = Kernel(
    loads=0.28, stores=0.12, branches=0.12, mispredicted=0.03, vector=0.1, parallel=2.6,
    accesses=(Access(0.3, 40 * KIB, "private", 16, 3), Access(0.15, 80 * MIB, parallel=6)),
)  # fmt: skip
NORMALISE = Kernel(
    loads=0.33, stores=0.14, branches=0.08, mispredicted=0.004, vector=0.6, parallel=3.0,
    accesses=(Access(0.8, 3 * MIB, parallel=6),),
)  # fmt: skip
DOT_PRODUCT = Kernel(
    loads=0.42, stores=0.02, branches=0.06, mispredicted=0.006, vector=0.8, parallel=4.0,
    accesses=(Access(0.45, 15 * KIB, "shared"), Access(0.25, 4 * MIB, "shared", 8, 6)),
)  # fmt: skip
CENSUS = Kernel(loads=0.26, stores=0.03, branches=0.08, mispredicted=0.002, vector=0.5, parallel=4.5,
    accesses=(Access(0.5, 20 * KIB, "private"), Access(0.06, 2 * MIB)))  # fmt: skip
HAMMING = Kernel(
    loads=0.30, stores=0.20, branches=0.07, mispredicted=0.001, vector=0.7, parallel=4.0,
    accesses=(Access(0.2, 2 * MIB, "shared"), Access(0.7, 160 * MIB, parallel=10)),
)  # fmt: skip
PATHS = Kernel(
    loads=0.34, stores=0.15, branches=0.09, mispredicted=0.008, vector=0.5, parallel=2.8,
    accesses=(Access(0.4, 64 * KIB, "private", 8, 4), Access(0.3, 160 * MIB, parallel=5)),
)  # fmt: skip
MINIMUM = Kernel(
    loads=0.36, stores=0.04, branches=0.14, mispredicted=0.05, vector=0.3, parallel=2.6,
    accesses=(Access(0.4, 160 * MIB, parallel=8),),
)  # fmt: skip
TREE_BUILD = Kernel(
    loads=0.32, stores=0.16, branches=0.16, mispredicted=0.09, parallel=2.2,
    accesses=(Access(0.3, 64 * KIB, "private", 16, 3), Access(0.2, 24 * MIB, "divided", 16, 4)),
)  # fmt: skip
TREE_QUERY = Kernel(
    loads=0.34, stores=0.04, branches=0.18, mispredicted=0.08, parallel=2.0,
    accesses=(Access(0.25, 200 * KIB, "shared", 64, 2), Access(0.03, 32 * MIB, "shared", 64, 1.5)),
)  # fmt: skip
BUTTERFLY = Kernel(
    loads=0.30, stores=0.18, branches=0.04, mispredicted=0.003, vector=0.6, parallel=3.6,
    accesses=(Access(0.5, 48 * KIB, "private", 8, 5), Access(0.06, 16 * MIB)),
)  # fmt: skip
TRANSPOSE = Kernel(
    loads=0.30, stores=0.30, branches=0.05, mispredicted=0.001, vector=0.1, parallel=3.0,
    accesses=(Access(0.5, 16 * MIB, "shared", 8, 8), Access(0.5, 16 * MIB, "shared", 32, 5)),
)  # fmt: skip
BLOCKS = Kernel(
    loads=0.36, stores=0.06, branches=0.04, mispredicted=0.002, vector=0.85, parallel=4.8,
    accesses=(Access(0.3, 28 * KIB, "private", 8, 6), Access(0.12, 180 * KIB, "private"), Access(0.01, 24 * MIB)),
)  # fmt: skip
FORCES = Kernel(
    loads=0.24, stores=0.03, branches=0.04, mispredicted=0.001, vector=0.8, parallel=2.4,
    accesses=(Access(0.5, 120 * KIB, "shared", 8, 8),),
)  # fmt: skip
ESCAPE = Kernel(loads=0.08, stores=0.02, branches=0.13, mispredicted=0.012, parallel=2.2)
MERGE = Kernel(
    loads=0.30, stores=0.18, branches=0.17, mispredicted=0.11, parallel=2.4,
    accesses=(Access(0.4, 48 * MIB, parallel=7), Access(0.4, 128 * KIB, "private")),
)  # fmt: skip
DENSE_BLOCK = Kernel(
    loads=0.34, stores=0.10, branches=0.05, mispredicted=0.004, vector=0.7, parallel=4.0,
    accesses=(Access(0.5, 96 * KIB, "private", 8, 6), Access(0.03, 20 * MIB)),
)  # fmt: skip
COUNTING = Kernel(
    loads=0.34, stores=0.20, branches=0.08, mispredicted=0.01, parallel=2.4,
    accesses=(Access(0.4, 120 * MIB, parallel=8), Access(0.4, 64 * KIB, "shared", 32, 3)),
)  # fmt: skip
BACKTRACK = Kernel(loads=0.20, stores=0.10, branches=0.20, mispredicted=0.06, parallel=2.6,
    accesses=(Access(0.5, 8 * KIB, "private"),))  # fmt: skip
VIDEO_FILTERS = Kernel(
    loads=0.30, stores=0.12, branches=0.10, mispredicted=0.02, vector=0.4, parallel=3.0,
    accesses=(Access(0.5, 300 * KIB, "private", 8, 5), Access(0.1, 12 * MIB)),
)  # fmt: skip
CHAIN = Kernel(
    loads=0.45, stores=0.05, branches=0.12, mispredicted=0.005, parallel=1.6,
    accesses=(Access(0.04, 64 * MIB, "shared", 64, 1),),
)  # fmt: skip
RELAXATION = Kernel(
    loads=0.36, stores=0.12, branches=0.07, mispredicted=0.003, vector=0.35, parallel=2.8,
    accesses=(Access(0.5, 6 * MIB, parallel=5),),
)  # fmt: skip
SPARSE_ROWS = Kernel(
    loads=0.40, stores=0.04, branches=0.10, mispredicted=0.02, vector=0.2, parallel=2.8,
    accesses=(Access(0.6, 150 * MIB, parallel=8), Access(0.15, 6 * MIB, "shared", 64, 4)),
)  # fmt: skip

MEDIAN_SPLITS = recursion_graph(8, 0.02, 0.0, skew=0.2, seed=3)
FRAMES = pipeline_graph((1.0, 1.6, 1.2, 0.6, 1.4, 0.8), streams=6, items=12)

PROGRAMS: tuple[Program, ...] = (
    Program("hog", "gradient", "domain_decomposition", "memory", "Gradients of an image, rows split evenly.",
        (Phase(1.8e9, GRADIENT, StaticLoop(1080), rounds=2, batch=5),)),
    Program("hog", "histogram", "dynamic_loop", "computation", "Histograms of cells, fetched in small chunks.",
        (Phase(2.8e9, BINNING, DynamicLoop(360, "uneven", batch=120)),)),
    Program("hog", "normalise", "domain_decomposition", "memory", "Normalisation of overlapping blocks in cache.",
        (Phase(1.4e9, NORMALISE, StaticLoop(134), rounds=2, batch=6),)),
    Program("hog", "classify", "nested", "computation", "Windows of image scales: their tasks spawn rows.",
        (Phase(3.6e9, DOT_PRODUCT, Tasks(nested_graph([0.82**k for k in range(14)], 18), "stealing", batch=4)),)),
    Program("sgm", "census", "domain_decomposition", "computation", "Census transform of two images.",
        (Phase(2.2e9, CENSUS, StaticLoop(960), batch=4),)),
    Program("sgm", "cost", "domain_decomposition", "memory", "Hamming distances for 64 disparities.",
        (Phase(2.6e9, HAMMING, StaticLoop(480)),)),
    Program("sgm", "aggregate", "wavefront", "memory", "Path costs: a block waits for the one above and to the left.",
        (Phase(4e9, PATHS, Tasks(wavefront_graph(27, 27), "central", batch=8)),)),
    Program("sgm", "disparity", "dynamic_loop", "memory", "Best disparity of each pixel, row by row.",
        (Phase(1.6e9, MINIMUM, DynamicLoop(480, batch=2)),)),
    Program("srad", "statistics", "locks", "communication", "Mean and variance of a region, added up under a lock.",
        (Phase(1.2e9, STREAM, StaticLoop(2048, pieces=16, critical=Critical(0.004, batch=12)), rounds=2, batch=4),)),
    Program("srad", "diffusion", "domain_decomposition", "memory", "Speckle-reducing diffusion, a barrier every step.",
        (Phase(3.2e9, STENCIL, StaticLoop(2048, pieces=5), rounds=4, batch=12),)),
    Program("kd-tree", "build", "recursive", "memory", "Partition of points at their median, both halves as tasks.",
        (Phase(2.4e9, TREE_BUILD, Tasks(MEDIAN_SPLITS, "stealing", batch=10), "first_node"),)),
    Program("kd-tree", "query", "dynamic_loop", "memory", "Nearest neighbours through a shared tree.",
        (Phase(2e9, TREE_QUERY, DynamicLoop(320, "uneven", batch=50), "interleaved"),)),
    Program("fft", "rows", "domain_decomposition", "computation", "Transforms of the rows of a square.",
        (Phase(3e9, BUTTERFLY, StaticLoop(1024), rounds=2),)),
    Program("fft", "transpose", "domain_decomposition", "communication", "Exchange of the square between the threads.",
        (Phase(1e9, TRANSPOSE, StaticLoop(1024), "interleaved", rounds=2),)),
    Program("matmul", "blocked", "domain_decomposition", "computation", "Matrix product in cache-sized blocks.",
        (Phase(4.8e9, BLOCKS, StaticLoop(192)),)),
    Program("n-body", "forces", "domain_decomposition", "computation", "Forces of pairs, each once: a triangular loop.",
        (Phase(3.2e9, FORCES, StaticLoop(4096, "triangular"), rounds=2),)),
    Program("mandelbrot", "rows", "dynamic_loop", "computation", "Rows of very different cost, one at a time.",
        (Phase(3e9, ESCAPE, DynamicLoop(400, "escape")),)),
    Program("mandelbrot", "blocks", "domain_decomposition", "computation", "Blocks of rows of very different cost.",
        (Phase(3e9, ESCAPE, StaticLoop(400, "upper_escape")),)),
    Program("sort", "merge", "recursive", "memory", "Merge sort: halves as tasks, merged one after the other.",
        (Phase(2.6e9, MERGE, Tasks(recursion_graph(8, 0.0, 0.02), "stealing", batch=12)),)),
    Program("lu", "sparse", "task_graph", "computation", "LU factorisation of a sparse matrix of blocks.",
        (Phase(3.4e9, DENSE_BLOCK, Tasks(sparse_lu_graph(12, 0.4, seed=5), "central", batch=4, created_first=True)),)),
    Program("histogram", "locked", "locks", "communication", "Pixels counted in bins behind eight locks.",
        (Phase(1.4e9, COUNTING, StaticLoop(2048, pieces=24, critical=Critical(0.2, locks=32, batch=250))),)),
    Program("n-queens", "search", "recursive", "computation", "All solutions by backtracking, subtrees as tasks.",
        (Phase(2.8e9, BACKTRACK, Tasks(search_tree_graph(360, 0.9, seed=8), "stealing", batch=80)),)),
    Program("video", "filter", "pipeline", "communication", "Six streams of frames through six stages.",
        (Phase(3e9, VIDEO_FILTERS, Tasks(FRAMES, "central", batch=40)),)),
    Program("list", "ranking", "sequential", "memory", "A chain of pointers, followed by one thread.",
        (Phase(4e8, CHAIN, Serial()),)),
    Program("flow", "relaxation", "unknown", None, "Optical flow: relaxation with a serial part between the steps.",
        (Phase(4e7, RELAXATION, Serial()), Phase(2.4e9, RELAXATION, StaticLoop(720, pieces=4), rounds=4, batch=20))),
    Program("spmv", "rows", "domain_decomposition", "memory", "Sparse matrix times vector, rows of uneven length.",
        (Phase(1.8e9, SPARSE_ROWS, StaticLoop(1500, "uneven"), rounds=2, batch=10),)),
)  # fmt: skip
