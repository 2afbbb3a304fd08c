"""Fixtures for tests of programs that use tenure. pytest finds them when tenure is installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tenure


@pytest.fixture
def tenure_clock() -> tenure.Clock:
    """A clock that runs as usual, and that ``tenure_clock.advance(seconds)`` moves forward."""
    return tenure.Clock()


@pytest.fixture
def tenure_memory(tenure_clock: tenure.Clock) -> Iterator[tenure.Tenure]:
    """A tenure in the memory of this process, on ``tenure_clock``. It is the default tenure during the test."""
    opened = tenure.memory(tenure_clock)
    before = tenure.set_default(opened)
    try:
        yield opened
    finally:
        tenure.set_default(before)
