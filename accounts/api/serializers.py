"""How the API writes a token."""

from rest_framework import serializers

from accounts.models import ApiToken


class TokenSerializer(serializers.ModelSerializer):
    """What the page of one's tokens shows. The secret is kept nowhere."""

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
            "revoked_at",
            "valid",
        )
        read_only_fields = fields
