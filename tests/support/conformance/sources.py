"""The laws for sources: everything that the rest of Narrows relies upon when it reads one."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping

import pytest

from narrows.connectors import entry_log
from narrows.connectors.base import Segmented, Share, find_connector
from narrows.connectors.entry_log import EntryLog
from narrows.demand import ALL, NOTHING, fields
from narrows.plugins.options import OptionValue
from narrows.worker.dead_letters import BadPayloadError
from narrows.worker.read import read_entry
from support.conformance.source_case import Reading, SourceCase, document, row
from support.waiting import await_that


def _rows(count: int, first: int = 0) -> list[dict[str, object]]:
    return [row(n) for n in range(first, first + count)]


def _put(case: SourceCase, count: int, first: int = 0, *, together: bool = False) -> None:
    payloads = [document(n) for n in range(first, first + count)]
    for part in [payloads] if together else [[payload] for payload in payloads]:
        case.put(part)


class SourceLaws:
    """For every source."""

    # --- admission --------------------------------------------------------------------------------

    def test_where_there_is_nothing_there_is_no_entry(self, case: SourceCase) -> None:
        reading = Reading(case)
        assert reading.admit() is None
        assert reading.rows(reading.source.whole(reading.source.available())) == []

    @pytest.mark.parametrize("restarting", [False, True])
    def test_everything_is_taken_once_and_in_order(
        self, case: SourceCase, restarting: bool
    ) -> None:
        reading = Reading(case, more=case.limit.options)
        for first in (0, 7, 14):
            _put(case, 7, first)
            reading.drain(restarting=restarting)
            assert reading.admit() is None
        assert reading.all_rows() == _rows(21)

    def test_an_entry_is_taken_when_it_is_in_the_log_and_not_before(self, case: SourceCase) -> None:
        reading = Reading(case)
        _put(case, 3)
        available = reading.source.available()
        proposed = reading.source.admit(reading.log, available)
        assert proposed is not None
        assert reading.source.admit(reading.log, available) == proposed
        reading.restart()
        assert reading.admit(available) == proposed

    def test_what_came_later_is_not_taken_with_what_was_seen_before(self, case: SourceCase) -> None:
        reading = Reading(case)
        _put(case, 3)
        seen = reading.source.available()
        _put(case, 3, first=3)
        while reading.admit(seen) is not None:
            pass
        assert reading.all_rows() == _rows(3)
        reading.drain()
        assert reading.all_rows() == _rows(6)

    def test_pipelines_take_by_themselves(self, case: SourceCase) -> None:
        one, other = Reading(case, "one"), Reading(case, "other")
        _put(case, 3)
        one.drain()
        _put(case, 3, first=3)
        other.drain()
        one.drain()
        assert one.all_rows() == other.all_rows() == _rows(6)

    def test_limits_hold(self, case: SourceCase) -> None:
        reading, most = Reading(case, more=case.limit.options), case.limit.payloads
        _put(case, 2 * most + 1)
        entries = reading.drain()
        sizes = [len(reading.rows(entry)) for entry in entries]
        assert sizes == [most, most, 1]

    def test_what_is_larger_than_a_limit_is_taken_all_the_same(self, case: SourceCase) -> None:
        if case.tight is None:
            return
        reading = Reading(case, more=case.tight)
        _put(case, 3)
        assert len(reading.drain()) == 3
        assert reading.all_rows() == _rows(3)

    def test_all_that_is_there_is_the_sum_of_what_is_taken(self, case: SourceCase) -> None:
        reading = Reading(case, more=case.limit.options)
        _put(case, 9)
        whole = reading.source.whole(reading.source.available())
        reading.drain()
        assert reading.rows(whole) == reading.all_rows() == _rows(9)

    def test_it_says_how_far_one_is_behind(self, case: SourceCase) -> None:
        reading = Reading(case)
        _put(case, 3)
        before = reading.source.lag(reading.log, reading.source.available())
        assert all(behind is None or behind > 0 for behind in before[:3])
        reading.drain()
        after = reading.source.lag(reading.log, reading.source.available())
        assert all(behind in (None, 0) for behind in after[:3])
        assert not any((after.partitions or {}).values())

    def test_its_version_changes_with_what_is_there(self, case: SourceCase) -> None:
        reading = Reading(case)
        versions = []
        for first in (0, 2):
            _put(case, 2, first)
            versions += [reading.source.version(reading.source.available()) for _ in range(2)]
        assert versions[0] == versions[1] != versions[2] == versions[3]

    def test_telling_it_of_progress_changes_nothing(self, case: SourceCase) -> None:
        reading = Reading(case, more=case.limit.options)
        _put(case, 7)
        while (entry := reading.admit()) is not None:
            reading.source.committed(entry)
            reading.restart()
            reading.source.committed(entry)  # after a crash it may be told again
        assert reading.log.last() >= 0
        assert reading.all_rows() == _rows(7)

    def test_what_is_folded_was_taken_all_the_same(
        self, case: SourceCase, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(entry_log, "_KEPT", 1)
        monkeypatch.setattr(entry_log, "_WORTH_FOLDING", 2)
        reading = Reading(case)
        for number in range(6):
            _put(case, 1, number)
            (entry,) = reading.drain()
            assert reading.rows(entry) == _rows(1, number)
            reading.log.fold(number, reading.source.folded)
            reading.source.committed(entry)
            reading.restart()
            assert reading.admit() is None
            reading.source.committed(entry)

    def test_what_is_folded_of_samples_was_taken_all_the_same(self, case: SourceCase) -> None:
        if not find_connector(case.connector).samples:
            return
        sample: Mapping[str, OptionValue] = {"sample": "latest every 1 ms"}
        _put(case, 5)
        reading = Reading(case, more=sample)
        reading.drain()
        folded = reading.source.folded(entry for _, entry in reading.numbered())
        if folded is None:
            return
        other = Reading(case, "other", more=sample)
        other.log.append(folded)
        assert other.admit() is None
        _put(case, 3, first=5)
        await_that(lambda: other.admit() is not None, "what is new is taken")
        assert other.rows(other.log.entry(1), 1) == _rows(1, first=7)

    # --- entries and ranges -----------------------------------------------------------------------

    def test_entries_are_json(self, case: SourceCase) -> None:
        reading = Reading(case)
        _put(case, 5)
        proposed = reading.source.admit(reading.log, reading.source.available())
        assert json.loads(json.dumps(proposed)) == proposed
        number = reading.log.append(proposed)
        assert EntryLog(reading.folder / "log").entry(number) == proposed
        whole = reading.source.whole(reading.source.available())
        assert json.loads(json.dumps(whole)) == whole

    def test_an_entry_is_cut_in_one_way(self, case: SourceCase) -> None:
        reading = Reading(case)
        _put(case, 4)
        _put(case, 2_500, first=4, together=True)
        available = reading.source.available()
        entry = reading.source.whole(available)
        cuts = []
        for tasks in (1, 2, 3, 8):
            shares = reading.source.split(entry, tasks)
            assert 1 <= len(shares) <= tasks
            assert all(share.ranges for share in shares), "a task has nothing to do"
            again = find_connector(case.connector).source(reading.spec.declared)
            assert again.split(json.loads(json.dumps(entry)), tasks) == shares
            cuts.append(sorted(_placed(share, at) for share in shares for at in _numbers(share)))
            assert len(reading.rows(entry, tasks=tasks)) == 2_504
        assert all(cut == cuts[0] for cut in cuts), "keys and places depend on the number of tasks"

    def test_ranges_can_be_told_apart_and_carried(self, case: SourceCase) -> None:
        reading = Reading(case)
        keys = []
        for first in (0, 3, 6):
            _put(case, 3, first)
            for entry in reading.drain():
                for share in reading.source.split(entry, 2):
                    assert pickle.loads(pickle.dumps(share)) == share
                    keys += [read.key for read in share.ranges]
        assert len(set(keys)) == len(keys)

    def test_a_size_is_a_number_of_bytes(self, case: SourceCase) -> None:
        reading = Reading(case)
        _put(case, 50, together=True)
        assert reading.source.size(reading.source.whole(reading.source.available())) > 500

    # --- reading ----------------------------------------------------------------------------------

    def test_an_entry_that_is_read_again_has_the_same_rows(self, case: SourceCase) -> None:
        reading = Reading(case)
        _put(case, 5)
        reading.drain()
        first, counted = reading.all_rows(), reading.counts
        _put(case, 5, first=5)
        reading.restart()
        assert reading.all_rows() == first
        assert reading.counts == counted

    def test_only_what_is_wanted_is_read(self, case: SourceCase) -> None:
        _put(case, 3)
        one = Reading(case, "one", demand=fields({"n": ALL}))
        one.drain()
        assert one.all_rows() == [{"n": n} for n in range(3)]
        nothing = Reading(case, "nothing", demand=NOTHING)
        nothing.drain()
        assert nothing.all_rows() == [{}] * 3

    def test_a_task_without_a_share_reads_nothing(self, case: SourceCase) -> None:
        reading = Reading(case)
        _put(case, 1)
        (entry,) = reading.drain()
        assert list(read_entry(reading.spec, entry, 0, 7, 8)) == []

    def test_of_a_sample_only_the_newest_payload_is_decoded(self, case: SourceCase) -> None:
        if not find_connector(case.connector).samples:
            return
        reading = Reading(case, more={"sample": "latest every 1 ms"})
        for first in (0, 10):
            _put(case, 3, first)
            _put(case, 4, first + 3, together=True)
            await_that(lambda: reading.admit() is not None, "a sample is taken")
            reading.restart()
        assert reading.all_rows() == reading.all_rows() == [row(6), row(16)]
        assert reading.counts.payloads == 2
        whole = reading.source.whole(reading.source.available())
        assert reading.rows(whole, 2) == [row(16)]

    def test_what_is_read_is_counted(self, case: SourceCase) -> None:
        reading = Reading(case)
        _put(case, 5)
        reading.drain()
        reading.all_rows()
        assert (reading.counts.payloads, reading.counts.rows_shipped) == (5, 5)


def _numbers(share: Share) -> range:
    assert len(share.places) == len(share.ranges)
    return range(len(share.ranges))


def _placed(share: Share, at: int) -> tuple[str, int]:
    read = share.ranges[at]
    return read.key, -1 if isinstance(read, Segmented) else share.places[at]


class PayloadLaws:
    """For sources that deliver payloads: bad ones are found where they are said to be."""

    BAD = b'{"n": 1, "s'

    def _mixed(self, case: SourceCase) -> Reading:
        """The same bad payload four times, twice in one put."""
        for first in (0, 10):
            case.put([document(first), self.BAD, document(first + 1), self.BAD])
        return Reading(case)

    def test_bad_payloads_are_letters_that_say_where(self, case: SourceCase) -> None:
        reading = self._mixed(case)
        reading.drain()
        assert reading.all_rows() == [row(n) for n in (0, 1, 10, 11)]
        letters = reading.letters
        assert [letter["payload"].encode() for letter in letters] == [self.BAD] * 4
        taken = ("source", "reason", "payload")
        places = [{k: v for k, v in letter.items() if k not in taken} for letter in letters]
        assert [case.payload_at(place) for place in places] == [self.BAD] * 4
        assert len({json.dumps(place) for place in places}) == 4
        assert (reading.counts.payloads, reading.counts.bad) == (8, 4)

    def test_reading_again_leaves_the_same_letters(self, case: SourceCase) -> None:
        reading = self._mixed(case)
        reading.drain()
        reading.all_rows()
        letters, counts = reading.letters, reading.counts
        reading.restart()
        reading.all_rows()
        assert reading.letters == letters
        assert reading.counts == counts

    def test_pipelines_leave_the_same_letters(self, case: SourceCase) -> None:
        """Also when they take what is there in other portions, and so read other ranges."""
        one = self._mixed(case)
        other = Reading(case, "other", more=case.limit.options)
        for reading in (one, other):
            reading.drain()
            reading.all_rows()
        assert len(one.letters) == 4

    def test_a_sample_that_is_bad_is_a_letter(self, case: SourceCase) -> None:
        if not find_connector(case.connector).samples:
            return
        reading = Reading(case, more={"sample": "latest every 1 ms"})
        case.put([self.BAD, document(20)])
        case.put([document(21), self.BAD])
        reading.admit()
        assert reading.all_rows() == reading.all_rows() == []
        assert [letter["payload"].encode() for letter in reading.letters] == [self.BAD]
        assert (reading.counts.payloads, reading.counts.bad) == (1, 1)

    def test_bad_payloads_can_be_dropped_or_end_it(self, case: SourceCase) -> None:
        reading = self._mixed(case)
        reading.drain()
        reading.on_error("drop")
        assert len(reading.all_rows()) == 4
        assert reading.letters == []
        assert reading.counts.bad == 4
        reading.on_error("fail")
        with pytest.raises(BadPayloadError):
            reading.all_rows()
        assert reading.letters == []


class LossLaws:
    """For sources whose data may be gone when its turn comes."""

    def test_what_is_lost_is_one_letter(self, case: SourceCase) -> None:
        reading = Reading(case)
        _put(case, 4, together=True)
        entries = reading.drain()
        expected = case.lose()
        for _ in range(2):
            for entry in entries:
                for tasks in (1, 3):
                    assert reading.rows(entry, tasks=tasks) == []
            assert len(reading.letters) == expected
        assert reading.counts.bad == expected

    def test_what_is_lost_can_end_it(self, case: SourceCase) -> None:
        reading = Reading(case)
        _put(case, 4, together=True)
        (entry,) = reading.drain()
        case.lose()
        reading.on_error("fail")
        with pytest.raises(BadPayloadError):
            reading.rows(entry)
