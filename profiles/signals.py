"""What other applications may react to."""

from django.dispatch import Signal

delivered = Signal()  # `source`: a delivery was stored and committed; again, where the process died that sent it
withdrawing = Signal()  # `sources`: a list; they are about to be deleted, in the transaction of the caller
merged = Signal()  # `platform`: others were merged into it, and that was committed
separated = Signal()  # `platforms`: a merge of these two was taken back, and that was committed
