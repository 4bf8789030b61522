"""The content security policy of answers."""

from django.http import HttpResponse

from mpet_site.web.middleware import ContentSecurityPolicyMiddleware


def test_a_view_may_set_a_policy_of_its_own(rf):
    own = HttpResponse(headers={"Content-Security-Policy": "default-src 'none'"})
    answer = ContentSecurityPolicyMiddleware(lambda request: own)(rf.get("/"))
    assert answer["Content-Security-Policy"] == "default-src 'none'"
