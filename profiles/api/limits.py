"""What limits a profile or a prediction, as the API writes it."""

from typing import Any

from drf_spectacular.utils import inline_serializer
from rest_framework import serializers

from mpet_site.web.fields import Integer, Text, number

BottleneckSerializer: Any = type(
    inline_serializer(
        "Bottleneck",
        {
            "part": Text(),
            "n": Integer(help_text="The largest n."),
            "share": number(help_text="Of the thread time."),
            "speedup": number(),
            "speedup_without": number(help_text="Upper bound, all else unchanged, n at most; null: none can be told."),
            "first_n": Integer(allow_null=True, help_text="It leads from here; null: nowhere."),
            "last_n": Integer(allow_null=True),
        },
    )
)
BoundSerializer: Any = type(
    inline_serializer(
        "Bound",
        {
            "kind": serializers.ChoiceField(
                ("memory", "communication", "computation", "imbalance"),
                allow_null=True,
                help_text="null: cannot be told.",
            ),
            "by": serializers.ChoiceField(("counters", "roofline", "scaling")),
        },
    )
)
LimitsSerializer: Any = type(
    inline_serializer(
        "Limits",
        {
            "sentences": serializers.ListField(child=Text()),
            "bottlenecks": BottleneckSerializer(many=True),
            "bound": BoundSerializer(allow_null=True),
        },
    )
)
