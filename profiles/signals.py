"""What other applications may react to."""

from django.dispatch import Signal

delivered = Signal()  # `source`: a delivery was stored and committed
