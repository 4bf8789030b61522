"""The core as a distribution of its own: its wheel alone, without Django, answers as the repository does."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command

from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import preview_answer
from tests.paths import ROOT
from tests.predictor.conftest import store
from tests.samples import sample_measurements

PROJECT = ROOT / "packaging" / "mpet-core"
ASK = """
import json, sys
from pathlib import Path
sys.modules["django"] = sys.modules["pandas"] = sys.modules["pyarrow"] = None  # as where they are not installed
from mpet_core import read_dump, MpetRegressor
answer = read_dump(Path(sys.argv[1])).predict(sys.argv[2], sys.argv[3])
table = [(p, w, n) for p in "abc" for w in "xyz" for n in (1, 2, 4) if (p, w) != ("c", "z")]
times = [{"x": 8, "y": 16, "z": 32}[w] / {"a": 1, "b": 2, "c": 4}[p] / n for p, w, n in table]
own = MpetRegressor("speed-ratio").fit(table, times).predict([("c", "z", 4)])
others = sorted({name.split(".")[0] for name in sys.modules} & {"predictor", "profiles", "mpet_site"})
print(json.dumps({"time_s": answer.time_s.tolist(), "low_s": answer.low_s.tolist(), "own": own[0], "others": others}))
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("core")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, PROJECT]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    with zipfile.ZipFile(next(folder.glob("mpet_core-*.whl"))) as wheel:
        wheel.extractall(folder / "site")
    return folder / "site"


def test_the_wheel_answers_as_the_server_to_1e_12(unpacked, db, tmp_path):
    store(sample_measurements(4, 6))
    call_command("export", tmp_path / "dump", format="sqlite")
    question = ("app1-section1", "machine-2")
    online = preview_answer(PredictionRequest(*question))["curve"]
    script = tmp_path / "ask.py"
    script.write_text(ASK)
    asked = subprocess.run(
        [sys.executable, script, tmp_path / "dump", *question],
        env={"PYTHONPATH": str(unpacked), "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert asked.returncode == 0, asked.stderr
    offline = json.loads(asked.stdout)
    assert offline["others"] == []
    assert offline["own"] == pytest.approx(2.0)
    for name in ("time_s", "low_s"):
        assert offline[name] == pytest.approx([point[name] for point in online], rel=1e-12)


def test_no_module_of_the_wheel_is_a_copy_that_is_kept(unpacked):
    taken = [path.relative_to(unpacked / "mpet_core") for path in (unpacked / "mpet_core").rglob("*.py")]
    assert len(taken) > 60
    kept = {path.name for path in (PROJECT / "mpet_core").rglob("*.py")}
    assert kept == {"__init__.py"}
    for path in taken:
        assert (ROOT / path).is_file() or path == Path("__init__.py")
        assert "import django" not in (unpacked / "mpet_core" / path).read_text()
