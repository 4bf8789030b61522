"""The API as Python methods; `mpet`, the command, does nothing that these do not."""

from __future__ import annotations

import hashlib
import io
import shutil
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Optional

from mpet.config import chosen_server, chosen_token
from mpet.errors import MpetError, NoPrediction, Unreachable, UsageError
from mpet.results import Comparison, Prediction, Ranking, UploadReport
from mpet.transport import Progress, Transport

UPLOAD_POLL_S = 1.0


def unpack_dump(content: bytes, folder: Path) -> None:
    """The files of the archive, which lie at its root, in a folder that has nothing else."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already, and is no empty folder")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            if any(PurePosixPath(name).name != name or "\\" in name for name in names):
                raise MpetError("the dump has a member that is no plain file at its root")
            folder.mkdir(parents=True, exist_ok=True)
            for name in names:
                with archive.open(name) as source, (folder / name).open("wb") as file:
                    shutil.copyfileobj(source, file)
    except zipfile.BadZipFile as error:
        raise MpetError(f"the dump is no zip archive: {error}") from error


class Client:
    """One server. Without arguments: the server and the token of `mpet login`, or of MPET_SERVER and MPET_TOKEN.

    Errors are `MpetError`s: `NoPrediction` where too little was measured, `Refused` where the request is wrong,
    `NotAllowed`, `Unreachable`.
    """

    def __init__(self, server: Optional[str] = None, token: Optional[str] = None, **options: Any) -> None:
        self.server = chosen_server(server)
        self.transport = Transport(self.server, chosen_token(token, self.server), **options)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: Any) -> None:
        self.transport.close()

    def account(self) -> dict[str, Any]:
        """Whose token this is."""
        return self.transport.json("GET", "account/")

    def predict(
        self,
        workload: str,
        target: str,
        *,
        references: Optional[Sequence[str]] = None,
        method: Optional[str] = None,
        n: Optional[Sequence[int]] = None,
        **more: Any,
    ) -> Prediction:
        """How the workload will run on the target. `more`: further fields of `POST predictions/`, such as
        `workload_changes={"lock_delay": 0.5}` or `public_only=True`."""
        question = {"workload": workload, "target": target, "references": references, "method": method, "n": n, **more}
        body = {name: value for name, value in question.items() if value is not None}
        return Prediction(self.transport.json("POST", "predictions/", json=body))

    def what_if(self, workload: str, target: str, **changes: Any) -> Prediction:
        """The same with something changed, and not kept: `lock_delay=0.5`, `n_max=64`."""
        parameters = {"workload": workload, "target": target, **changes}
        return Prediction(self.transport.json("GET", "predictions/preview/", params=parameters))

    def rank(self, workload: str, *, progress: Optional[Progress] = None, **choice: Any) -> Ranking:
        """The workload on every platform, the fastest first. `choice`: parameters of `rankings/`, as `n=16`,
        `by="core_time"`, `min_cores=8`."""
        parameters = {"workload": workload, **choice}
        ranking = Ranking(self.transport.json("GET", "rankings/", progress, params=parameters))
        if not ranking.rows and ranking.document.get("advice"):
            raise NoPrediction("no platform has a place", ranking.document)
        return ranking

    def compare(
        self, kind: str, names: Sequence[str], *, progress: Optional[Progress] = None, **choice: Any
    ) -> Comparison:
        """Two to six `platforms` or `workloads` beside each other; of workloads `on="slug"` names the platform."""
        if kind not in ("platforms", "workloads"):
            raise UsageError(f"compare platforms or workloads, not {kind}")
        parameters = {"slugs": ",".join(names), **choice}
        return Comparison(self.transport.json("GET", f"compare/{kind}/", progress, params=parameters))

    def upload(
        self,
        path: Path,
        *,
        public: bool = False,
        licence: Optional[str] = None,
        wait: bool = True,
        progress: Optional[Progress] = None,
    ) -> UploadReport:
        """Send a file of results: yours alone, unless `public`. Waits until the server has read it."""
        fields = {"visibility": "public" if public else "private"}
        if licence:
            fields["licence"] = licence
        with Path(path).open("rb") as file:
            files = {"file": (Path(path).name, file)}
            report = UploadReport(self.transport.send("POST", "uploads/", data=fields, files=files).json())
        return self.follow(report, progress) if wait else report

    def upload_report(self, upload: str) -> UploadReport:
        return UploadReport(self.transport.json("GET", f"uploads/{upload}/"))

    def follow(self, report: UploadReport, progress: Optional[Progress] = None) -> UploadReport:
        """The report once the upload is accepted or rejected."""
        deadline = time.monotonic() + self.transport.patience_s
        while not report.is_done:
            if time.monotonic() > deadline:
                raise Unreachable(f"upload {report.id} is not done yet: mpet watch {report.id}")
            if progress is not None:
                progress(0, None)
            self.transport.sleep(UPLOAD_POLL_S)
            report = self.upload_report(report.id)
        return report

    def export(self, folder: Path, form: str = "csv") -> int:
        """Fetch the newest public dump into a folder that is empty or not there; its revision. The archive has to have
        the checksum that the server tells."""
        dump = self.transport.json("GET", "dump/")
        chosen = next((file for file in dump["files"] if file["format"] == form), None)
        if chosen is None:
            forms = ", ".join(file["format"] for file in dump["files"]) or "none yet"
            raise UsageError(f"the server has no dump as {form}; it has {forms}")
        content = self.transport.send("GET", f"dump/{form}/").content
        if hashlib.sha256(content).hexdigest() != chosen["sha256"]:
            raise MpetError("the dump did not arrive as it was sent, or a newer one has taken its place: ask again")
        unpack_dump(content, Path(folder))
        return int(dump["revision"])

    def kit(self) -> bytes:
        """The benchmark kit, as a tarball."""
        return self.transport.send("GET", "kit/").content
