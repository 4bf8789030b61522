"""Pages of a user's own prices of machines, which only that user can see, replace and delete."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.validators import MaxValueValidator, MinValueValidator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from mpet_site.web.pages import json_address, page_of
from profiles.models import OwnPriceList
from profiles.models.prices import LARGEST_FACTOR
from profiles.prices.tables import PRICE_COLUMNS, PriceTableError, price_table, replace_own_prices, set_price_factor
from profiles.scaling.wording import counted

LARGEST_TABLE_BYTES = 4 << 20
DELETED_PRICES = (
    "Your price list and your factor are deleted.",
    "Rankings and machines show you the published prices again.",
)


class OwnPricesForm(forms.Form):
    """A factor on published prices, and a table that replaces the stored one."""

    factor = forms.DecimalField(
        label="Factor on published prices",
        help_text="0.7 for a discount of 30 %; 1 for none. Machines in your list keep the prices of the list.",
        max_digits=7,
        decimal_places=4,
        validators=[MinValueValidator(Decimal("0.0001")), MaxValueValidator(LARGEST_FACTOR)],
        widget=forms.TextInput(attrs={"inputmode": "decimal"}),
    )
    table = forms.FileField(
        label="Price list (CSV)",
        required=False,
        help_text=f"Columns: {', '.join(PRICE_COLUMNS)}. It replaces the stored list.",
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
    )

    def clean_table(self) -> list[str] | None:
        """Return the lines of the table, or None if no file was sent."""
        sent = self.cleaned_data["table"]
        if sent is None:
            return None
        if sent.size > LARGEST_TABLE_BYTES:
            raise forms.ValidationError(f"The file is larger than {LARGEST_TABLE_BYTES >> 20} MiB.")
        try:
            return list(sent.read().decode("utf-8-sig").splitlines(keepends=True))
        except UnicodeDecodeError as error:
            raise forms.ValidationError("The file is not UTF-8 text.") from error


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def own_prices(request: HttpRequest) -> HttpResponse:
    own_list = OwnPriceList.of(request.user)
    factor = own_list.factor.normalize() if own_list else Decimal(1)
    form = OwnPricesForm(request.POST or None, request.FILES or None, initial={"factor": f"{factor:f}"})
    if form.is_valid():
        try:
            stored = store_form(request.user, form.cleaned_data)
        except PriceTableError as error:
            for complaint in error.complaints:
                form.add_error("table", complaint)
        else:
            messages.success(request, stored)
            return redirect("own-prices")
    prices = own_list.prices.select_related("platform").order_by("platform__name", "-date", "kind") if own_list else ()
    context = {
        "form": form,
        "own_list": own_list,
        "page": page_of(request, prices),
        "section": "prices",
        "twin": json_address("api-own-prices"),
    }
    return render(request, "profiles/own_prices.html", context, status=422 if form.errors else 200)


def store_form(user: Any, chosen: dict[str, Any]) -> str:
    """Store the form, and return a sentence about the stored prices. Raises PriceTableError."""
    if chosen["table"] is None:
        set_price_factor(user, chosen["factor"])
        return f"Published prices are multiplied by {chosen['factor'].normalize():f} for you."
    count = replace_own_prices(user, chosen["table"], chosen["factor"])
    return f"Your list has {counted(count, 'price')} now."


@never_cache
@login_required
@require_safe
def own_price_table(request: HttpRequest) -> HttpResponse:
    """Return the price list as a CSV table that can be uploaded again."""
    own_list = OwnPriceList.of(request.user)
    prices = own_list.prices.select_related("platform").order_by("platform__name", "-date") if own_list else ()
    disposition = {"Content-Disposition": 'attachment; filename="my-prices.csv"'}
    return HttpResponse(price_table(prices), content_type="text/csv; charset=utf-8", headers=disposition)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete_own_prices(request: HttpRequest) -> HttpResponse:
    """Show a confirmation page, or delete the prices on POST."""
    if request.method == "POST":
        OwnPriceList.objects.filter(user=request.user.pk).delete()
        messages.success(request, "Your prices are deleted.")
        return redirect("own-prices")
    context = {
        "title": "Delete your prices?",
        "consequences": DELETED_PRICES,
        "button": "Delete them",
        "back": reverse("own-prices"),
        "section": "prices",
    }
    return render(request, "confirm.html", context)
