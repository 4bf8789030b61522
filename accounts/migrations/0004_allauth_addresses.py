"""Copy confirmed mail addresses to django-allauth's table of addresses, as verified ones."""

from django.conf import settings
from django.db import migrations
from django.db.models import F


def take_addresses(apps, schema_editor):
    """Copy the addresses. If several accounts confirmed one address, only the account that was used last keeps it
    verified."""
    EmailAddress = apps.get_model("account", "EmailAddress")
    confirmed = dict(apps.get_model("accounts", "ConfirmedAddress").objects.values_list("user", "email"))
    known = set(EmailAddress.objects.values_list("user", flat=True))
    users = apps.get_model(settings.AUTH_USER_MODEL).objects.exclude(email="").exclude(pk__in=known)
    verified = set(EmailAddress.objects.filter(verified=True).values_list("email", flat=True))
    addresses = []
    for key, email in users.order_by(F("last_login").desc(nulls_last=True), "pk").values_list("pk", "email"):
        address = EmailAddress(user_id=key, email=email.lower(), verified=False, primary=True)
        if confirmed.get(key, "").lower() == address.email and address.email not in verified:
            address.verified = True
            verified.add(address.email)
        addresses.append(address)
    EmailAddress.objects.bulk_create(addresses, batch_size=500)


def give_addresses_back(apps, schema_editor):
    verified = apps.get_model("account", "EmailAddress").objects.filter(verified=True, primary=True)
    ConfirmedAddress = apps.get_model("accounts", "ConfirmedAddress")
    for user, email in verified.values_list("user", "user__email"):
        ConfirmedAddress.objects.update_or_create(user_id=user, defaults={"email": email})


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0003_token_addresses"),
        ("account", "0009_emailaddress_unique_primary_email"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunPython(take_addresses, give_addresses_back),
    ]
