"""`mpet try` of a program that nobody of this project wrote, on a fresh server, while all processors are busy:
without an account, then with one."""

import json
import os
import random
import re
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import pytest
from mpet import Client

from lab.hostile.servers import installation, served
from lab.programs.inputs import BASES, write_family
from tests.benchmarks.client.conftest import PROJECT
from tests.benchmarks.kit.kit_build import need

# For what the server computes once the results are there: it ends a test that waits in vain.
LONGEST_WAIT_S = 300
PROGRAM = "fasttreeMP"


@contextmanager
def busy_processors():
    """A process for each processor that does nothing but use it."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.fixture
def try_program(tmp_path):
    """`mpet try` of FastTree on a small alignment, as a shell calls it: its answer, and what it says."""
    need("make", "g++", PROGRAM)
    write_family(tmp_path / "alignment.fasta", BASES, (60, 300), random.Random(20))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MPET_")} | {
        "PYTHONPATH": str(PROJECT / "src"),
        "MPET_CONFIG_DIR": str(tmp_path / "config"),
        "MPET_CACHE_DIR": str(tmp_path / "cache"),
    }

    def run(server, **variables):
        words = ["try", "--json", "--server", server, "--", PROGRAM, "-nt", "alignment.fasta"]
        command = [sys.executable, "-m", "mpet.cli", *words]
        done = subprocess.run(
            command, env=environment | variables, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout), done.stderr

    return run


@pytest.mark.kit
@pytest.mark.alone
@pytest.mark.lab
def test_it_ends_in_its_page_with_predictions_on_a_busy_machine(try_program, capsys):
    with installation("sqlite", reference=True) as made, served(made) as server:
        token = made.manage("api_token", "ada").splitlines()[0]
        with busy_processors():
            start = time.monotonic()
            answer, said = try_program(server)
            text = page_with_answer(answer["url"], time.monotonic() + LONGEST_WAIT_S)
            took_s = time.monotonic() - start
        with capsys.disabled():
            sys.stderr.write(f"\nmpet try of {PROGRAM}, every processor busy: {took_s:.0f} s\n")
        # It begins with the whole program, and not with its regions or the kit's workloads that were sent with it.
        captions = re.findall(r"(\S+) on (\d+) machines,\s+fastest first", text)
        assert captions and captions[0][0] == PROGRAM and int(captions[0][1]) > 1
        assert "measuring this machine once" in said
        # With an account, once the kit's results are here: the whole program, in one time for each machine.
        answer, said = try_program(server, MPET_TOKEN=token)
        assert "measuring this machine once" not in said
        ranking = Client(server, token).rank_page(answer["url"])
        assert len(ranking.rows) > 1
        assert all(0 < row["low_s"] < row["time_s"] < row["high_s"] for row in ranking.rows)


def page_with_answer(page, until):
    """The page once it has what is computed for it."""
    while True:
        with urllib.request.urlopen(page) as answer:
            text = answer.read().decode()
        if "fastest first" in text:
            return text
        assert time.monotonic() < until, re.sub(r"<[^>]+>|\s+", " ", text)[-4000:]
        time.sleep(1)
