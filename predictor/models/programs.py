"""The ranking that the page of an earlier upload of a program keeps when more is measured later."""

from __future__ import annotations

from typing import Any

from django.db import models

from predictor.models.computations import pack_document, unpack_document
from profiles.models import Source


class StoredProgramAnswer(models.Model):
    """What the page of a program of an upload says without any choice. It follows the database until a later upload of
    the same program comes, and stays from then on."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="+")
    slug = models.SlugField(max_length=200)
    is_private = models.BooleanField(help_text="it rests on the owner's private rows")
    revision = models.PositiveBigIntegerField()
    packed = models.BinaryField(help_text="the ranking: JSON, compressed")
    created_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "slug"], name="program_answer_once")]

    def __str__(self) -> str:
        return f"{self.slug} at revision {self.revision}"

    @property
    def document(self) -> dict[str, Any]:
        return unpack_document(bytes(self.packed)) or {}

    @classmethod
    def keep(cls, source: Source, slug: str, document: dict[str, Any]) -> None:
        values = {
            "revision": document["revision"],
            "packed": pack_document(document),
            "is_private": source.private_to_id is not None,
        }
        cls.objects.update_or_create(source=source, slug=slug, defaults=values)
