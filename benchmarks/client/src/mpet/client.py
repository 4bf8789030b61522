"""The API as Python methods. The command `mpet` can do nothing that these methods cannot."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import Any, Optional
from urllib.parse import urlsplit

from mpet.changes import LEAST_CHANGE, Changes, MeasuredRegion, compare_regions, match_regions, read_region
from mpet.config import chosen_server, chosen_token
from mpet.errors import (
    KitFailed,
    MpetError,
    NoPrediction,
    NotAllowed,
    NothingToCompare,
    Refused,
    Unreachable,
    UsageError,
)
from mpet.kit import KIT_WORKLOAD, can_build
from mpet.results import FINISHED, Comparison, ForeignFile, Prediction, Ranking, UploadPreview, UploadReport
from mpet.transport import LOGIN_ADVICE, Progress, Transport, document_of

UPLOAD_POLL_S = 1.0
MOST_BASES = 20  # uploads of a branch that are searched for the base


def unpack_dump(content: bytes, folder: Path) -> None:
    """Unpack the files of a dump, which are at the root of the archive, into a new or empty folder."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            if any(PurePosixPath(name).name != name or "\\" in name for name in names):
                raise MpetError("the dump has a member that is not a plain file at its root")
            folder.mkdir(parents=True, exist_ok=True)
            for name in names:
                with archive.open(name) as source, (folder / name).open("wb") as file:
                    shutil.copyfileobj(source, file)
    except zipfile.BadZipFile as error:
        raise MpetError(f"the dump is not a zip archive: {error}") from error


