"""Who may be called: never a metadata or link-local address, and offline only whom the project file names."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cortex_eval.core import TargetError

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254")
)
"""Where clouds answer with credentials, beside the link-local range that most of them use."""
METADATA_NAMES = frozenset({"metadata", "metadata.google.internal", "instance-data"})
NAT64 = ipaddress.ip_network("64:ff9b::/96")


class Guard:
    """Decides which hosts a run may call, and keeps a list of those that it did call."""

    def __init__(self, *, is_offline: bool = False, named: Iterable[str] = ()) -> None:
        self.is_offline = is_offline
        self.named = frozenset(each.lower().rstrip(".") for each in named)
        """Hosts that the project file names; the only ones beside loopback when offline."""
        self.hosts: dict[str, int] = {}
        """Calls by host and port."""
        self._checked: dict[str, str] = {}

    def pass_on(self, url: str) -> None:
        """Note a call to this address; `TargetError` when it may not be made."""
        host = self._checked.get(url)
        if host is None:
            host = self._check(url)
            if len(self._checked) < 1000:  # a service whose address changes with every call must not fill the memory
                self._checked[url] = host
        self.hosts[host] = self.hosts.get(host, 0) + 1

    def _check(self, url: str) -> str:
        parts = urlsplit(url)
        name = (parts.hostname or "").lower().rstrip(".")
        address = _address(name)
        if name in METADATA_NAMES or (address is not None and is_forbidden(address)):
            raise _forbidden(name)
        if self.is_offline and name not in self.named and not _is_loopback(name, address):
            raise TargetError(
                f"{name} was not called: --offline allows loopback and the hosts that the project file names.",
                kind="offline",
            )
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"

    def resolver(self) -> AbstractResolver:
        """A resolver for aiohttp that looks at every address before anybody connects to it."""
        from aiohttp.abc import AbstractResolver, ResolveResult
        from aiohttp.resolver import ThreadedResolver

        class Guarded(AbstractResolver):
            """Names to addresses, none of them forbidden."""

            def __init__(self) -> None:
                self._inner = ThreadedResolver()

            async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
                """The addresses of a name; `TargetError` when one of them must not be called."""
                found = await self._inner.resolve(host, port, family)
                for each in found:
                    address = _address(each["host"].partition("%")[0])
                    if address is not None and is_forbidden(address):
                        raise _forbidden(host)
                return found

            async def close(self) -> None:
                """Nothing is held open."""
                await self._inner.close()

        return Guarded()


def is_forbidden(address: Address) -> bool:
    """Whether this is a link-local or metadata address, in whatever disguise."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None and is_forbidden(inner):
            return True
    return address.is_link_local or address in METADATA


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine itself."""
    name = host.lower().rstrip(".")
    return _is_loopback(name, _address(name))


def _is_loopback(name: str, address: Address | None) -> bool:
    return name == "localhost" or name.endswith(".localhost") or (address is not None and address.is_loopback)


def _address(name: str) -> Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _forbidden(name: str) -> TargetError:
    return TargetError(
        f"{name} was not called: it is a link-local or cloud metadata address, which no target may be.",
        kind="forbidden_address",
    )
