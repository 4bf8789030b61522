"""My prices: uploaded, shown, replaced, deleted, taken along, and seen by their user alone."""

import io
import tarfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.user_data import close_account, user_data_counts
from profiles.models import OwnPrice, OwnPriceList, Platform, Price
from tests.pages import text_of, twin_of, user
from tests.profiles.deliveries import deliver, measured
from tests.samples import sample_platform

pytestmark = pytest.mark.django_db
HEADER = "platform,amount,currency,per,region,kind,source,date"
LINE = "aws/c7g.large,0.05,USD,hour,us-east-1,on-demand,contract 7,2026-01-31"
ADDRESS = "/prices/mine/"


@pytest.fixture(autouse=True)
def platforms():
    deliver(measured([sample_platform(name="aws/c7g.large"), sample_platform(name="aws/c7g.xlarge")]))


@pytest.fixture
def ada(client, ada):
    client.force_login(ada)
    return ada


def table(*lines):
    return SimpleUploadedFile("prices.csv", "\n".join((HEADER, *lines, "")).encode())


def test_a_list_is_uploaded_shown_replaced_and_deleted(client, ada):
    assert "You have no price list." in text_of(client.get(ADDRESS))
    done = client.post(ADDRESS, {"factor": "0.7", "table": table(LINE)}, follow=True)
    assert "Your list has 1 price now." in text_of(done)
    assert "0.05 USD per hour" in text_of(done)
    assert 'value="0.7"' in done.content.decode()
    client.post(ADDRESS, {"factor": "1", "table": table(LINE.replace("0.05", "0.04"), LINE.replace("c7g.l", "c7g.xl"))})
    assert sorted(str(price.amount.normalize()) for price in OwnPrice.objects.all()) == ["0.04", "0.05"]
    assert client.get("/prices/mine/prices.csv").content.decode().splitlines()[0] == HEADER
    document = client.get(twin_of(client.get(ADDRESS))).json()
    assert (document["factor"], len(document["prices"])) == ("1.0000", 2)
    assert {row["basis"] for row in document["prices"]} == {"own"}
    assert client.get("/prices/mine/delete/").status_code == 200
    client.post("/prices/mine/delete/")
    assert not OwnPriceList.objects.exists() and not OwnPrice.objects.exists()
    assert not Price.objects.exists()


@pytest.mark.parametrize("factor", ["0", "-1", "many", "1000", ""])
def test_a_factor_out_of_bounds_is_refused(factor, client, ada):
    assert client.post(ADDRESS, {"factor": factor}).status_code == 422
    assert not OwnPriceList.objects.exists()


def test_a_factor_alone_and_a_bad_table_keep_the_list(client, ada):
    client.post(ADDRESS, {"factor": "1", "table": table(LINE)})
    client.post(ADDRESS, {"factor": "0.5"})
    refused = client.post(ADDRESS, {"factor": "0.3", "table": table("nowhere,1,USD,hour,,spot,x,2026-01-01", "a,b")})
    assert refused.status_code == 422
    assert "line 2: &#x27;nowhere&#x27; is not the slug or unique name of a machine" in refused.content.decode()
    assert "line 3: the number of cells differs" in text_of(refused)
    own_list = OwnPriceList.objects.get(user=ada)
    assert (own_list.factor, own_list.prices.count()) == (0.5, 1)


def test_a_private_machine_can_be_priced_by_its_owner_alone(client, ada):
    deliver(measured([sample_platform(name="secret")]), owner=ada, private=True)
    line = LINE.replace("aws/c7g.large", "secret")
    client.post(ADDRESS, {"factor": "1", "table": table(line)})
    assert "0.05 USD per hour" in text_of(client.get(f"/platforms/{Platform.objects.get(name='secret').slug}/"))
    client.force_login(user("bob"))
    assert client.post(ADDRESS, {"factor": "1", "table": table(line)}).status_code == 422


def test_nobody_else_sees_or_changes_them(client, ada):
    client.post(ADDRESS, {"factor": "1", "table": table(LINE)})
    visitor, bob = Client(), Client()
    bob.force_login(user("bob"))
    for other in (visitor, bob):
        other.post("/prices/mine/delete/")
        for address in (ADDRESS, "/api/v1/prices/", "/api/v1/prices/mine/", "/platforms/aws-c7g-large/"):
            assert "contract 7" not in other.get(address, follow=True).content.decode()
    assert visitor.get("/api/v1/prices/mine/").status_code in (401, 403)
    assert OwnPrice.objects.count() == 1
    assert "contract 7" in client.get("/platforms/aws-c7g-large/").content.decode()
    assert client.get(ADDRESS)["Cache-Control"].startswith("max-age=0")


def test_they_are_counted_exported_and_deleted_with_the_account(client, ada):
    client.post(ADDRESS, {"factor": "0.7", "table": table(LINE)})
    assert user_data_counts(ada)["own prices"] == 1
    assert "Own prices" in text_of(client.get("/accounts/me/"))
    with tarfile.open(fileobj=io.BytesIO(client.get("/accounts/export/").getvalue())) as archive:
        assert LINE in archive.extractfile("prices/prices.csv").read().decode().replace("0.05000000", "0.05")
        assert b'"0.7000"' in archive.extractfile("prices/factor.json").read()
    close_account(ada, keep_public=True)
    assert not OwnPriceList.objects.exists() and not OwnPrice.objects.exists()