class Client:
    """A client of one server. By default, the server and the token are those of MPET_SERVER and MPET_TOKEN, or of `mpet
    login`.

    All errors are `MpetError`s: `NoPrediction` if too little was measured, `Refused` if the request is wrong,
    `NotAllowed` if the token is missing or insufficient, and `Unreachable` if the server does not answer.
    """

    def __init__(self, server: Optional[str] = None, token: Optional[str] = None, **options: Any) -> None:
        self.server = chosen_server(server)
        self.transport = Transport(self.server, chosen_token(token, self.server), **options)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: Any) -> None:
        self.transport.http.close()

    @property
    def has_token(self) -> bool:
        return "Authorization" in self.transport.http.headers

    def account(self) -> dict[str, Any]:
        """Return the account to which the token belongs."""
        return self.transport.json("GET", "account/")

    def require_upload_scope(self) -> None:
        """Raise NotAllowed, as an upload would, if the token is invalid or does not have the scope `upload`. The server
        lists tokens by the first characters of their secrets, which are compared here, so that no secret is part of an
        address."""
        secret = self.transport.http.headers["Authorization"].removeprefix("Bearer ")
        tokens = self.transport.json("GET", "tokens/", params={"page_size": 500})["results"]
        scopes = {row["scope"] for row in tokens if secret.startswith(row["prefix"])}
        if scopes and "upload" not in scopes:
            scope = scopes.pop()
            raise NotAllowed(f"The token's scope is '{scope}'; this request needs 'upload'. {LOGIN_ADVICE}")

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
        """Predict the workload on the target. `more` are further fields of `POST predictions/`, such as
        `workload_changes={"lock_delay": 0.5}` or `public_only=True`."""
        question = {"workload": workload, "target": target, "references": references, "method": method, "n": n, **more}
        body = {name: value for name, value in question.items() if value is not None}
        return Prediction(self.transport.json("POST", "predictions/", json=body))

    def why(self, prediction: Prediction) -> dict[str, Any]:
        """Return what limits the workload on the target, and the sources of a saved prediction. This takes longer than
        the prediction."""
        uid = prediction.document.get("id")
        if uid is None:
            raise UsageError("the prediction is not saved, so its reasons cannot be fetched; predict with explain=True")
        return self.transport.json("GET", f"predictions/{uid}/why/")

    def what_if(self, workload: str, target: str, **changes: Any) -> Prediction:
        """Predict with changes, such as `lock_delay=0.5` or `n_max=64`. The prediction is not saved. With
        `measured=True`, the times measured on the target are changed instead of a prediction."""
        parameters = {"workload": workload, "target": target, **changes}
        return Prediction(self.transport.json("GET", "predictions/preview/", params=parameters))

    def advise(self, workload: str, target: str, **more: Any) -> dict[str, Any]:
        """Return the recommended number of threads for the workload on the target, as the document of `GET advice/`.
        `more` are its further parameters, such as `include_simulated=True`."""
        return self.transport.json("GET", "advice/", params={"workload": workload, "target": target, **more})

    def rank(self, workload: str, *, progress: Optional[Progress] = None, **choice: Any) -> Ranking:
        """Rank all platforms for the workload, the fastest first. `choice` are parameters of `rankings/`, such as
        `n=16`, `by="core_time"` or `min_cores=8`. Raise NoPrediction if no platform can be ranked."""
        parameters = {"workload": workload, **choice}
        return self._ranking("rankings/", parameters, choice, progress)

    def _ranking(
        self, address: str, parameters: Mapping[str, Any], choice: Mapping[str, Any], progress: Optional[Progress]
    ) -> Ranking:
        ranking = Ranking(self.transport.json("GET", address, progress, params=parameters))
        has_budget = bool({"max_price", "max_cost"} & {*choice})
        if not ranking.rows and (ranking.refusals or has_budget):
            budget = ["only machines with a known price can meet a budget"] * has_budget
            reasons = ["no machine can be ranked", *budget, *ranking.refusals]
            raise NoPrediction("\n  ".join(reasons), ranking.document)
        return ranking

    def compare(
        self, kind: str, names: Sequence[str], *, progress: Optional[Progress] = None, **choice: Any
    ) -> Comparison:
        """Compare two to six `platforms` or `workloads`. For workloads, `on="slug"` names the platform."""
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
        commit: Optional[str] = None,
        branch: Optional[str] = None,
        foreign: Optional[ForeignFile] = None,
        wait: bool = True,
        progress: Optional[Progress] = None,
    ) -> UploadReport:
        """Upload a results tarball, or a file of another tool (`foreign`). The upload is private unless `public` is
        true. `commit` and `branch` of the measured program are never public. Wait until the server has read the upload,
        unless `wait` is false."""
        given = {"licence": licence, "commit": commit, "branch": branch}
        fields = {"visibility": "public" if public else "private"} | (foreign.fields() if foreign else {})
        fields |= {name: value for name, value in given.items() if value}
        report = UploadReport(self._send_file("uploads/", path, fields))
        return self.follow(report, progress) if wait else report

    def upload_anonymously(self, path: Path, progress: Optional[Progress] = None) -> dict[str, Any]:
        """Upload a results tarball without an account, and wait until the server has read it. `page` in the returned
        document is the secret link to the report with predictions. Raise Refused with the reasons if the results are
        rejected."""
        document = self._send_file("quarantine/", path, {})
        too_late = f"the server has not read the upload yet: {document['page']}"
        document = self._wait_for_upload(document, document["url"], too_late, progress)
        if document["status"] == "rejected":
            reasons = [str(error.get("reason")) for error in document["report"]["errors"]]
            raise Refused("\n  ".join(["the results were rejected", *reasons]), document)
        return document

    def knows_machine(self, platform: Mapping[str, Any]) -> bool:
        """Return whether the server has results of the kit on this machine. A fingerprint identifies the hardware of
        your own uploads, independently of their names. A machine without a fingerprint is identified by processor,
        threads and name."""
        fingerprint = platform.get("fingerprint")
        named = {"search": platform["name"], "cpu_model": platform["cpu_model"]}
        parameters = {"page_size": 500, **({"fingerprint": fingerprint} if fingerprint else named)}
        return any(
            self.transport.json(
                "GET", "profiles/", params={"platform": row["slug"], "search": KIT_WORKLOAD, "page_size": 1}
            )["results"]
            for row in self.transport.json("GET", "platforms/", params=parameters)["results"]
            if fingerprint or (row["name"] == platform["name"] and row["threads"] == platform["threads"])
        )

    def page_of_upload(self, upload: UploadReport) -> tuple[str, str]:
        """Return the name and the address of the page of the uploaded program, or of its workload if it has one
        part."""
        if upload.programs:
            return str(upload.programs[0]["name"]), str(upload.programs[0]["url"])
        profile = self.transport.json("GET", f"profiles/{upload.profiles[0]}/")
        return str(profile["workload"]), f"{self.server}/workloads/{profile['workload']}/"

    def rank_page(self, page: str, progress: Optional[Progress] = None, **choice: Any) -> Ranking:
        """Return the ranking on the page of a program or workload: all platforms, the fastest first. `choice` is that
        of `rank`."""
        kind, *names = [part for part in urlsplit(page).path.split("/") if part][-3 if "/programs/" in page else -2 :]
        if kind == "programs":
            return self._ranking(f"programs/{'/'.join(names)}/", choice, choice, progress)
        return self.rank(names[0], progress=progress, **choice)

    def preview(self, path: Path, foreign: Optional[ForeignFile] = None) -> UploadPreview:
        """Return what the server would store of a file. The server stores nothing."""
        fields = {"preview": "true"} | (foreign.fields() if foreign else {})
        return UploadPreview(self._send_file("uploads/", path, fields))

    def _send_file(self, address: str, path: Path, fields: dict[str, str]) -> dict[str, Any]:
        with Path(path).open("rb") as file:
            files = {"file": (Path(path).name, file)}
            return dict(document_of(self.transport.send("POST", address, data=fields, files=files)))

    def upload_report(self, upload: str) -> UploadReport:
        return UploadReport(self.transport.json("GET", f"uploads/{upload}/"))

    def follow(self, report: UploadReport, progress: Optional[Progress] = None) -> UploadReport:
        """Wait until the upload is accepted or rejected, and return its report."""
        too_late = f"upload {report.id} is not finished yet; wait with: mpet watch {report.id}"
        return UploadReport(self._wait_for_upload(report.document, f"uploads/{report.id}/", too_late, progress))

    def _wait_for_upload(
        self, document: dict[str, Any], address: str, too_late: str, progress: Optional[Progress]
    ) -> dict[str, Any]:
        deadline = time.monotonic() + self.transport.patience_s
        while document["status"] not in FINISHED:
            if time.monotonic() > deadline:
                raise Unreachable(too_late)
            if progress is not None:
                progress(0, None)
            self.transport.sleep(UPLOAD_POLL_S)
            document = self.transport.json("GET", address)
        return document

    def regions(self, upload: UploadReport) -> list[MeasuredRegion]:
        """Return the runs of every workload of an upload."""
        texts = (self.transport.send("GET", f"profiles/{profile}/runs/").text for profile in upload.profiles)
        return [region for text in texts if (region := read_region(text)) is not None]

    def changes(
        self, head: str, base: Optional[str] = None, *, base_branch: Optional[str] = None, least: float = LEAST_CHANGE
    ) -> Changes:
        """Compare t(n) and the parts of an upload's regions with another upload: `base`, or the newest earlier upload
        of `base_branch` that was measured on the same machine. Raise NothingToCompare if there is none, or if the
        uploads are from two machines."""
        if (base is None) == (base_branch is None):
            raise UsageError("give either the upload to compare with or its branch, not both")
        after = self.upload_report(head)
        regions = self.regions(after)
        if base is None:
            before, former = self._newest_of_branch(str(base_branch), after, regions)
        else:
            before = self.upload_report(base)
            former = self.regions(before)
            machines = self._machine_of(before), self._machine_of(after)
            if machines[0] != machines[1]:
                raise NothingToCompare(f"the uploads are from different machines: {machines[0]} and {machines[1]}")
        changed, gone, new = compare_regions(former, regions, least)
        if not changed:
            raise NothingToCompare("the two uploads have no region in common")
        labels = {name: label for program in after.programs for name, label in (program.get("labels") or {}).items()}
        named = [replace(region, label=labels.get(region.head_name, "")) for region in changed]
        return Changes(before.document, after.document, named, gone, new, least)

    def _machine_of(self, upload: UploadReport) -> Optional[str]:
        if not upload.profiles:
            return None
        return str(self.transport.json("GET", f"profiles/{upload.profiles[0]}/")["platform"])

    def _newest_of_branch(
        self, branch: str, after: UploadReport, regions: list[MeasuredRegion]
    ) -> tuple[UploadReport, list[MeasuredRegion]]:
        parameters = {"branch": branch, "status": "accepted", "ordering": "-created_at", "page_size": MOST_BASES}
        rows = self.transport.json("GET", "uploads/", params=parameters)["results"]
        machine, elsewhere = self._machine_of(after), set()
        for row in rows:
            if row["id"] == after.id or row["created_at"] > after.document["created_at"]:
                continue
            before = self.upload_report(row["id"])
            former = self.regions(before)
            if not match_regions(former, regions):
                continue
            place = self._machine_of(before)
            if place == machine:
                return before, former
            elsewhere.add(str(place))
        where = f", only on {', '.join(sorted(elsewhere))}" if elsewhere else ""
        raise NothingToCompare(f"branch {branch} was not measured on {machine} before{where}")

    def export(self, folder: Path, form: str = "csv") -> int:
        """Download the newest public dump into a new or empty folder, and return its revision. Raise MpetError if the
        archive does not have the checksum that the server announces."""
        folder = Path(folder)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} already exists and is not an empty folder")
        dump = self.transport.json("GET", "dump/")
        chosen = next((file for file in dump["files"] if file["format"] == form), None)
        if chosen is None:
            forms = ", ".join(file["format"] for file in dump["files"]) or "none yet"
            raise UsageError(f"the server has no dump in the format {form}; it has {forms}")
        content = self.transport.send("GET", f"dump/{form}/").content
        if hashlib.sha256(content).hexdigest() != chosen["sha256"]:
            raise MpetError("the checksum of the dump differs: it was damaged, or replaced meanwhile; run export again")
        unpack_dump(content, folder)
        return int(dump["revision"])

    def kit(self) -> bytes:
        """Return the benchmark kit as a tarball: its sources, or its built programs if the sources cannot be built
        here."""
        if can_build():
            return self.transport.send("GET", "kit/").content
        architecture = os.uname().machine
        try:
            return self.transport.send("GET", f"kit/{architecture}/").content
        except Refused as error:
            if error.problem.get("status") != HTTPStatus.NOT_FOUND:
                raise
            message = f"the kit needs make and g++: the server has no compiled kit for {architecture}"
            raise KitFailed(message) from error
