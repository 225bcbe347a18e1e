"""What the pages of haulage share: their looks, their drawing, and what a browser is told of them.

Pages ask for nothing from elsewhere: what they need is in ``static`` or beside them.
"""

from __future__ import annotations

#: Nothing from elsewhere, nothing within the page's text, and no page around it.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: What goes with every file of a page.
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
