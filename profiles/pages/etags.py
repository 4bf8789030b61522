"""ETags of what is read from the database: they change whenever what the viewer may see does."""

from typing import Any

from django.utils.decorators import method_decorator
from rest_framework.request import Request
from rest_framework.views import APIView

from mpet_site.web.etags import etag_of
from profiles.models import OwnPriceList, Revision
from profiles.pages.page_cache import kept_for_visitors
from profiles.scaling.names import METHOD_VERSION


def database_etag(request: Request, *parts: Any) -> str:
    """The viewer counts only where there is something private to see or own prices, so that all others share one
    answer."""
    public, private = Revision.current(request.user)
    own_list = OwnPriceList.of(request.user)
    viewer = (request.user.pk, own_list and own_list.version) if private or own_list else ""
    renderer = request.accepted_renderer.format
    return etag_of(METHOD_VERSION, public, private, viewer, renderer, request.build_absolute_uri(), *parts)


@method_decorator(kept_for_visitors, name="dispatch")
class RevisionEtag(APIView):
    """For list and detail views whose rows change with the revision only."""

    def etag(self, rows: Any) -> str:
        return database_etag(self.request)
