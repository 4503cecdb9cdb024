"""The parts that pictures in the documentation are drawn from. Places are pixels, colours those of the style sheet."""

from collections.abc import Iterable
from html import escape

INK, FAINT, GRID = "#24292f", "#8a929c", "#e6e9ee"
BAR = 22


def picture(width: int, height: int, parts: Iterable[str]) -> str:
    style = "font-family='ui-sans-serif, system-ui, sans-serif' font-size='12'"
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' {style}>"
    background = f"<rect width='{width}' height='{height}' rx='8' fill='#fff' stroke='#d8dce2'/>"
    return "\n".join([head, background, *parts, "</svg>"]) + "\n"


def bar(begin: float, end: float, y: float, colour: str, title: str, more: str = "") -> str:
    box = f"x='{begin:.1f}' y='{y}' width='{max(end - begin, 1):.1f}' height='{BAR}' rx='3'"
    return f"<rect {box} fill='{colour}'{more}><title>{escape(title)}</title></rect>"


def line(begin: tuple[float, float], end: tuple[float, float], colour: str = FAINT, more: str = "") -> str:
    (x1, y1), (x2, y2) = begin, end
    return f"<line x1='{x1:.1f}' y1='{y1:g}' x2='{x2:.1f}' y2='{y2:g}' stroke='{colour}'{more}/>"


def text(
    x: float, y: float, words: str, colour: str = INK, *, anchor: str = "start", size: int = 12, weight: int = 400
) -> str:
    where = f"x='{x:.1f}' y='{y}' fill='{colour}' text-anchor='{anchor}' font-size='{size}' font-weight='{weight}'"
    halo = "paint-order='stroke' stroke='#fff' stroke-width='3'" if colour != "#fff" else ""
    return f"<text {where} {halo}>{escape(words)}</text>"
