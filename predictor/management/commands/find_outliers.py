import argparse
from typing import Any

from django.core.management.base import BaseCommand
from tqdm import tqdm

from predictor.accuracy.outliers import find_outliers, in_batches
from predictor.management.tables import table
from profiles.models import Profile
from profiles.outliers import profiles_to_judge


class Command(BaseCommand):
    help = "Find profiles that cannot be right, and keep them out of predictions. Moderators' decisions stay."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--all", action="store_true", help="judge all profiles again, not only those that nobody judged yet"
        )

    def handle(self, **options: Any) -> None:
        keys = list(profiles_to_judge(again=options["all"]).order_by("pk").values_list("pk", flat=True))
        changed = 0
        with tqdm(total=len(keys), desc="judge", unit="profile", leave=False) as bar:
            for batch in in_batches(keys):
                changed += find_outliers(batch, bar.update)
        out = Profile.objects.filter(hidden=False).exclude(outlier_reason="").select_related("platform", "workload")
        rows = [[one.platform.slug, one.workload.slug, one.outlier_judge, one.outlier_reason] for one in out]
        self.stdout.write(f"{len(keys)} profiles judged, {changed} verdicts changed, {len(rows)} outliers")
        if rows:
            self.stdout.write("\n".join(table(["platform", "workload", "by", "why"], rows, words=4)))
