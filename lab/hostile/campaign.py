"""Ten thousand hostile requests, and checks of the database and the site afterwards.

    python -m lab.hostile.campaign [--count 10000] [--seed 1] [--only K ...] [--database sqlite|postgresql] [--live]
                                     [--formats]

The campaign runs in a temporary installation with the demo. Each mutation is a function of seed and number: --only 17
sends only number 17. With --live, the requests go to gunicorn as `make run` starts it, and /healthz is requested
meanwhile. Without it, Django responds in this process, where processor time and memory can be measured. --formats sends
files of other tools that are damaged, long, deeply nested or have large numbers, most of them for a preview.

After a refusal all row counts must be unchanged, and the response must have a reason. No response may have a status of
5xx, contain "internal error" or take longer than --slow seconds. At the end every page and every API address must
return 200. The exit status is 1 if one of these checks fails.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import resource
import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from lab.hostile.servers import DATABASES, installation, served

if TYPE_CHECKING:
    from lab.hostile.attack import Campaign, Failure

MEMORY_LIMIT = 6 * 2**30


def print_report(campaign: Campaign, seconds: float, before_bytes: int, memory: int) -> None:
    """Print the table of outcomes by family, and every failure."""
    figures = campaign.figures
    outcomes = sorted({outcome for _, outcome in figures.families})
    print(f"\n{'family':<24}" + "".join(f"{name:>10}" for name in outcomes))
    for family in (*sorted({family for family, _ in figures.families}), "all"):
        chosen = [
            [n for (one, of), n in figures.families.items() if of == name and family in (one, "all")]
            for name in outcomes
        ]
        print(f"{family:<24}" + "".join(f"{sum(counts):>10}" for counts in chosen))
    print(f"\n{figures.requests} requests in {seconds:.0f} s; {len(figures.accepted)} accepted uploads checked")
    print(f"stored: {campaign.counts}")
    print(f"memory: {before_bytes >> 20} MiB before, {memory >> 20} MiB after; slowest and largest responses:")
    for seconds_taken, what in figures.slowest:
        print(f"  {seconds_taken:6.2f} s   {what[:140]}")
    for peak, what in figures.largest:
        print(f"  {peak >> 20:6} MiB {what[:140]}")
    print_failures(figures.failures)


def print_failures(failures: list[Failure]) -> None:
    """Print the failures, grouped by their text without numbers and identifiers."""
    kinds: dict[str, list[Failure]] = {}
    for one in failures:
        detail = re.sub(r"[0-9a-f-]{20,}|[0-9]+", "*", one.detail.strip()[-150:])
        kinds.setdefault(f"{one.what}: {detail if 'internal' not in one.what else ''}", []).append(one)
    print(f"\n{len(failures)} failures")
    for same in sorted(kinds.values(), key=len, reverse=True):
        print(f"- {len(same)} x {same[0].what}, first: {same[0].where[:250]}")
        for line in same[0].detail.strip().splitlines()[-9:]:
            print(f"      {line[:180]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="+", default=[], help="run only the mutations with these numbers")
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument(
        "--live", action="store_true", help="send to gunicorn instead of the test client in this process"
    )
    parser.add_argument("--formats", action="store_true", help="send files of other tools")
    parser.add_argument(
        "--slow", type=float, help="longest accepted response in seconds (default: 10, with --formats 6)"
    )
    parser.add_argument(
        "--healthz", type=float, default=1.0, help="longest accepted response of /healthz in seconds, with --live"
    )
    arguments = parser.parse_args()
    arguments.slow = arguments.slow or (6.0 if arguments.formats else 10.0)
    with installation(arguments.database) as made:
        os.environ |= made.environment | {
            "DJANGO_SETTINGS_MODULE": "mpet_site.settings_test",
            "MPET_LOG_LEVEL": "CRITICAL",
        }
        import django  # noqa: PLC0415  (settings read the environment)

        django.setup()
        if not arguments.live:
            return attack(arguments, "")
        with served(made) as url:
            return attack(arguments, url)


def attack(arguments: argparse.Namespace, url: str) -> int:
    """Run the whole campaign against the server at `url`, or in this process if `url` is empty."""
    from tqdm import tqdm  # noqa: PLC0415

    from accounts.models import ApiToken  # noqa: PLC0415
    from lab.hostile.attack import Campaign, InProcess, Live, known_names, probes, status_bytes  # noqa: PLC0415
    from lab.hostile.foreign_files import foreign_mutation  # noqa: PLC0415
    from lab.hostile.mutations import mutation  # noqa: PLC0415
    from lab.hostile.sweep import sweep  # noqa: PLC0415
    from profiles.models import Profile  # noqa: PLC0415
    from tests.browser.walk import pages_of  # noqa: PLC0415
    from tests.pages import user  # noqa: PLC0415

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    owner = user("mallory")
    secret = ApiToken.issue(owner, ApiToken.Scope.UPLOAD)[1]
    profile = Profile.objects.visible_to(None).order_by("pk")[0]
    walk = pages_of(profile, owner, profile.workload.slug, profile.platform.slug)
    send = Live(url, secret) if url else InProcess(owner, secret)
    make = foreign_mutation if arguments.formats else mutation
    campaign = Campaign(send, known_names(), arguments.seed, arguments.slow, make)
    gc.collect()
    before, start = status_bytes("VmRSS"), time.monotonic()
    numbers = arguments.only or range(arguments.first, arguments.first + arguments.count)
    with probes(url, arguments.healthz, campaign) if url else nullcontext():
        campaign.run(tqdm(numbers, desc="mutations", mininterval=5))
    if not url:  # some pages need a session, which a live sender does not have
        print(f"swept: {sweep(campaign, walk)} addresses")
    print_report(campaign, time.monotonic() - start, before, status_bytes("VmRSS"))
    return 1 if campaign.figures.failures else 0


if __name__ == "__main__":
    sys.exit(main())
