"""`manage.py find_outliers`: find outliers among the stored profiles."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand
from tqdm import tqdm

from predictor.accuracy.outliers import JUDGED_AT_ONCE, judge_profiles
from predictor.management.tables import text_table
from profiles.judgement.outliers import judge_all_pairs, profiles_to_judge
from profiles.management.options import add_executor_options, chosen_executor
from profiles.models import Profile


class Command(BaseCommand):
    help = "Find outliers among the profiles and exclude them from predictions. Decisions of moderators are kept."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--all", action="store_true", help="check all profiles again, not only those that were not checked yet"
        )
        add_executor_options(parser)

    def handle(self, **options: Any) -> None:
        keys = list(profiles_to_judge(again=options["all"]).order_by("pk").values_list("pk", flat=True))
        changed = 0
        with (
            chosen_executor(options) as executor,
            tqdm(total=len(keys), desc="judge", unit="profile", leave=False) as bar,
        ):
            for start in range(0, len(keys), JUDGED_AT_ONCE):
                changed += judge_profiles(keys[start : start + JUDGED_AT_ONCE], bar.update, executor)
        if options["all"]:
            changed += judge_all_pairs()
        outliers = (
            Profile.objects.filter(hidden=False).exclude(outlier_reason="").select_related("platform", "workload")
        )
        rows = [
            [profile.platform.slug, profile.workload.slug, profile.outlier_judge, profile.outlier_reason]
            for profile in outliers
        ]
        self.stdout.write(f"{len(keys)} profiles judged, {changed} verdicts changed, {len(rows)} outliers")
        if rows:
            self.stdout.write("\n".join(text_table(["platform", "workload", "by", "why"], rows, words=4)))
