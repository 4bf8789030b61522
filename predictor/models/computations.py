"""Long computations with their progress, shared by all users with the same question, and the stored rankings of earlier
uploads of a program."""

from __future__ import annotations

import json
import zlib
from functools import cached_property
from typing import Any, Self

from django.conf import settings
from django.db import models

from profiles.models import LeasedQuerySet, LeasedWork, Source


class ComputationQuerySet(LeasedQuerySet):
    def unfinished(self) -> Self:
        """Return the computations that wait or are under way."""
        return self.filter(status=Computation.Status.WAITING)

    def finished(self) -> Self:
        return self.exclude(status=Computation.Status.WAITING)


class Computation(LeasedWork):
    """A question of one viewer at one revision, with its partial or complete answer, if there is one.

    The process that computes it holds its lease. If that process is killed, another one continues from the stored
    answer.
    """

    class Status(models.TextChoices):
        WAITING = "waiting"  # or under way, if it has a lease
        DONE = "done"
        FAILED = "failed"

    kind = models.CharField(max_length=40)
    question = models.JSONField(help_text="in canonical form")
    question_key = models.CharField(max_length=64, help_text="sha256 of kind, question and viewer")
    revision = models.PositiveBigIntegerField()
    own_revision = models.PositiveBigIntegerField(default=0, help_text="revision of the viewer's private rows")
    private_to = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.WAITING)
    done = models.PositiveIntegerField(default=0, help_text="number of computed steps")
    total = models.PositiveIntegerField(default=0, help_text="number of steps; 0: unknown")
    packed = models.BinaryField(default=b"", help_text="answer so far, compressed JSON")
    size_bytes = models.PositiveIntegerField(default=0, help_text="size of packed")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = ComputationQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["question_key", "revision", "own_revision"], name="computation_once"),
        ]
        indexes = [models.Index(fields=["status", "lease_until"], name="computation_waiting")]

    def __str__(self) -> str:
        return f"{self.kind} at revision {self.revision}"

    @property
    def is_done(self) -> bool:
        return self.status == self.Status.DONE

    @property
    def has_failed(self) -> bool:
        return self.status == self.Status.FAILED

    @property
    def document(self) -> dict[str, Any] | None:
        """Return the answer so far; None if there is none, as before the first rows of a ranking."""
        return unpack_document(bytes(self.packed)) or None

    def earlier_answer(self) -> Computation | None:
        """Return the newest whole answer to the same question at an earlier revision."""
        same = Computation.objects.filter(question_key=self.question_key, status=self.Status.DONE).exclude(pk=self.pk)
        earlier: Computation | None = same.order_by("-revision", "-own_revision").first()
        return earlier


def pack_document(document: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(document, allow_nan=False, separators=(",", ":")).encode(), level=6)


def unpack_document(packed: bytes) -> dict[str, Any] | None:
    document: dict[str, Any] | None = json.loads(zlib.decompress(packed)) if packed else None
    return document


class StoredProgramAnswer(models.Model):
    """The ranking on the page of an uploaded program, without any choices.

    It follows the database until a later upload of the same program, and does not change after that.
    """

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="+")
    slug = models.SlugField(max_length=200)
    is_private = models.BooleanField(help_text="whether it uses the owner's private rows")
    revision = models.PositiveBigIntegerField()
    packed = models.BinaryField(help_text="ranking, compressed JSON")
    created_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "slug"], name="program_answer_once")]

    def __str__(self) -> str:
        return f"{self.slug} at revision {self.revision}"

    @cached_property
    def document(self) -> dict[str, Any]:
        return unpack_document(bytes(self.packed)) or {}
