"""`report.html`: the whole result as one page to open, search and print, without a network.

The main facts are in the HTML itself; every sample is packed next to them and unpacked by the
page's script on demand.
"""

from gatekeeper.reports.html.document import render_html
from gatekeeper.reports.html.heat import Cell, heatmap

__all__ = ["Cell", "heatmap", "render_html"]
