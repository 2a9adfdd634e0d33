"""Renders all reports as one HTML page. Templates autoescape; charts are SVG markup."""

from collections.abc import Mapping
from datetime import datetime
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from routebook.lake.reports.formatting import duration, local_time, number, percent, shortened
from routebook.lake.reports.html.bars import demand_by_topic, demand_over_time, skew_histogram
from routebook.lake.reports.html.calendar import LEGEND, calendar
from routebook.lake.reports.html.curve import tradeoff_curve
from routebook.lake.reports.html.timeline import divergence_timeline, outage_timeline
from routebook.lake.reports.scope import Report, zone_of
from routebook.lake.reports.topics import SKEWED

_MAX_TOPICS = 20
_PACKAGE = "routebook.lake.reports.html"
_ENVIRONMENT = Environment(
    loader=PackageLoader(_PACKAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_CHARTS = {
    "calendar": calendar,
    "outage_timeline": outage_timeline,
    "divergence_timeline": divergence_timeline,
    "tradeoff_curve": tradeoff_curve,
    "skew_histogram": skew_histogram,
    "demand_over_time": demand_over_time,
    "demand_by_topic": demand_by_topic,
}
_ENVIRONMENT.filters |= {"duration": duration, "number": number, "percent": percent, "shortened": shortened, **_CHARTS}


def page(reports: Mapping[str, Report]) -> str:
    """One document with all reports, by name as `all_reports` returns them."""
    first = reports["availability"]
    zone = zone_of(first.zone)

    def time(at: str | None) -> str:
        return local_time(at, zone)

    begin, end = (datetime.fromisoformat(text).astimezone(zone) for text in (first.from_, first.to))
    return _ENVIRONMENT.get_template("page.html.j2").render(
        **reports,
        time=time,
        period=f"{begin:%-d %B %Y} to {end:%-d %B %Y}",
        style=Markup(files(_PACKAGE).joinpath("style.css").read_text(encoding="utf-8")),  # noqa: S704  # our own file
        calendar_legend=LEGEND,
        total_availability=_total_availability(reports["availability"]),
        risky_topics=_risky_topics(reports["placement"]),
    )


def _total_availability(report: Any) -> float | None:
    cells = [cell for broker in report.brokers for cell in broker.cells if cell is not None]
    observed = sum(cell.seen for cell in cells)
    return sum(cell.up for cell in cells) / observed if observed else None


def _risky_topics(report: Any) -> list[Any]:
    risky = [one for one in report.topics if one.no_master or one.single_broker or (one.skew or 1) >= SKEWED]
    return risky[:_MAX_TOPICS]
