"""Python's collector of garbage rests while MPET starts.

What is imported stays: to look through it again and again, and once more at the end, takes a third of the time of a
short command.
"""

import gc


def pause_collector() -> None:
    """Called by what starts a process, before Django is set up."""
    gc.disable()


def resume_collector() -> None:
    """Called when Django is set up: what is there by now is not looked at again."""
    gc.freeze()
    gc.enable()
