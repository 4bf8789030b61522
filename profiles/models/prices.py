"""Prices of machines: published prices, and the prices that a user pays."""

import uuid
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from profiles.models.platforms import Platform
from profiles.models.querysets import OwnPriceQuerySet, PriceQuerySet

LARGEST_FACTOR = 100


class PriceOfPlatform(models.Model):
    """The price of a platform in a region on a day."""

    class Per(models.TextChoices):
        HOUR = "hour"
        ONCE = "once", "once, to buy it"

    class Kind(models.TextChoices):
        ON_DEMAND = "on-demand"
        SPOT = "spot"
        PURCHASE = "purchase"

    class Basis(models.TextChoices):
        PUBLISHED = "published"
        OWN = "own", "your price"
        FACTOR = "factor", "published, times your factor"

    basis = Basis.PUBLISHED

    platform = models.ForeignKey(Platform, on_delete=models.CASCADE, related_name="+")
    amount = models.DecimalField(max_digits=18, decimal_places=8, validators=[MinValueValidator(Decimal(0))])
    currency = models.CharField(max_length=3, validators=[RegexValidator("^[A-Z]{3}$")], help_text="ISO 4217")
    per = models.CharField(max_length=10, choices=Per)
    region = models.CharField(max_length=100, blank=True)
    kind = models.CharField(max_length=10, choices=Kind)
    source = models.CharField(max_length=500, help_text="where the price was published")
    date = models.DateField(help_text="date of the price")

    class Meta:
        abstract = True
        ordering = ["-date", "kind", "region", "currency"]

    def __str__(self) -> str:
        return f"{self.amount.normalize():f} {self.currency} per {self.per}"


class Price(PriceOfPlatform):
    """A published price. Prices are never estimated: a platform without a published price has none."""

    platform = models.ForeignKey(Platform, on_delete=models.CASCADE, related_name="prices")

    objects = PriceQuerySet.as_manager()

    class Meta(PriceOfPlatform.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["platform", "currency", "per", "region", "kind", "date"], name="price_once_a_day"
            ),
            models.CheckConstraint(condition=Q(amount__gte=0), name="price_not_negative"),
        ]


class OwnPriceList(models.Model):
    """One user's prices, visible to that user only: prices of machines, and a factor on all other published prices.

    A factor of 0.7 means 30 % less. `version` changes with each change, because ETags and stored rankings depend on it.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="price_list")
    factor = models.DecimalField(
        max_digits=7,
        decimal_places=4,
        default=Decimal(1),
        validators=[MinValueValidator(Decimal("0.0001")), MaxValueValidator(LARGEST_FACTOR)],
    )
    version = models.UUIDField(default=uuid.uuid4)

    def __str__(self) -> str:
        return f"prices of {self.user}"

    @classmethod
    def of(cls, user: Any) -> "OwnPriceList | None":
        """Return the user's list, or None for visitors and users without one."""
        if user is None or not user.is_authenticated:
            return None
        return cls.objects.filter(user=user).first()


class OwnPrice(PriceOfPlatform):
    """A price in a user's own list. It has its own table, so that no query of published prices can return it."""

    basis = PriceOfPlatform.Basis.OWN

    price_list = models.ForeignKey(OwnPriceList, on_delete=models.CASCADE, related_name="prices")

    objects = OwnPriceQuerySet.as_manager()

    class Meta(PriceOfPlatform.Meta):
        constraints = [models.CheckConstraint(condition=Q(amount__gte=0), name="own_price_not_negative")]
