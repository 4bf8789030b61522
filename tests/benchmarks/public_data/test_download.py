import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from benchmarks.public_data import download as module
from benchmarks.public_data.download import DownloadError, download

CONTENT = bytes(range(256)) * 400


class Handler(BaseHTTPRequestHandler):
    ranges = True
    asked: list[str | None]

    def do_GET(self):
        asked = self.headers.get("Range")
        self.asked.append(asked)
        if self.path != "/made":
            self.send_error(404)
            return
        first = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.ranges else 0
        if first >= len(CONTENT):
            self.send_error(416)
            return
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(CONTENT) - first))
        self.end_headers()
        self.wfile.write(CONTENT[first:])

    def log_message(self, *_):
        pass


@pytest.fixture
def handler():
    return type("OwnHandler", (Handler,), {"asked": []})


@pytest.fixture
def url(handler):
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/made"
        server.shutdown()


def test_the_archive_arrives_and_is_not_fetched_twice(url, handler, tmp_path):
    sizes = []
    for _ in range(2):
        download(url, tmp_path / "archive", sizes.append)
    assert (tmp_path / "archive").read_bytes() == CONTENT
    assert sum(sizes) == len(CONTENT)
    assert handler.asked == [None]


@pytest.mark.parametrize("ranges", [True, False])
def test_what_arrived_before_is_continued(ranges, url, handler, tmp_path):
    handler.ranges = ranges
    (tmp_path / "archive.part").write_bytes(CONTENT[:1000])
    download(url, tmp_path / "archive", lambda count: None)
    assert (tmp_path / "archive").read_bytes() == CONTENT
    assert handler.asked == ["bytes=1000-"]


def test_a_part_that_is_longer_than_the_archive_is_dropped(url, tmp_path):
    (tmp_path / "archive.part").write_bytes(CONTENT + b"more")
    with pytest.raises(DownloadError, match="has changed"):
        download(url, tmp_path / "archive", lambda count: None)
    download(url, tmp_path / "archive", lambda count: None)
    assert (tmp_path / "archive").read_bytes() == CONTENT


def test_an_address_without_a_server_or_an_archive_says_so(url, tmp_path):
    with pytest.raises(DownloadError, match=r"127\.0\.0\.1"):
        download("http://127.0.0.1:9/made", tmp_path / "archive", lambda count: None)
    with pytest.raises(DownloadError, match="404"):
        download(url.replace("/made", "/other"), tmp_path / "archive", lambda count: None)
    assert list(tmp_path.iterdir()) == []


def test_an_endless_archive_is_given_up(url, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_ARCHIVE_BYTES", 1000)
    with pytest.raises(DownloadError, match="larger than 1000 bytes"):
        download(url, tmp_path / "archive", lambda count: None)
    assert not (tmp_path / "archive").exists()
