"""What other applications may react to."""

from django.dispatch import Signal

delivered = Signal()  # `source`: a delivery was stored and committed; again, where the process died that sent it
merged = Signal()  # `platform`: others were merged into it, and that was committed
