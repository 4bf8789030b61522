"""A small synthetic dataset."""

from pathlib import Path

import numpy as np
import pandas as pd


def made_up_times(platform: int, workload: int, n: int) -> float:
    """Return the time by a smooth law with an interaction of platform and workload."""
    return (1 + workload) * (8 + (platform * (workload % 3)) % 5) / (2 + platform % 4) / n**0.9


def write_dataset(folder: Path) -> Path:
    """Write an mpet-dataset/1 folder with 12 platforms, 12 workloads of two suites, and three thread counts."""
    folder.mkdir()
    platforms = pd.DataFrame(
        {
            "platform_id": [f"p{place:02}" for place in range(12)],
            "name": "a name",
            "architecture": ["x86_64", "aarch64"] * 6,
            "microarchitecture": [f"u{place % 4}" for place in range(12)],
            "cpu_model": [f"cpu {place}" for place in range(12)],
            "physical_cores": 8,
            "base_mhz": 2000.0 + 100 * np.arange(12),
        }
    )
    runs = pd.DataFrame(
        [
            (f"p{platform:02}", f"s{workload % 2}/w{workload:02}", n, repeat, made_up_times(platform, workload, n))
            for platform in range(12)
            for workload in range(12)
            for n in (1, 4, 16)
            for repeat in (1, 2)
        ],
        columns=["platform_id", "workload", "n", "repeat", "time_s"],
    ).assign(time_kind="absolute")
    platforms.to_csv(folder / "platforms.csv", index=False)
    runs.to_csv(folder / "runs.csv", index=False)
    return folder
