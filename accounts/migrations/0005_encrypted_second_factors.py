"""Secrets of second factors are encrypted (accounts/second_factors.py); backwards they are plain again."""

from django.db import migrations

from accounts.second_factors import SECRET_NAMES, SecondFactorAdapter, encrypted_anew


def encrypt_secrets(apps, schema_editor):
    rewrite(apps, encrypted_anew)


def decrypt_secrets(apps, schema_editor):
    adapter = SecondFactorAdapter()
    rewrite(apps, lambda data: data | {name: adapter.decrypt(data[name]) for name in SECRET_NAMES if name in data})


def rewrite(apps, change):
    for row in apps.get_model("mfa", "Authenticator").objects.iterator():
        row.data = change(row.data)
        row.save(update_fields=["data"])


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0004_allauth_addresses"),
        ("mfa", "0003_authenticator_type_uniq"),
    ]

    operations = [
        migrations.RunPython(encrypt_secrets, decrypt_secrets),
    ]
