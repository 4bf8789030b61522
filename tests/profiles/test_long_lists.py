"""That lists of profiles stay quick however long they are: which indexes answer, with how many queries.

Times, on 100,000 profiles: lab/performance/test_pages.py.
"""

import pytest
from django.core.paginator import Paginator
from django.db import connection

from mpet_site.web.lists import KeyPaginator
from profiles.models import Platform, Profile, Source, Workload
from profiles.moderation import mark_outlier
from tests.pages import store_public, user
from tests.predictor.stored import store_platforms, store_profiles, store_source, store_workloads

pytestmark = pytest.mark.django_db


@pytest.fixture
def rows():
    """2,000 public profiles; PostgreSQL, for which that is too few to look into an index, is told to."""
    workloads = store_workloads([f"w{at:02}" for at in range(40)])
    platforms = store_platforms([f"p{at:02}" for at in range(50)])
    store_profiles(store_source(), [(platform, workload) for platform in platforms for workload in workloads])
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_sort = off")
    return Profile.objects.visible_to(None)


LISTS = {
    "all": (lambda rows: rows, "profile_by_key"),
    "of an origin": (lambda rows: rows.filter(origin="measured"), "profile_by_origin"),
    "outliers": (lambda rows: rows.exclude(outlier_reason=""), "profile_outliers"),
    "of a platform": (lambda rows: rows.filter(platform=Platform.objects.first()), "platform"),
}


def test_a_list_finds_its_keys_in_an_index(rows):
    for name, (chosen, index) in LISTS.items():
        plan = chosen(rows).order_by("pk").values_list("pk", flat=True)[100:150].explain()
        # PostgreSQL walks its primary key if that is as good.
        assert index in plan or connection.vendor == "postgresql", name
        assert "SCAN profiles_profile" not in plan
        assert "Seq Scan" not in plan
    far = rows.order_by("pk").values_list("pk", flat=True)[1900:1950].explain()
    assert "TEMP B-TREE" not in far and "Sort" not in far, "the index holds the rows in order"
    counts = Platform.objects.in_api(None).explain()
    assert "profile_by_platform" in counts or connection.vendor == "postgresql"
    assert "SCAN U0" not in counts and "Seq Scan" not in counts


def test_profiles_of_the_newest_sources_are_counted_and_of_no_others(rows):
    plan = Source.objects.latest_seen_by(None, 2).explain()
    assert "profile_by_source" in plan or connection.vendor == "postgresql"
    workload, platform = Workload.objects.first(), Platform.objects.first()
    for label in ("second", "third", "without any", "private"):
        source = store_source(label=label)
        if label != "without any":
            store_profiles(source, [(platform, workload)])
    Source.objects.filter(label="private").update(private_to=user("owner"))
    found = [(source.label, source.profile_count) for source in Source.objects.latest_seen_by(None, 2)]
    assert found == [("third", 1), ("second", 1)]
    assert [source.profile_count for source in Source.objects.latest_seen_by(None, 5)] == [1, 1, 2000]


def test_keys_first_finds_the_rows_that_an_offset_finds_in_three_queries(rows, django_assert_num_queries, monkeypatch):
    """1 count, 2 the keys, 3 the rows with what is joined to them."""
    ordered = rows.order_by("-t1_s", "pk")
    for number in (1, 7, 40):
        assert list(KeyPaginator(ordered, 50).page(number)) == list(Paginator(ordered, 50).page(number))
    with django_assert_num_queries(3) as captured:
        page = KeyPaginator(Profile.objects.listed_for(None), 50).page(30)
        assert {row.platform.slug for row in page} == {"p36", "p37"}
    keys = captured.captured_queries[1]["sql"]
    assert "JOIN" not in keys and "warnings" not in keys
    # A row that is deleted between the two queries is left out.
    paginator = KeyPaginator(rows.order_by("pk"), 10)
    assert paginator.count == 2000
    found = type(rows).in_bulk
    monkeypatch.setattr(type(rows), "in_bulk", lambda self, keys: dict(list(found(self, keys).items())[1:]))
    assert len(paginator.page(1)) == 9


def test_own_private_rows_and_outliers_are_in_the_lists_that_they_belong_to(ada):
    public = store_public()
    mark_outlier(public[0], "throttled")
    assert KeyPaginator(Profile.objects.listed_for(ada).exclude(outlier_reason=""), 50).page(1)[0] == public[0]
