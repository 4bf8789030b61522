"""No query of a page, an API list, a chore, a dump or a command reads the profiles once for each row of another table.
Such a query of the dump ran for hours among half a million profiles."""

from contextlib import suppress

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import OuterRef, Subquery
from django.test import Client

from benchmarks.kit_guide import stress_ng_versions
from lab.hostile.answering import addresses_of
from lab.performance.walk import fixed_addresses
from mpet_site.web.periodic_tasks import registered_periodic_tasks
from predictor.predictions.advice import stress_ng_remedy
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from profiles.dump.export import export_dump
from profiles.dump.files import DUMP_FORMS
from profiles.dump.restore import restore_dump
from profiles.dump.rows import public_profiles
from profiles.ingest.withdrawal import withdraw
from profiles.models import Platform, Profile, Source
from tests.plans import captured_queries, plan_of, repeated_reads, whole_reads
from tests.predictor.conftest import store
from tests.samples import sample_measurements

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL plans by the sizes of tables"),
]


def repeated_in(queries):
    """The queries whose plan reads the profiles again and again, with where."""
    assert queries
    found = {sql: repeated_reads(sql, plan_of(sql, params)) for sql, params in queries.items()}
    return {sql: plan for sql, plan in found.items() if plan}


@pytest.fixture
def profile(db):
    store(sample_measurements(4, 6))
    return store(sample_measurements(4, 7), label="more").profiles[0]


def test_of_pages_and_lists(profile, admin_user):
    visitor, moderator = Client(), Client()
    moderator.force_login(admin_user)
    predict(PredictionRequest(profile.workload.slug, profile.platform.slug), admin_user)
    with captured_queries() as queries:
        for address in (*addresses_of(profile), *fixed_addresses()):
            for client in (visitor, moderator):
                client.get(address)
    assert repeated_in(queries) == {}


def test_of_chores(profile):
    with captured_queries() as queries:
        for chore in registered_periodic_tasks():
            if chore.name not in {"public dump", "evaluation"}:  # in processes of their own: the next tests
                chore.function()
    assert repeated_in(queries) == {}


def test_of_the_dump_and_of_reading_it_back(profile, tmp_path):
    with captured_queries() as queries:
        export_dump({form: tmp_path / form for form in DUMP_FORMS})
        withdraw(Source.objects.all())
        assert restore_dump(tmp_path / "parquet").profiles == 52
    assert repeated_in(queries) == {}


COMMANDS = ["doctor", "refit", "find_outliers", "apply_retention", "evaluate --database --method mpet --sample 9"]


@pytest.mark.parametrize("command", COMMANDS)
def test_of_commands(profile, command):
    with captured_queries() as queries, suppress(CommandError):  # the doctor finds that nothing was backed up
        call_command(*command.split())
    assert repeated_in(queries) == {}


def test_versions_of_stress_ng_are_looked_up(profile):
    with captured_queries() as queries:
        stress_ng_versions(None)
        stress_ng_remedy(profile.platform.slug, {"another"}, None)
    assert len(queries) == 2
    assert [whole_reads(sql, plan_of(sql, params)) for sql, params in queries.items()] == [[], []]


def test_what_is_to_be_refitted_is_looked_up_once(profile):
    with captured_queries() as queries:
        call_command("refit", "--stale")
    assert len([sql for sql in queries if "code_version" in sql]) == 1


def plans_of(rows):
    sql, params = rows.query.sql_with_params()
    plan = plan_of(sql, params)
    return whole_reads(sql, plan), repeated_reads(sql, plan)


def test_the_query_that_ran_for_hours_is_found(profile):
    named = Platform.objects.filter(private_to=None, hidden=False, profiles__in=public_profiles())
    whole, repeated = plans_of(named.distinct().order_by("pk"))
    assert whole
    assert len(repeated) == 1


def test_correlated_reads_are_found(profile):
    faster = Profile.objects.filter(t1_s__lt=OuterRef("t1_s")).order_by("t1_s").values("pk")[:1]
    assert len(plans_of(Profile.objects.annotate(next_faster=Subquery(faster)))[1]) == 1


def test_look_ups_are_not(profile):
    assert plans_of(Profile.objects.filter(platform=profile.platform)) == ([], [])
    assert plans_of(Platform.objects.in_api(None)) == ([], [])
