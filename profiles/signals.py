"""What other applications may react to."""

from django.dispatch import Signal

delivered = Signal()  # `source`: a delivery was stored and committed; again, where the process died that sent it
# `sources`: a list; they are about to be deleted, in the transaction of the caller. `takes_away` False: another
# delivery replaces them, and what was computed of them may be shown until it is computed again.
withdrawing = Signal()
merged = Signal()  # `platform`: others were merged into it, and that was committed
separated = Signal()  # `platforms`: a merge of these two was taken back, and that was committed
