"""Figures as Prometheus reads them."""

from understudy.kube.prometheus import CallbackMetric, Counter, Histogram, exposition


def test_a_counter_says_what_it_counts_and_how_much() -> None:
    seats = Counter("seats_total", "Seats taken.")
    seats.add()
    seats.add(by=2.5)
    assert exposition([seats]) == "# HELP seats_total Seats taken.\n# TYPE seats_total counter\nseats_total 3.5\n"


def test_one_with_labels_has_a_line_for_each_that_was_seen_and_none_before() -> None:
    writes = Counter("writes_total", "Writes.", ["verb", "code"])
    assert exposition([writes]).count("\n") == 2
    writes.add("create", "201")
    writes.add("bind", 'a "quoted"\nback\\slash')
    assert exposition([writes]).splitlines()[2:] == [
        'writes_total{verb="bind",code="a \\"quoted\\"\\nback\\\\slash"} 1',
        'writes_total{verb="create",code="201"} 1',
    ]


def test_a_histogram_counts_upwards() -> None:
    took = Histogram("took_seconds", "How long.", (0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 30.0):
        took.observe(seconds)
    assert exposition([took]).splitlines()[2:] == [
        'took_seconds_bucket{le="0.1"} 2',
        'took_seconds_bucket{le="1"} 3',
        'took_seconds_bucket{le="+Inf"} 4',
        "took_seconds_sum 30.65",
        "took_seconds_count 4",
    ]


def test_a_gauge_is_asked_when_it_is_told() -> None:
    age = 1.25
    gauge = CallbackMetric("age_seconds", "Age.", lambda: [((), age)])
    assert exposition([gauge]).splitlines()[1:] == ["# TYPE age_seconds gauge", "age_seconds 1.25"]
    age = 2.0
    assert exposition([gauge]).splitlines()[-1] == "age_seconds 2"
