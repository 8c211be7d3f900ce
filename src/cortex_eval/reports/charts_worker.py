"""The process that charts are drawn in: Vega-Lite specifications come in as JSON, drawings go out as JSON.

It is run by its path and imports nothing of ours: the drawing library brings a JavaScript engine of some 90 MB, which
is gone again with this process, and a chart that it chokes on costs a chart and not the run.
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    """Draw every specification; what cannot be drawn is null."""
    import vl_convert  # the extra `charts`; whoever starts this process has looked whether it is there

    drawings: list[str | None] = []
    for spec in json.load(sys.stdin.buffer):
        try:
            # No address is allowed: a chart holds its data and has nothing to fetch.
            drawings.append(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]))
        except ValueError:
            drawings.append(None)
    sys.stdout.buffer.write(json.dumps(drawings).encode())


if __name__ == "__main__":
    main()
