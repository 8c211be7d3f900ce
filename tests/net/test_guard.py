"""Who may be called."""

from __future__ import annotations

import pytest

from cortex_eval.core import TargetError
from cortex_eval.net import Guard, JsonClient
from cortex_eval.net.client import retry_after_s

METADATA = [
    "http://169.254.169.254/latest/meta-data/",
    "http://[::ffff:169.254.169.254]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://100.100.100.200/",
    "http://metadata.google.internal/computeMetadata/v1/",
]


@pytest.mark.parametrize("url", METADATA)
async def test_TR07_D22_metadata_and_link_local_addresses_are_refused(url):
    client = JsonClient()

    with pytest.raises(TargetError, match="not called") as caught:
        await client.post(url, {})

    assert (caught.value.kind, caught.value.transient) == ("forbidden_address", False)
    await client.close()


@pytest.mark.parametrize("host", ["2852039166", "0xa9fea9fe", "169.254.43518"])
async def test_D22_other_spellings_of_such_an_address_are_refused_when_they_are_looked_up(host):
    client = JsonClient()

    with pytest.raises(TargetError) as caught:
        await client.post(f"http://{host}/", {})

    assert caught.value.kind == "forbidden_address" or "is not an address" in str(caught.value)
    await client.close()


def test_offline_allows_loopback_and_named_hosts_only():
    guard = Guard(is_offline=True, named=["Clinic.example"])

    for url in ("http://127.0.0.1:8080/", "http://localhost/x", "http://[::1]:1/", "https://clinic.example/chat"):
        guard.pass_on(url)
    with pytest.raises(TargetError, match="--offline") as caught:
        guard.pass_on("https://api.openai.com/v1/chat/completions")

    assert caught.value.kind == "offline"
    assert guard.hosts == {"127.0.0.1:8080": 1, "localhost:80": 1, "[::1]:1": 1, "clinic.example:443": 1}


async def test_every_host_that_is_called_is_counted(scripted_service):
    service = scripted_service({"text": "hi"})
    guard = Guard()
    client = JsonClient(guard)

    for _ in range(3):
        await client.post(service.url, {})
    await client.close()

    assert list(guard.hosts.values()) == [3]


@pytest.mark.parametrize(
    ("given", "date", "seconds"),
    [
        ("7", None, 7.0),
        (" 0.5 ", None, 0.5),
        ("Sun, 06 Nov 1994 08:49:47 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 10.0),
        ("Sun, 06 Nov 1994 08:49:27 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 0.0),
        ("soon", None, None),
        ("-5", None, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_F15_both_forms_of_retry_after_are_read_by_the_services_own_clock(given, date, seconds):
    assert retry_after_s(given, date) == seconds
