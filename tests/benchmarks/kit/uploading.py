"""The kit as served by a server, results to send, and a fake server with given responses."""

import http.server
import io
import json
import os
import subprocess
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.kit_archive import kit_tarball

UPLOAD = "0f0e0000-0000-4000-8000-00000000000a"


def served_kit(site: str, folder: Path) -> Path:
    with tarfile.open(fileobj=io.BytesIO(kit_tarball(site))) as archive:
        archive.extractall(folder, filter="data")
    return folder / "mpet-kit"


def write_results(kit: Path, name: str, age_s: int, **members: Any) -> Path:
    """Write a tarball with JSON members into the kit's results/, with a modification time `age_s` seconds ago."""
    path = kit / "results" / f"mpet-{name}.tar.gz"
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for member, document in members.items():
            content = json.dumps(document).encode()
            entry = tarfile.TarInfo(f"{member}.json")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    os.utime(path, (time.time() - age_s,) * 2)
    return path


def upload_document(status: str, **fields: Any) -> dict[str, Any]:
    return {"id": UPLOAD, "status": status, "report": {"errors": [], "warnings": []}, "profiles": []} | fields


@dataclass
class StandIn:
    """A fake server that sends `answers` (status, document, headers) in turn and repeats the last one."""

    answers: list[tuple[int, dict[str, Any], dict[str, str]]]
    url: str = ""
    received: list[tuple[str, str, str | None, bytes]] = field(default_factory=list)

    def next_answer(self) -> tuple[int, dict[str, Any], dict[str, str]]:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def stand_in(*answers: tuple[int, dict[str, Any], dict[str, str]]) -> Iterator[StandIn]:
    script = StandIn(list(answers))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            script.received.append((self.command, self.path, self.headers["Authorization"], body))
            status, document, headers = script.next_answer()
            content = json.dumps(document).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()


@dataclass(frozen=True)
class Said:
    status: int
    out: str
    err: str


def run(*command: str | Path, **environment: str) -> Said:
    settings = {name: value for name, value in os.environ.items() if name not in {"MPET_TOKEN", "TOKEN", "URL"}}
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, env=settings | environment)
    return Said(done.returncode, done.stdout, done.stderr)
