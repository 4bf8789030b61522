"""Prices: what a machine costs, as somebody published it."""

from decimal import Decimal

from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from profiles.models.platforms import Platform
from profiles.querysets import PriceQuerySet


class Price(models.Model):
    """What a platform cost in a region on a day. Never guessed: an amount that nobody published is not there."""

    class Per(models.TextChoices):
        HOUR = "hour"
        ONCE = "once", "once, to buy it"

    class Kind(models.TextChoices):
        ON_DEMAND = "on-demand"
        SPOT = "spot"
        PURCHASE = "purchase"

    platform = models.ForeignKey(Platform, on_delete=models.CASCADE, related_name="prices")
    amount = models.DecimalField(max_digits=18, decimal_places=8, validators=[MinValueValidator(Decimal(0))])
    currency = models.CharField(max_length=3, validators=[RegexValidator("^[A-Z]{3}$")], help_text="ISO 4217")
    per = models.CharField(max_length=10, choices=Per)
    region = models.CharField(max_length=100, blank=True)
    kind = models.CharField(max_length=10, choices=Kind)
    source = models.CharField(max_length=500, help_text="who says so")
    date = models.DateField(help_text="of which the price is")

    objects = PriceQuerySet.as_manager()

    class Meta:
        ordering = ["-date", "kind", "region", "currency"]
        constraints = [
            models.UniqueConstraint(
                fields=["platform", "currency", "per", "region", "kind", "date"], name="price_once_a_day"
            ),
            models.CheckConstraint(condition=Q(amount__gte=0), name="price_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.amount.normalize():f} {self.currency} per {self.per}"
