"""Synthetic servers in the format that SpareCores publishes."""

import io
import json
import subprocess
import tarfile
from pathlib import Path

from benchmarks.public_data.interface import MeasuredFolder

META = {"start": "2026-01-02T03:04:05", "exit_code": 0, "error_msg": None, "version": "0.20.01", "outputs": ["stdout"]}
LSCPU = {
    "Architecture": "x86_64",
    "CPU op-mode(s)": "32-bit, 64-bit",
    "CPU(s)": "8",
    "Vendor ID": "GenuineIntel",
    "Model name": "Intel(R) Xeon(R) CPU @ 2.80GHz",
    "CPU family": "6",
    "Model": "85",
    "Thread(s) per core": "2",
    "Core(s) per socket": "2",
    "Socket(s)": "2",
    "Stepping": "7",
    "Hypervisor vendor": "KVM",
    "L1d cache": "131072 (4 instances)",
    "L2 cache": "4194304 (4 instances)",
    "L3 cache": "34603008 (1 instance)",
    "NUMA node(s)": "2",
}
GEEKBENCH_TEXT = """Geekbench 6.4.0 Pro : https://www.geekbench.com/

CPU Information
  Name                          Intel Xeon
  Topology                      2 Processors, 4 Cores, 8 Threads
  Base Frequency                2.80 GHz
"""


def lscpu(**changed) -> str:
    fields = {**LSCPU, **{name.replace("_", " "): value for name, value in changed.items()}}
    return json.dumps({"lscpu": [{"field": f"{name}:", "data": value} for name, value in fields.items()]})


def lstopo(threads: int = 8) -> str:
    core = '<object type="Core">' + 2 * '<object type="PU"/>' + "</object>"
    cores = f'<object type="L1Cache" cache_size="32768">{core}</object>' * (threads // 2)
    memory = '<object type="NUMANode" local_memory="17179869184"/>' * 2
    return (
        '<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0"><object type="Machine">'
        f'<object type="Package">{memory}{cores}</object></object></topology>'
    )


def scores(factor: float) -> dict[str, dict[str, float]]:
    return {"Score": {"score": 1000 * factor}, "Clang": {"score": 2000 * factor}, "Ray Tracer": {"score": 500 * factor}}


def llama(n_prompt: int, n_gen: int) -> str:
    return json.dumps(
        {
            "model_filename": "/models/SmolLM-135M.Q4_K_M.gguf",
            **{"n_prompt": n_prompt, "n_gen": n_gen, "n_threads": 8, "samples_ns": [2_000_000_000, 2_500_000_000]},
        }
    )


def stressors(speed: float = 1.0) -> str:
    rates = {"cpu": (100.0, 500.0), "memcpy": (20.0, 50.0), "lost": (None, 10.0)}
    results = {
        name: {n: {"bogo_ops_per_sec": rate and rate * speed} for n, rate in zip(("1", "8"), pair, strict=True)}
        for name, pair in rates.items()
    }
    return json.dumps({"stressors": results})


def server(speed: float = 1.0, **changed) -> dict[str, str]:
    """Return the files of one server. `changed` replaces files (geekbench_meta=...), or removes them if None."""
    files = {
        "lscpu/stdout": lscpu(),
        "lstopo/stdout": lstopo(),
        "lshw/stdout": json.dumps([{"id": "core", "children": [{"id": "memory", "size": 2**35, "units": "bytes"}]}]),
        "geekbench/stdout": GEEKBENCH_TEXT,
        "geekbench/results.json": json.dumps(
            {"Single-Core Performance": scores(speed), "Multi-Core Performance": scores(4 * speed)}
        ),
        "geekbench/meta.json": json.dumps(META | {"version": "6.4.0"}),
        "stressng_benchmarks/stdout": stressors(speed),
        "stressng_benchmarks/meta.json": json.dumps(META),
        "stressngfull/stdout": "1,1000\n4,3900.5\n8,5000\n",
        "stressngfull/meta.json": json.dumps(META | {"version": "0.17.08"}),
        "compression_text/stdout": json.dumps(
            {
                "lz4": {
                    "1": [
                        {"threads": n, "extra_args": {"block_size": 65536}, "compress": n * 1e8, "decompress": n * 5e8}
                        for n in (8, 1)
                    ]
                },
                "zpaq": {"5": [{"threads": 1, "extra_args": {}, "compress": None, "decompress": 1e6}]},
            }
        ),
        "compression_text/meta.json": json.dumps(META | {"version": None}),
        "llm/stdout": f"{llama(16, 0)}\n{llama(0, 128)}\n",
        "llm/meta.json": json.dumps(META | {"version": "51f311e0"}),
        "passmark/stdout": "not asked for",
    }
    files |= {name.replace("_meta", "/meta.json").replace("__", "/"): text for name, text in changed.items()}
    return {name: text for name, text in files.items() if text is not None}


def write_files(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def write_servers(root: Path, servers: dict[str, dict[str, str]]) -> Path:
    """Write the servers as a clone with its files checked out."""
    files = {f"data/{name}/{member}": text for name, files in servers.items() for member, text in files.items()}
    return write_files(root, files | {"README.md": "not data"})


def clone_bare(work: Path) -> Path:
    """Make a repository of the folder and a bare clone of it, and return the clone's path next to the folder."""
    bare = work.parent / "bare"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "init.defaultBranch=main"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "made"]):
        subprocess.run([*git, "-C", str(work), *command], check=True)
    subprocess.run([*git, "clone", "-q", "--bare", str(work), str(bare)], check=True)
    return bare


def times_of(measured: MeasuredFolder, name: str) -> dict[tuple[int, int], float]:
    (found,) = [times for workload, times in measured.times.items() if workload.name == name]
    return found


def pack_servers(path: Path, servers: dict[str, dict[str, str]]) -> Path:
    """Write the servers as the archive that GitHub offers."""
    with tarfile.open(path, "w:gz") as archive:
        for name, files in sorted(servers.items()):
            for member, text in sorted(files.items()):
                info = tarfile.TarInfo(f"sc-inspector-data-main/data/{name}/{member}")
                content = text.encode()
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path
