"""What happens when a user is made."""

from typing import Any

from django.contrib.auth import get_user_model
from django.db.models.signals import post_save
from django.dispatch import receiver

from accounts.addresses import confirm_address


@receiver(post_save, sender=get_user_model())
def confirm_address_of_operator(instance: Any, created: bool, raw: bool, **_: Any) -> None:
    """`manage.py createsuperuser` asks an operator for the address, and no stranger."""
    if created and instance.is_superuser and instance.email and not raw:
        confirm_address(instance)
