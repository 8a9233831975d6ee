"""From a drawing to inline SVG: page colours, text as text, ids of its own, the same bytes every time."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "FLAT",
    "FOURTH",
    "GAIN",
    "INK",
    "LINE",
    "LOSS",
    "MUTED",
    "THIRD",
    "WIDTH",
    "draw",
    "panel",
    "write",
]

# The width of every figure, in points: near that of a phone's screen, so that text keeps its size there.
WIDTH = 380.0

# Stand-ins that matplotlib draws with; `draw` puts the page's colours in their place, so that one picture
# serves light and dark pages. The fallbacks after the names are for a picture taken out of its page: blue and
# vermilion, which colour-blind readers tell apart.
INK, MUTED, LINE = "#a5e001", "#a5e002", "#a5e003"
GAIN, LOSS, FLAT, THIRD, FOURTH = "#a5e004", "#a5e005", "#a5e006", "#a5e007", "#a5e008"
_PAINT = {
    INK: "currentColor",
    MUTED: "var(--muted, #5a616b)",
    LINE: "var(--line, #c9cdd3)",
    GAIN: "var(--gain, #0b6cab)",
    LOSS: "var(--loss, #c2500a)",
    FLAT: "var(--flat, #868d97)",
    THIRD: "var(--third, #a0568c)",
    FOURTH: "var(--fourth, #0a8060)",
}
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "askew",
    "font.size": 12.0,
    "xtick.labelsize": 11.0,
    "ytick.labelsize": 11.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_NO_METADATA = {"Creator": None, "Date": None, "Format": None, "Type": None}
_SVG = "http://www.w3.org/2000/svg"
_REFERENCE = re.compile(r"(?<=#)[\w.-]+")


def draw(
    name: str,
    paint: Callable[[Figure], None],
    *,
    height: float,
    title: str,
    description: str,
) -> str:
    """Draw a figure as an ``<svg>`` element.

    Args:
        name: put before every id, so that two figures of one page share none.
        paint: draws on the empty figure. An artist whose gid begins with ``mark-`` keeps it, after `name`.
        height: in points.
        title: what a screen reader names the figure.
        description: what it shows, in words.
    """
    import matplotlib as mpl  # noqa: PLC0415 - slow to import, and only a rendering needs it
    from matplotlib.figure import Figure  # noqa: PLC0415 - the same

    text = io.StringIO()
    with mpl.rc_context():
        mpl.rcdefaults()  # a user's own style must not change the picture
        mpl.rcParams.update(_SETTINGS)
        figure = Figure(figsize=(WIDTH / 72, height / 72))
        paint(figure)
        figure.savefig(text, format="svg", transparent=True, metadata=_NO_METADATA)
    root = ET.fromstring(text.getvalue())  # noqa: S314 - matplotlib wrote it a line ago
    _strip(root)
    _rename(root, name)
    _paint(root)
    _describe(root, name, title, description)
    return ET.tostring(root, encoding="unicode")


def panel(figure: Figure, box: tuple[float, float, float, float]) -> Axes:
    """Axes in a box of left, top, right and bottom margins in points, the origin at the top left.

    Margins are fixed rather than fitted: fitting measures text with this machine's fonts, not the reader's.
    """
    width, height = (72 * side for side in figure.get_size_inches())
    left, top, right, bottom = box
    axes = figure.add_axes(
        (left / width, 1 - bottom / height, (right - left) / width, (bottom - top) / height), facecolor="none"
    )
    axes.tick_params(length=3, width=0.6, pad=3)
    for spine in axes.spines.values():
        spine.set_linewidth(0.6)
    return axes


def write(
    figure: Figure,
    at: tuple[float, float],
    text: str,
    *,
    align: Literal["left", "center", "right"] = "left",
    colour: str = INK,
) -> None:
    """Write a line of text at a point, in points from the top left; bold where it has a colour of its own."""
    width, height = (72 * side for side in figure.get_size_inches())
    weight = "normal" if colour in (INK, MUTED) else "bold"
    figure.text(
        at[0] / width,
        1 - at[1] / height,
        text,
        ha=align,
        color=colour,
        weight=weight,
        parse_math=False,  # a name may hold a dollar sign
    )


def _strip(root: ET.Element) -> None:
    """Drop namespaces, metadata, and the style element, which would reach every SVG of the page."""
    for parent in list(root.iter()):
        parent.tag = parent.tag.split("}")[-1]
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
        if (link := parent.attrib.pop("{http://www.w3.org/1999/xlink}href", None)) is not None:
            parent.set("href", link)
    for element in root.iter():
        if element.tag != "text" and not (element.text or "").strip():
            element.text = None
        element.tail = None
        if "d" in element.attrib:
            element.set("d", " ".join(element.attrib["d"].split()))


def _rename(root: ET.Element, name: str) -> None:
    """Keep the ids that something refers to and the marks, under the figure's own name."""
    used = {found for _, value in _links(root) for found in _REFERENCE.findall(value)}
    for element in root.iter():
        old = element.attrib.pop("id", None)
        if old is not None and (old in used or old.startswith("mark-")):
            element.set("id", f"{name}-{old}")
    for element, value in list(_links(root)):
        key = "href" if "href" in element.attrib else "clip-path"
        element.set(key, value.replace("#", f"#{name}-"))


def _links(root: ET.Element) -> Iterator[tuple[ET.Element, str]]:
    for element in root.iter():
        for key in ("href", "clip-path"):
            if "#" in element.attrib.get(key, ""):
                yield element, element.attrib[key]


def _paint(root: ET.Element) -> None:
    """Put the page's colours for the stand-ins, and leave fonts to the page."""
    stand_in = re.compile("|".join(_PAINT))
    for element in root.iter():
        style = element.attrib.get("style")
        if style is None:
            continue
        style = stand_in.sub(lambda found: _PAINT[found.group()], style)
        element.set("style", re.sub(r"font-family:[^;]*;?\s*", "", style).strip())


def _describe(root: ET.Element, name: str, title: str, description: str) -> None:
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.attrib = {
        "xmlns": _SVG,
        **root.attrib,
        "role": "img",
        "aria-labelledby": f"{name}-title {name}-desc",
        "font-family": "system-ui, sans-serif",
        "stroke-linejoin": "round",
    }
    for tag, text in (("desc", description), ("title", title)):
        element = ET.Element(tag, {"id": f"{name}-{tag}"})
        element.text = text
        root.insert(0, element)
