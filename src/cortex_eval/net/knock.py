"""Does somebody listen at an address? A connection is made and closed, and nothing is sent."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from cortex_eval.core import InputError, TargetError
from cortex_eval.net.client import check_url, host_of
from cortex_eval.net.guard import Guard, is_forbidden

KNOCK_S = 2.0
"""How long one address of a host is waited for."""


def knock(url: str, timeout_s: float = KNOCK_S) -> str:
    """Why nobody can be reached at an http(s) address; empty when somebody listens there.

    Neither a link-local nor a metadata address is ever knocked at, also when a name leads there.
    """
    try:
        check_url(url, field="the address")
        Guard().pass_on(url)
    except (InputError, TargetError) as error:
        return str(error).rstrip(".")
    parts, told = urlsplit(url), host_of(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return f"{told} does not resolve"
    if any(is_forbidden(ipaddress.ip_address(str(each[4][0]).partition("%")[0])) for each in found):
        return f"{told} leads to a link-local or cloud metadata address"
    why = ""
    for family, kind, protocol, _, address in found:
        with socket.socket(family, kind, protocol) as line:
            line.settimeout(timeout_s)
            try:
                line.connect(address)
            except ConnectionRefusedError:
                why = f"nothing listens at {told}"
            except TimeoutError:
                why = why or f"{told} cannot be reached within {timeout_s:g} s"
            except OSError as error:
                why = why or f"{told} cannot be reached ({error.strerror or error})"
            else:
                return ""
    return why
