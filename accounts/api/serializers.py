"""Serializers of accounts and API tokens."""

from rest_framework import serializers

from accounts.models import ApiToken
from mpet_site.web.fields import KnownFieldsSerializer, PlainText


class TokenSerializer(serializers.ModelSerializer):
    """An API token without its secret, which is not stored."""

    valid = serializers.BooleanField(read_only=True)

    class Meta:
        model = ApiToken
        fields: tuple[str, ...] = (
            "prefix",
            "name",
            "scope",
            "created_at",
            "expires_at",
            "last_used_at",
            "last_used_from",
            "revoked_at",
            "valid",
        )
        read_only_fields = fields


class LoginRequestSerializer(KnownFieldsSerializer):
    """A request to sign in a program. `program` is the name that the page shows to the person before they agree."""

    program = PlainText(max_length=100)


class BegunLoginSerializer(serializers.Serializer):
    device_code = serializers.CharField(
        help_text="Secret code that the program keeps, and sends only in request bodies."
    )
    code = serializers.CharField(help_text="Code that the person enters on the page.")
    url = serializers.URLField(help_text="URL of the page.")
    expires_in = serializers.IntegerField(help_text="Seconds until both codes expire.")
    interval = serializers.IntegerField(help_text="Seconds to wait between two requests.")


class DeviceCodeSerializer(KnownFieldsSerializer):
    device_code = PlainText(max_length=100)


class HandedOutTokenSerializer(serializers.Serializer):
    token = serializers.CharField(
        allow_null=True,
        help_text="Secret of the token, returned once. Null until the person has answered: repeat the request.",
    )
    username = serializers.CharField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)


class AccountSerializer(serializers.Serializer):
    username = serializers.CharField()
    email = serializers.CharField(help_text="Email address; empty if none was given.")
    joined_at = serializers.DateTimeField()
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="Number of stored objects per kind.")
