"""What every connector must do, as tests that a connector inherits.

A connector joins by a *case*, which says how data is made and looked at, and a class that has it:

    class TestMine(SourceLaws, PayloadLaws, LossLaws):
        @pytest.fixture
        def case(self, tmp_path: Path) -> SourceCase:
            return MyCase(tmp_path)

sources.py    for all sources; those that deliver payloads; those that can lose some
sinks.py      for all sinks; those that promise every row once
"""
