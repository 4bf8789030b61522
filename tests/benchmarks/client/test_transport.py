"""How the client asks: patience, backoff, and errors with the server's own words."""

import httpx
import pytest
from mpet import Client
from mpet.errors import MpetError, NoPrediction, NotAllowed, Refused, Unreachable

SERVER = "https://mpet.example.org"
ANSWER = {"workload": "fft", "target": "i9", "revision": 3, "method": "mpet", "t1_s": 2.0, "curve": []}


class Server:
    """Answers one request after the other with what it was given; an exception is raised instead."""

    def __init__(self, *answers):
        self.answers, self.requests, self.pauses = list(answers), [], []

    def handle(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self, token="mpet_secret", patience_s=300.0, **options):
        options |= {"connection": httpx.MockTransport(self.handle), "sleep": self.pauses.append}
        return Client(SERVER, token, patience_s=patience_s, **options)


def problem(status, detail, headers=None, **more):
    document = {"type": "about:blank", "title": "No", "status": status, "detail": detail, **more}
    return httpx.Response(status, json=document, headers=headers)


@pytest.mark.parametrize(
    ("status", "after", "pause_s"),
    [(429, "7", 7.0), (503, "7", 7.0), pytest.param(503, "31536000", 60.0, id="a year is a minute")],
)
def test_a_busy_server_is_asked_again_when_it_says_so(status, after, pause_s):
    server = Server(problem(status, "busy", {"Retry-After": after}), httpx.Response(201, json=ANSWER))
    assert server.client().predict("fft", "i9").revision == 3
    assert server.pauses == [pause_s]
    assert [request.content for request in server.requests] == [server.requests[0].content] * 2


def test_without_a_word_the_pauses_double():
    server = Server(*[problem(503, "busy")] * 4, httpx.Response(200, json={"username": "ada"}))
    assert server.client().account() == {"username": "ada"}
    assert len(server.pauses) == 4
    assert all(1.2 < later / first < 3.1 for first, later in zip(server.pauses, server.pauses[1:], strict=False))


def test_patience_ends():
    server = Server(*[problem(429, "600 requests a minute", {"Retry-After": "50"})] * 9)
    with pytest.raises(Unreachable, match="600 requests a minute") as raised:
        server.client(patience_s=120.0).account()
    assert server.pauses == [50.0, 50.0]
    assert raised.value.exit_code == 6


def test_a_limit_that_lasts_longer_than_the_client_waits_is_reported_at_once():
    server = Server(problem(429, "5 uploads an hour", {"Retry-After": "3000"}))
    with pytest.raises(Unreachable, match=r"is busy: 5 uploads an hour; try again in 50 minutes$"):
        server.client().account()
    assert server.pauses == []


def test_a_longer_pause_is_announced():
    said = []
    server = Server(problem(503, "busy", {"Retry-After": "7"}), httpx.ConnectError("no"), httpx.Response(200, json={}))
    server.client(said=said.append).account()
    assert said[0] == f"{SERVER} is busy: busy; trying again in 7 s"
    assert len(server.pauses) == 2 and len(said) == 1, "a short pause is not announced"


def test_what_is_computed_behind_the_request_is_waited_for():
    later = {"status": "computing", "progress": {"done": 340, "total": 1995}, "url": f"{SERVER}/api/v1/rankings/?w=1"}
    server = Server(
        httpx.Response(202, json=later, headers={"Retry-After": "2"}),
        httpx.Response(200, json={"results": [{"platform": "i9"}]}),
    )
    seen = []
    ranking = server.client().rank("fft", progress=lambda done, total: seen.append((done, total)))
    assert (ranking.platforms, seen, server.pauses) == (["i9"], [(340, 1995)], [2.0])


def test_what_broke_off_is_sent_again_only_where_it_changes_nothing():
    broken = httpx.ReadError("gone")
    server = Server(broken, httpx.Response(200, json={"username": "ada"}))
    assert server.client().account() == {"username": "ada"}
    with pytest.raises(Unreachable, match="closed the connection"):
        Server(broken, httpx.Response(201, json=ANSWER)).client().predict("fft", "i9")
    refused = httpx.ConnectError("refused")
    assert Server(refused, httpx.Response(201, json=ANSWER)).client().predict("fft", "i9").method == "mpet"
    with pytest.raises(Unreachable, match="cannot be reached"):
        Server(*[refused] * 9).client().predict("fft", "i9")


REFUSALS = [
    (400, Refused, 3),
    (404, Refused, 3),
    (409, Refused, 3),
    (422, NoPrediction, 4),
    (401, NotAllowed, 5),
    (403, NotAllowed, 5),
    (500, Unreachable, 6),
]


@pytest.mark.parametrize(("status", "kind", "exit_code"), REFUSALS)
def test_each_refusal_has_its_error(status, kind, exit_code):
    errors = [{"name": "n", "reason": "is no number"}]
    with pytest.raises(MpetError) as raised:
        Server(problem(status, "so it is", errors=errors, advice="run make quick")).client().predict("fft", "i9")
    assert type(raised.value) is kind
    assert raised.value.exit_code == exit_code
    for words in ("so it is", "n: is no number", "run make quick"):
        assert words in str(raised.value)


def test_what_is_not_found_is_named_by_its_address():
    with pytest.raises(Refused) as raised:
        Server(problem(404, "It does not exist.")).client().upload_report("nothing")
    assert str(raised.value) == "https://mpet.example.org/api/v1/uploads/nothing/: It does not exist."


def test_what_is_no_mpet_server_is_said_to_be_none():
    with pytest.raises(MpetError, match="is it an MPET server"):
        Server(httpx.Response(200, text="<html>")).client().account()


def test_the_token_goes_to_its_server_alone():
    elsewhere = httpx.Response(301, headers={"Location": "https://elsewhere.example.org/api/v1/account/"})
    server = Server(elsewhere, httpx.Response(200, json={}))
    server.client().account()
    assert [request.headers.get("Authorization") for request in server.requests] == ["Bearer mpet_secret", None]


def test_a_file_is_sent_whole_again_after_a_busy_answer(tmp_path):
    path = tmp_path / "night.tar.gz"
    path.write_bytes(b"0123456789" * 100)
    done = {"id": "a", "status": "accepted", "profiles": [], "report": {}}
    server = Server(problem(503, "busy", {"Retry-After": "1"}), httpx.Response(201, json=done))
    assert server.client().upload(path, licence="CC0").is_accepted
    first, second = (request.read() for request in server.requests)
    for body in (first, second):
        assert b"0123456789" * 100 in body and b"private" in body and b"CC0" in body


def test_a_page_in_place_of_the_report_of_an_upload_is_no_traceback(tmp_path):
    file = tmp_path / "results.tar.gz"
    file.write_bytes(b"content")
    server = Server(httpx.Response(200, text="<html>Sign in to the proxy</html>"))
    with pytest.raises(MpetError, match="does not answer with JSON"):
        server.client().upload(file)


def test_an_error_without_a_reason_names_the_address():
    server = Server(httpx.Response(502, text="<html>Bad gateway</html>"))
    with pytest.raises(Unreachable, match=f"{SERVER}/api/v1/account/ answers with status 502"):
        server.client().account()
