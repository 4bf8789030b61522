from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KIT = ROOT / "benchmarks" / "kit"
