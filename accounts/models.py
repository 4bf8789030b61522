"""API tokens, stored as digests only, and logins of programs by the browser."""

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

MARK = "mpet_"  # lets scanners for leaked secrets recognise our tokens
PREFIX_LENGTH = len(MARK) + 7
LIFETIME = timedelta(days=365)
ROTATED_OUT_AFTER = timedelta(days=1)  # programs can use the old token until they are given the new one
# A write for every request would make every reader wait for SQLite's only writer.
USE_NOTED_EVERY = timedelta(minutes=10)


def digest_of(secret: str) -> str:
    """Return the SHA-256 digest. The secret is 256 random bits, so it needs neither a salt nor a slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_valid_now() -> Q:
    unexpired = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    return unexpired & Q(revoked_at__isnull=True, user__is_active=True)


class ApiTokenQuerySet(models.QuerySet):
    def valid(self) -> Self:
        return self.filter(is_valid_now())

    def revoke(self) -> int:
        """Revoke the tokens that are not revoked yet. Return their number."""
        return self.filter(revoked_at__isnull=True).update(revoked_at=timezone.now())

    def listed_for(self, user: Any) -> Self:
        """Return the user's tokens, annotated with whether each is `valid` now."""
        valid = ExpressionWrapper(is_valid_now(), output_field=models.BooleanField())
        return self.filter(user_id=user.pk).annotate(valid=valid)


class ApiToken(models.Model):
    """A token of a user. Only the digest of its secret is stored; the secret is shown once, when the token is
    issued."""

    class Scope(models.TextChoices):
        PREDICT = "predict", "read what is private to the user, and predict"
        UPLOAD = "upload", "all that predict allows, and upload"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100, blank=True)
    prefix = models.CharField(
        max_length=20, editable=False, help_text="first characters of the secret, to recognise it"
    )
    digest = models.CharField(max_length=64, unique=True, editable=False, help_text="sha256 of the secret")
    scope = models.CharField(max_length=10, choices=Scope, default=Scope.PREDICT)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_from = models.CharField(
        max_length=45, blank=True, db_default="", editable=False, help_text="address of the client"
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
        """Return a new token and its secret, which cannot be read again. `lifetime` is None for a token without an
        end."""
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
        """Return a new token with the same name, scope and lifetime, and let this one expire within a day."""
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
        """Store the time and client address of a use, if the database can be written at once.

        A new address is stored at once, because the client may be another person.
        """
        now = timezone.now()
        if address == self.last_used_from and self.last_used_at and now - self.last_used_at < USE_NOTED_EVERY:
            return
        rows, lost = type(self).objects.filter(pk=self.pk), f"the use of token {self.prefix} is not stored"
        update_without_waiting(rows, lost, last_used_at=now, last_used_from=address)


class DeviceLoginQuerySet(models.QuerySet):
    def unended(self) -> Self:
        return self.filter(expires_at__gt=timezone.now())


class DeviceLogin(models.Model):
    """A login of a program by the browser (accounts.device_logins)."""

    class Answer(models.TextChoices):
        AGREED = "agreed"
        DENIED = "denied"

    digest = models.CharField(max_length=64, unique=True, help_text="sha256 of the device code")
    code = models.CharField(max_length=8, unique=True, help_text="code that the user enters on the page")
    program = models.CharField(max_length=100, help_text="name that the program gives; it becomes the token's name")
    address = models.CharField(max_length=45, help_text="address of the program")
    answer = models.CharField(max_length=6, choices=Answer, blank=True, default="")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    objects = DeviceLoginQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.program} from {self.address}"


class ConfirmedAddress(models.Model):
    """A confirmed address for the version before django-allauth, while both versions serve one database during an
    upgrade.

    This version does not read it, and the next one drops the table.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="confirmed_address")
    email = models.EmailField()
    confirmed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.email
