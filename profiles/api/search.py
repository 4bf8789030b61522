"""The API of the search in the header, which asks it while somebody types."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.lists import MOST_CHARACTERS, search_refusal
from mpet_site.web.parameters import WholeNumber
from mpet_site.web.problems import invalid_request
from profiles.search import MOST_OF_A_KIND, SEARCH_KINDS, search_document

MOST = WholeNumber("most", "Results of each kind at most.", default=MOST_OF_A_KIND, low=1, high=MOST_OF_A_KIND)


class SearchResultSerializer(serializers.Serializer):
    kind = serializers.ChoiceField(choices=list(SEARCH_KINDS))
    name = serializers.CharField()
    url = serializers.CharField(help_text="path of its page on this server")
    note = serializers.CharField(allow_blank=True, help_text="what else is known of it, in a few words")


class SearchSerializer(serializers.Serializer):
    query = serializers.CharField(allow_blank=True)
    results = SearchResultSerializer(many=True)


class Search(ApiView):
    """Machines, workloads and programs that have every word of `q` in their names, and sections of the documentation
    that have all of them; machines first, the documentation last."""

    query_parameters: ClassVar = ("q", "most")

    @extend_schema(
        operation_id="search",
        summary="Search everything by name",
        parameters=[
            OpenApiParameter("q", {"type": "string", "maxLength": MOST_CHARACTERS}, description="The words."),
            OpenApiParameter(
                "most", {"type": "integer", "minimum": 1, "maximum": MOST.high}, description=MOST.description
            ),
        ],
        responses={200: SearchSerializer},
    )
    def get(self, request: Request) -> Response:
        text = request.query_params.get("q", "").strip()
        if refusal := search_refusal(text):
            raise invalid_request("q", refusal)
        return Response(SearchSerializer(search_document(text, request.user, MOST.read(request))).data)
