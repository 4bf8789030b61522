"""Readers of measurements that others have published, one module per source. They do not need Django.

To add a source, write a module with an `interface.PublicSource` and add it to SOURCES.
"""

from benchmarks.public_data.gbm_perf import GbmPerf
from benchmarks.public_data.interface import PublicSource
from benchmarks.public_data.rrze_spechpc import RrzeSpecHpc
from benchmarks.public_data.sparecores import SpareCores
from benchmarks.public_data.sparecores_slim import SlimSpareCores

SOURCES: dict[str, PublicSource] = {source.name: source for source in (SpareCores(), GbmPerf(), RrzeSpecHpc())}
SLIM_SOURCES: dict[str, SlimSpareCores] = {source.name: source for source in (SlimSpareCores(),)}
