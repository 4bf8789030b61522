"""How the API writes an account and its tokens."""

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
            "last_used_from",
            "revoked_at",
            "valid",
        )
        read_only_fields = fields


class AccountSerializer(serializers.Serializer):
    username = serializers.CharField()
    email = serializers.CharField(help_text="empty: none was given")
    joined_at = serializers.DateTimeField()
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="how many of what is kept")
