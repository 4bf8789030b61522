"""`mpet try` of an outside program on a fresh server, without an account, while other programs use both processors."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import pytest

from lab.hostile.servers import installation, served
from lab.programs.inputs import BASES, write_family
from tests.benchmarks.client.conftest import PROJECT
from tests.benchmarks.kit.kit_build import need

LONGEST_S = 300


@contextmanager
def busy_processors(count):
    """So many processes that do nothing but use a processor."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.kit
@pytest.mark.alone
def test_an_outside_program_ends_in_its_page_within_five_minutes_on_a_busy_machine(tmp_path, capsys):
    need("make", "g++", "fasttreeMP")
    write_family(tmp_path / "alignment.fasta", BASES, (60, 300), random.Random(20))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MPET_")} | {
        "PYTHONPATH": str(PROJECT / "src"),
        "MPET_CONFIG_DIR": str(tmp_path / "config"),
        "MPET_CACHE_DIR": str(tmp_path / "cache"),
    }
    words = ["try", "--anonymous", "--json", "--server", "SERVER", "--", shutil.which("fasttreeMP"), "-nt"]
    with installation("sqlite") as made, served(made) as server, busy_processors(2):
        command = [sys.executable, "-m", "mpet.cli", *words, str(tmp_path / "alignment.fasta")]
        command[command.index("SERVER")] = server
        start = time.monotonic()
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST_S, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr[-4000:]
        page = json.loads(done.stdout)["url"]
        text = page_with_answer(page, start + LONGEST_S)
        took_s = time.monotonic() - start
    with capsys.disabled():
        sys.stdout.write(f"\nmpet try of an outside program with both processors busy: {took_s:.0f} s\n")
    captions = re.findall(r"fasttreeMP\S* on (\d+) machines,\s+fastest first", text)
    assert captions and int(captions[0]) > 1, re.sub(r"<[^>]+>|\s+", " ", text)[-4000:]


def page_with_answer(page, until):
    """The page that a browser shows once what it waits for is computed; of the program's first part."""
    with urllib.request.urlopen(page) as answer:
        text = answer.read().decode()
    part = next(
        slug for slug, name in re.findall(r'href="\?workload=(\S+?)"[^>]*>([^<]+)', text) if "fasttreeMP" in name
    )
    while "fastest first" not in text or "fasttreeMP" not in text:
        assert time.monotonic() < until, re.sub(r"<[^>]+>|\s+", " ", text)[-4000:]
        time.sleep(1)
        with urllib.request.urlopen(f"{page}?workload={part}") as answer:
            text = answer.read().decode()
    return text
