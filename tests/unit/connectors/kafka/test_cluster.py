"""What a cluster is told and asked, and what workers keep of it; against the mock of `librdkafka`.

What needs a real broker is in `test_source.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from narrows.connectors.kafka.client.cluster import Cluster
from narrows.connectors.kafka.client.faults import KafkaError
from narrows.connectors.kafka.client.topics import Partition
from narrows.connectors.kafka.source.streams import KeptClient
from support.mock_kafka import Given, MockCluster
from support.waiting import await_that

OFFSET_COMMIT = 8
GROUP_AUTHORIZATION_FAILED = 30
COORDINATOR_LOAD_IN_PROGRESS = 14
ENDS = {Partition("orders", 0): 2}


@pytest.fixture
def mock() -> Iterator[MockCluster]:
    with MockCluster() as cluster:
        cluster.create_topic("orders")
        cluster.produce("orders", 0, [Given(b"1"), Given(b"2"), Given(b"3")])
        yield cluster


def cluster_of(mock: MockCluster) -> Cluster:
    return Cluster({"bootstrap.servers": mock.address, "isolation.level": "read_committed"})


def test_a_right_that_is_missing_is_said(mock: MockCluster) -> None:
    cluster = cluster_of(mock)
    await_that(lambda: cluster.commit("g", ENDS), "the group is told")
    mock.answer(OFFSET_COMMIT, GROUP_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaError, match="a commit to group `g`") as raised:
        cluster.commit("g", ENDS)
    assert raised.value.number == GROUP_AUTHORIZATION_FAILED
    assert cluster.commit("g", ENDS), "the next time is another"


def test_what_passes_is_not_said(mock: MockCluster) -> None:
    cluster = cluster_of(mock)
    await_that(lambda: cluster.commit("g", ENDS), "the group is told")
    mock.answer(OFFSET_COMMIT, *[COORDINATOR_LOAD_IN_PROGRESS] * 3)
    await_that(lambda: cluster.commit("g", ENDS), "it is told again")


def test_what_is_kept_of_a_topic_is_not_of_its_successor(mock: MockCluster) -> None:
    client = KeptClient({"bootstrap.servers": mock.address})
    try:
        stream, goes_on = client.take("orders", 0, 0, "one")
        assert not goes_on
        stream.leave(0)
        client.give_back(stream)
        stream, goes_on = client.take("orders", 0, 0, "one")
        assert goes_on
        client.give_back(stream)
        stream, goes_on = client.take("orders", 0, 0, "another")
        assert not goes_on
        client.give_back(stream)
    finally:
        client.close()
