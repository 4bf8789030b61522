"""Hashes of the responses of all pages and API paths, in the installation of the environment.

    python -m tests.operations.answers fill FILE     stores sample data, and writes the addresses into FILE
    python -m tests.operations.answers ask FILE      requests the addresses of FILE; fails if a migration is missing

Both print {"user address": [status, sha256]} as JSON. Pages that need an account are requested as the owner, other
pages anonymously, and API documents in both ways.
"""

import hashlib
import json
import os
import re
import sys
from pathlib import Path

OWNER, ANYBODY = "ada", "anybody"
PASSING = re.compile(rb'name="csrfmiddlewaretoken" value="\w+"|"(csrfmiddlewaretoken|request_id)": ?"\w+"')
# These depend on the time: the archive has the time of packing, and the list of sessions the time since the login.
NOT_COMPARED = {"/accounts/export/", "/accounts/sessions/"}


def fill(addresses: Path) -> None:
    from predictor.models import Prediction  # noqa: PLC0415
    from tests.browser.walk import pages_of  # noqa: PLC0415
    from tests.pages import store_dataset, store_private, store_public, user  # noqa: PLC0415

    owner = user(OWNER)
    profile = store_public()[0]
    store_dataset()
    store_private(owner)
    walk = pages_of(profile, owner)
    asked = {(address, OWNER if is_own else ANYBODY) for _, address, is_own in walk.everywhere()}
    names = ("platforms", "workloads", "profiles", "uploads", "tokens", "evaluations")
    documents = {f"/api/v1/{name}/" for name in names}
    documents |= {f"/api/v1/predictions/{uid}/" for uid in Prediction.objects.values_list("uid", flat=True)}
    asked |= {(address, who) for address in documents for who in (OWNER, ANYBODY)}
    addresses.write_text(json.dumps(sorted(pair for pair in asked if pair[0] not in NOT_COMPARED)))


def answers(addresses: list[tuple[str, str]]) -> dict[str, list]:
    from django.contrib.auth.models import User  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415

    clients = {ANYBODY: Client(), OWNER: Client()}
    clients[OWNER].force_login(User.objects.get(username=OWNER))
    found = {}
    for address, who in addresses:
        response = clients[who].get(address)
        content = PASSING.sub(b"", response.getvalue())
        found[f"{who} {address}"] = [response.status_code, hashlib.sha256(content).hexdigest()]
    return found


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "mpet_site.settings_test"
    import django.core.management

    django.setup()
    command, file = sys.argv[1], Path(sys.argv[2])
    if command == "fill":
        fill(file)
    else:
        django.core.management.call_command("migrate", "--check")  # fails if a migration is missing
    print(json.dumps(answers(json.loads(file.read_text()))))
