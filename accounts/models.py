"""API tokens, of which only the digest is stored."""

import hashlib
import secrets
from datetime import timedelta
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import ExpressionWrapper, Q
from django.utils import timezone

from mpet_site.web.invisible import INVISIBLE
from mpet_site.web.lock_waits import update_without_waiting

MARK = "mpet_"  # so that scanners for leaked secrets can tell what they found
PREFIX_LENGTH = len(MARK) + 7
LIFETIME = timedelta(days=365)
ROTATED_OUT_AFTER = timedelta(days=1)  # so that programs can be given the new one while they work with the old
USE_NOTED_EVERY = timedelta(minutes=10)  # a write per read would make every reader wait for SQLite's one writer


def digest_of(secret: str) -> str:
    """sha256; no salt and no slow hash, because the secret is 256 random bits and cannot be guessed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_valid_now() -> Q:
    unexpired = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    return unexpired & Q(revoked_at__isnull=True, user__is_active=True)


class ApiTokenQuerySet(models.QuerySet):
    def valid(self) -> Self:
        return self.filter(is_valid_now())

    def revoke(self) -> int:
        """Revoke those that are not revoked yet. Returns their number."""
        return self.filter(revoked_at__isnull=True).update(revoked_at=timezone.now())

    def listed_for(self, user: Any) -> Self:
        """The user's own, each with whether it can be used now (`valid`)."""
        valid = ExpressionWrapper(is_valid_now(), output_field=models.BooleanField())
        return self.filter(user_id=user.pk).annotate(valid=valid)


class ApiToken(models.Model):
    """One secret of one user. Only its digest is kept; the secret itself is shown once, when it is issued."""

    class Scope(models.TextChoices):
        PREDICT = "predict", "read what is private to the user, and predict"
        UPLOAD = "upload", "all of predict, and upload"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100, blank=True)
    prefix = models.CharField(max_length=20, editable=False, help_text="the beginning of the secret, to tell it by")
    digest = models.CharField(max_length=64, unique=True, editable=False, help_text="sha256 of the secret")
    scope = models.CharField(max_length=10, choices=Scope, default=Scope.PREDICT)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_from = models.CharField(
        max_length=45, blank=True, db_default="", editable=False, help_text="the address of the client"
    )
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.prefix}… of {self.user}"

    @classmethod
    def issue(
        cls, user: Any, scope: str = Scope.PREDICT, *, name: str = "", lifetime: timedelta | None = LIFETIME
    ) -> tuple["ApiToken", str]:
        """A new token and its secret, which nobody can read again; `lifetime` None: until it is revoked."""
        secret = MARK + secrets.token_urlsafe(32)
        token = cls.objects.create(
            user=user,
            name=INVISIBLE.sub("", name),
            prefix=secret[:PREFIX_LENGTH],
            digest=digest_of(secret),
            scope=scope,
            expires_at=None if lifetime is None else timezone.now() + lifetime,
        )
        return token, secret

    def rotate(self) -> tuple["ApiToken", str]:
        """A new token of the same name, scope and lifetime; this one ends within a day."""
        lifetime = None if self.expires_at is None else self.expires_at - self.created_at
        successor = self.issue(self.user, self.scope, name=self.name, lifetime=lifetime)
        end = timezone.now() + ROTATED_OUT_AFTER
        if self.expires_at is None or self.expires_at > end:
            self.expires_at = end
            self.save(update_fields=["expires_at"])
        return successor

    def allows(self, scope: str) -> bool:
        return self.scope in {scope, self.Scope.UPLOAD}

    def note_use(self, address: str) -> None:
        """By a client of this address, where the database can be written at once. Another address is noted at once, as
        it may be somebody else's."""
        now = timezone.now()
        if address == self.last_used_from and self.last_used_at and now - self.last_used_at < USE_NOTED_EVERY:
            return
        rows, lost = type(self).objects.filter(pk=self.pk), f"the use of token {self.prefix} is not noted"
        update_without_waiting(rows, lost, last_used_at=now, last_used_from=address)


class DeviceLoginQuerySet(models.QuerySet):
    def unended(self) -> Self:
        return self.filter(expires_at__gt=timezone.now())


class DeviceLogin(models.Model):
    """A program that waits for somebody to sign it in by the browser (accounts.device_logins)."""

    class Answer(models.TextChoices):
        AGREED = "agreed"
        DENIED = "denied"

    digest = models.CharField(max_length=64, unique=True, help_text="sha256 of the device code")
    code = models.CharField(max_length=8, unique=True, help_text="what is typed on the page")
    program = models.CharField(max_length=100, help_text="what it calls itself; the token gets this name")
    address = models.CharField(max_length=45, help_text="from which it asks")
    answer = models.CharField(max_length=6, choices=Answer, blank=True, default="")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    objects = DeviceLoginQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.program} from {self.address}"


class ConfirmedAddress(models.Model):
    """What the version before django-allauth reads, so that both serve one database while one takes over from the
    other. Nothing here reads it; the version after this one drops it."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="confirmed_address")
    email = models.EmailField()
    confirmed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.email
