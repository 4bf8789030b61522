"""Settings of gunicorn, which reads this file in the folder where it starts; what differs between places is said there.

https://docs.gunicorn.org/en/stable/settings.html
"""

import gunicorn.http.wsgi

timeout = 120
control_socket_disable = True  # nothing here uses it, and the home folder may not be writable
# By default a client on this machine, and whoever a proxy there passes on, chooses by the headers SCRIPT_NAME and
# PATH_INFO which page is answered at which address. The prefix of all addresses is a setting (MPET_URL_PREFIX), and
# whether a request came by HTTPS is Django's to decide (MPET_HTTPS).
forwarder_headers = ""
forwarded_allow_ips = ""
gunicorn.http.wsgi.SERVER = "mpet"  # the header Server: which program serves is nobody's business
