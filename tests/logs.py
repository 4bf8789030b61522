"""Capturing of the server's log."""

import io
import logging
import logging.config
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def written_log(settings, form: str) -> Iterator[io.StringIO]:
    """Capture the log as the handlers of the settings write it with MPET_LOG_FORMAT=`form`."""
    written = io.StringIO()
    handler = settings.LOGGING["handlers"]["console"] | {"formatter": form, "stream": written}
    before = {name: logging.getLogger(name).handlers[:] for name in ("", *settings.LOGGING["loggers"])}
    logging.config.dictConfig(settings.LOGGING | {"handlers": {"console": handler}})
    try:
        yield written
    finally:
        for name, handlers in before.items():
            logging.getLogger(name).handlers[:] = handlers
