"""Entry point of `python -m research COMMAND`: `manage.py` with the additional commands of the studies."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "research.settings")
    execute_from_command_line(["python -m research", *sys.argv[1:]])
