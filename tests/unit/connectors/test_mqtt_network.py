"""MQTT over TLS, over networks that come and go, and shared among several."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mosquitto_broker import Mosquitto
from support.certificates import Authority
from support.mosquitto import Publisher, new_topic
from support.mqtt_stream import MqttStream
from support.network import Network
from support.waiting import await_that


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def secured(
    tmp_path_factory: pytest.TempPathFactory, authority: Authority, mosquitto: Mosquitto
) -> Iterator[Mosquitto]:
    """A broker that talks TLS, to those with a certificate."""
    server = authority.sign("server")
    lines = (
        f"cafile {authority.file}",
        f"certfile {server.cert}",
        f"keyfile {server.key}",
        "require_certificate true",
    )
    with Mosquitto(tmp_path_factory.mktemp("secured"), *lines) as started:
        yield started


def test_tls_with_certificates_of_both(
    tmp_path: Path, secured: Mosquitto, authority: Authority
) -> None:
    mine = authority.sign("client")
    files = {"ca_file": str(authority.file), "cert_file": str(mine.cert), "key_file": str(mine.key)}
    stream = MqttStream(tmp_path, f"mqtts://127.0.0.1:{secured.port}", "a", **files)
    tls = (str(authority.file), str(mine.cert), str(mine.key))
    with stream.running(), Publisher(secured.port, tls=tls) as publisher:
        stream.await_connected()
        payloads = [b"%d" % number for number in range(2_000)]  # several records of TLS
        for some in (payloads[:1], payloads[1:]):
            publisher.put("a", some)
            stream.await_payloads(some[-1])
    assert stream.payloads == payloads


def _problem(state: Path, address: str, text: str, **files: str) -> None:
    stream = MqttStream(state, address, "a", **files)
    with stream.running():
        stream.await_problem(text)


def test_certificates_that_are_not_right(
    tmp_path: Path, secured: Mosquitto, authority: Authority
) -> None:
    address = f"mqtts://127.0.0.1:{secured.port}"
    _problem(tmp_path / "1", address, "certificate verify failed")
    mine = {"ca_file": str(authority.file)}
    _problem(tmp_path / "2", address, "it may want a certificate, `cert_file`", **mine)
    other = f"mqtts://127.1:{secured.port}"  # the same place, but the certificate names another
    _problem(tmp_path / "3", other, "certificate is not valid for '127.1'", **mine)


@pytest.mark.parametrize("how", ["cut", "frozen"])
def test_a_network_that_is_gone_for_a_while(tmp_path: Path, mosquitto: Mosquitto, how: str) -> None:
    topic = new_topic()
    with Network(mosquitto.port) as network, Publisher(mosquitto.port) as publisher:
        address = f"mqtt://127.0.0.1:{network.port}"
        stream = MqttStream(tmp_path, address, topic, keep_alive="1 second")
        with stream.running():
            stream.await_connected()
            publisher.put(topic, [b"before"])
            stream.await_payloads(b"before")
            if how == "cut":
                network.cut()
            else:
                network.freeze()
            publisher.put(topic, [b"meanwhile %d" % number for number in range(100)])
            stream.await_problem(f"127.0.0.1:{network.port}")
            network.mend()
            stream.await_connected()
            publisher.put(topic, [b"after"])
            stream.await_payloads(b"after")
    expected = [b"before", *(b"meanwhile %d" % number for number in range(100)), b"after"]
    assert list(dict.fromkeys(stream.payloads)) == expected, "some may come twice, none is missing"


def test_a_subscription_that_several_share(tmp_path: Path, mosquitto: Mosquitto) -> None:
    """Each message goes to one of them."""
    topic = new_topic()
    shared = f"$share/group-{topic.replace('/', '-')}/{topic}/+"
    streams = [MqttStream(tmp_path / name, mosquitto.address, shared) for name in ("one", "two")]
    one, two = streams
    payloads = [b"%d" % number for number in range(100)]
    with one.running(), two.running(), Publisher(mosquitto.port) as publisher:
        for stream in streams:
            stream.await_connected()
        publisher.put(f"{topic}/x", payloads)
        await_that(lambda: {*one.payloads, *two.payloads} == {*payloads}, "all have come")
    assert sorted([*one.payloads, *two.payloads]) == sorted(payloads)
