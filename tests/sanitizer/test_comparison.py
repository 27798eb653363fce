"""The comparison of sequences: what is a divergence, where it began, and what is none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from distlint.hardware.sanitizer.alignment import Side, first_gap
from distlint.hardware.sanitizer.comparison import Comparison, Divergence, Kind
from distlint.hardware.sanitizer.disagreement import disagree, ranks_text
from distlint.hardware.sanitizer.events import Agreed, Collective, Frame, Group, PointToPoint

ALL = Group("0", "default_pg", (0, 1))


def _comparison(alternatives: bool = False) -> Comparison:
    return Comparison(lambda one, two: alternatives, lambda stack: stack)


def _call(
    line: int, name: str = "all_reduce", agreed: Agreed = (("number of elements", "4"),)
) -> Collective:
    return Collective(name, "0", agreed, "float32[4]", (Frame("train.py", line, "main"),))


def _compare(
    left: list[Collective], right: list[Collective], *, alternatives: bool = False
) -> tuple[Comparison, Divergence | None]:
    """Feed two ranks in turn; the first divergence before either has ended."""
    comparison = _comparison(alternatives)
    comparison.add_group(ALL)
    for index in range(max(len(left), len(right))):
        for rank, side in enumerate((left, right)):
            if index < len(side) and (found := comparison.add(rank, side[index])):
                return comparison, found
    return comparison, None


def _lines(found: Divergence | None) -> list[int | None]:
    assert found is not None
    operations = [found.operations[rank] for rank in sorted(found.operations)]
    return [operation.stack[0].line if operation else None for operation in operations]


def test_equal_sequences_do_not_diverge() -> None:
    calls = [_call(1), _call(2, "barrier", ()), _call(1)]
    comparison, found = _compare(calls, calls)
    assert found is None
    assert comparison.missing({0, 1}, {0, 1}) is None


def test_another_kind_size_or_root_is_a_mismatch() -> None:
    for other in (_call(2, "barrier", ()), _call(2, agreed=(("number of elements", "5"),))):
        _, found = _compare([_call(1)], [other])
        assert found is not None and found.kind is Kind.MISMATCH
    _, found = _compare(
        [_call(1, "broadcast", (("root", "rank 0"),))],
        [_call(1, "broadcast", (("root", "rank 1"),))],
    )
    assert _lines(found) == [1, 1]


def test_a_rank_that_ended_early_is_missing() -> None:
    comparison, found = _compare([_call(1), _call(2)], [_call(1)])
    assert found is None
    missing = comparison.missing({1}, {1})
    assert missing is not None and (missing.kind, missing.index) == (Kind.MISSING, 2)
    assert _lines(missing) == [2, None]


def test_an_extra_collective_is_found_where_it_stands_not_where_it_shows() -> None:
    """Rank 0 has one more in each pass of the loop; each pairs with the next one of rank 1."""
    matched = [_call(7)] * 20, [_call(9)] * 20
    comparison, found = _compare(
        matched[0] + [_call(14), _call(15)] * 2 + [_call(14)], matched[1] + [_call(15)] * 4
    )
    assert found is None
    missing = comparison.missing({1}, {1})
    assert missing is not None and (missing.index, missing.later) == (21, 25)
    assert _lines(missing) == [14, 15]


def test_an_extra_one_before_a_mismatch_is_found() -> None:
    left = [_call(1), _call(5), _call(6), _call(7), _call(8, "barrier", ())]
    right = [_call(1), _call(6), _call(7), _call(8, "barrier", ())]
    _, found = _compare(left, right)
    assert found is not None and (found.kind, found.index, found.later) == (Kind.MISMATCH, 2, 4)


def test_two_that_look_alike_swapped() -> None:
    _, found = _compare([_call(1), _call(2)], [_call(2), _call(1)])
    assert found is not None and (found.kind, found.index, found.later) == (Kind.SWAPPED, 1, 2)
    assert _lines(found) == [1, 2]


def test_calls_of_one_text_swapped_in_lines_of_their_own() -> None:
    """Lines 3 and 7 hold one call, lines 4 and 6 another."""
    calls = {3: "loss", 7: "loss", 4: "norm", 6: "norm"}
    comparison = Comparison(lambda one, two: True, lambda stack: calls[stack[0].line])
    comparison.add_group(ALL)
    for rank, line in ((0, 3), (1, 6), (0, 4)):
        assert comparison.add(rank, _call(line)) is None
    found = comparison.add(1, _call(7))
    assert found is not None and (found.kind, found.index, found.later) == (Kind.SWAPPED, 1, 2)


def test_a_flat_tensor_stands_for_any_shape_and_a_transposed_one_does_not() -> None:
    def differ(*shapes: tuple[int, ...]) -> bool:
        left, right = (Collective("broadcast", "0", (), "", (), (shape,)) for shape in shapes)
        return disagree(ALL, (0, left), (1, right))

    assert not differ((2, 3), (6,)) and not differ((2, 3), (1, 2, 3)) and not differ((1,), ())
    assert differ((2, 3), (3, 2)) and differ((2, 3, 4), (6, 4))


def test_ranks_in_a_row_are_a_range() -> None:
    assert ranks_text([5]) == "rank 5"
    assert ranks_text([0, 1]) == "ranks 0, 1"
    assert ranks_text([9, 1, 2, 3, 7, 8, 15]) == "ranks 1-3, 7-9, 15"


def test_arms_of_a_branch_whose_roles_rotate_are_not_swapped() -> None:
    assert _compare([_call(1), _call(2)], [_call(2), _call(1)], alternatives=True)[1] is None
    first, second = (("root", "rank 0"),), (("root", "rank 1"),)
    left = [_call(1, "broadcast", first), _call(2, "broadcast", second)]
    right = [_call(2, "broadcast", first), _call(1, "broadcast", second)]
    assert _compare(left, right)[1] is None


def test_matched_arms_are_no_divergence() -> None:
    assert _compare([_call(1)] * 5, [_call(2)] * 5)[1] is None


def test_groups_have_sequences_of_their_own() -> None:
    comparison = _comparison()
    comparison.add_group(ALL)
    comparison.add_group(Group("tp", "tensor", (1, 2)))
    in_group = Collective("barrier", "tp", (), "", ())
    assert comparison.add(0, _call(1)) is None
    assert comparison.add(1, in_group) is None
    assert comparison.add(1, _call(1)) is None
    assert comparison.missing({0}, {0}) is None
    missing = comparison.missing({0, 2}, set())
    assert missing is not None and missing.group is not None and missing.group.name == "tp"
    assert missing.operations == {1: in_group, 2: None}


def _message(name: str, source: int | None, destination: int, size: int = 4) -> PointToPoint:
    agreed = (("number of elements", str(size)),)
    return PointToPoint(name, "0", source, destination, 0, agreed, "", ())


def test_sends_and_receives_belong_in_order() -> None:
    comparison = _comparison()
    comparison.add_group(ALL)
    assert comparison.add_point_to_point(0, _message("send", 0, 1)) is None
    assert comparison.add_point_to_point(1, _message("recv", 0, 1)) is None
    assert comparison.missing({0, 1}, {0, 1}) is None
    assert comparison.add_point_to_point(0, _message("send", 0, 1, 3)) is None
    found = comparison.add_point_to_point(1, _message("recv", 0, 1, 4))
    assert found is not None and found.kind is Kind.MISMATCH


def test_a_send_without_its_receive_is_missing_unless_any_source_may_take_it() -> None:
    comparison = _comparison()
    comparison.add_group(ALL)
    comparison.add_point_to_point(0, _message("send", 0, 1))
    missing = comparison.missing({1}, {1})
    assert missing is not None and missing.operations == {0: _message("send", 0, 1), 1: None}
    comparison.add_point_to_point(1, _message("recv", None, 1))
    assert comparison.missing({1}, {1}) is None


@given(
    st.lists(st.integers(0, 3), max_size=30),
    st.integers(4, 6),
    st.lists(st.integers(0, 3), max_size=30),
)
def test_one_extra_item_is_found_within_its_run_of_equals(
    before: list[int], extra: int, after: list[int]
) -> None:
    """An item of a kind of its own, inserted on one side, is where the gap is."""
    left, right = [*before, extra, *after, 9], [*before, *after, 9]
    shown = len(right)
    gap = first_gap(Side(left, True), Side(right, True), shown, lambda one, two: False)
    assert gap == len(before)


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(0, 40))
def test_no_gap_where_nothing_differs(items: list[int], shown: int) -> None:
    side = Side(items, False)
    assert first_gap(side, side, min(shown, len(items)), lambda a, b: False) == min(
        shown, len(items)
    )
