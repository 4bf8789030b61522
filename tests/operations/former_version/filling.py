"""Script that fills a database of the former version and writes its responses (tests/operations/former_version)."""

# ruff: noqa: PLC0415
import gzip
import json
import os
import sqlite3
import sys
from pathlib import Path


def fill():
    """Store rows in as many tables as the former version's own tests fill, and return the owner's token."""
    from accounts.models import ApiToken, ConfirmedAddress
    from benchmarks.models import FetchedFolder
    from profiles.models import Platform, Profile, Source
    from profiles.moderation import actions as moderation
    from tests.browser.walk import pages_of
    from tests.pages import store_dataset, store_private, store_public, user

    owner = user("ada")
    owner.email = "ada@example.org"
    owner.save()
    ConfirmedAddress.objects.create(user=owner, email=owner.email)
    profile = store_public()[0]
    store_dataset()
    store_private(owner)
    pages_of(profile, owner)
    moderation.set_hidden(Source.objects.get(label="example-dataset"), True)
    moderation.mark_outlier(Profile.objects.filter(source__label="public.tar.gz").last(), "a backup ran")
    moderation.decide_facts(Platform.objects.get(name="machine-1"), {"vendor": "Maker"})
    FetchedFolder.objects.create(source=profile.source, public_source="sparecores", folder="a", sha256="d" * 64)
    return ApiToken.issue(owner, name="script")[1]


def addresses():
    from benchmarks.models import Upload
    from predictor.models import Evaluation, Prediction
    from profiles.models import Platform, Profile, Workload

    named = {"predictions": Prediction, "profiles": Profile, "uploads": Upload, "evaluations": Evaluation}
    found = [f"/api/v1/{name}/{row.uid}/" for name, model in named.items() for row in model.objects.all()]
    for name, model in {"platforms": Platform, "workloads": Workload}.items():
        found += [f"/api/v1/{name}/{row.slug}/" for row in model.objects.all()]
    return sorted(found)


def ask(token):
    """Request each address anonymously, or as the owner if that fails, and return the successful responses."""
    from django.test import Client

    found = {}
    for address in addresses():
        for who, headers in (("anybody", {}), ("owner", {"Authorization": f"Bearer {token}"})):
            response = Client(SERVER_NAME="localhost").get(address, headers=headers)
            if response.status_code == 200:
                found[address] = {"as": who, "document": response.json()}
                break
    return found


def session():
    from django.test import Client

    from tests.pages import PASSWORD

    client = Client(SERVER_NAME="localhost")
    assert client.login(username="ada", password=PASSWORD)
    return client.cookies["sessionid"].value


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "mpet_site.settings"
    sys.path.insert(0, str(Path.cwd()))
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    secret = fill()
    written = {"token": secret, "session": session(), "answers": ask(secret)}
    target = Path(sys.argv[1])
    (target / "answers.json.gz").write_bytes(gzip.compress(json.dumps(written).encode(), 9, mtime=0))
    dump = "\n".join(sqlite3.connect(Path(os.environ["MPET_STATE_DIR"]) / "mpet.sqlite3").iterdump())
    (target / "database.sql.gz").write_bytes(gzip.compress(dump.encode(), 9, mtime=0))
