"""User data other than measurements: own prices, and the user's names of program regions."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from accounts.user_data import ArchiveMember, UserData
from profiles.models import OwnPrice, OwnPriceList, RegionLabel
from profiles.prices.tables import price_table


def count_settings(user: Any) -> dict[str, int]:
    return {
        "own prices": OwnPrice.objects.filter(price_list__user=user).count(),
        "region names": RegionLabel.objects.filter(owner=user).count(),
    }


def settings_members(user: Any, request: Any) -> Iterator[ArchiveMember]:
    own_list = OwnPriceList.of(user)
    if own_list is not None:
        table = price_table(own_list.prices.select_related("platform").order_by("pk")).encode()
        yield ArchiveMember.of_json("prices/factor.json", {"factor": str(own_list.factor)})
        yield ArchiveMember("prices/prices.csv", len(table), io.BytesIO(table))
    labels = RegionLabel.objects.filter(owner=user).order_by("application", "section")
    if labels:
        yield ArchiveMember.of_json("region-names.json", list(labels.values("application", "section", "label")))


def remove_settings(user: Any, keep_public: bool) -> None:
    """Delete the settings, which are never public, whether or not public data is kept."""
    OwnPriceList.objects.filter(user=user).delete()
    RegionLabel.objects.filter(owner=user).delete()


PRICES_AND_NAMES = UserData("prices and names", count_settings, settings_members, remove_settings)
