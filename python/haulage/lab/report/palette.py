"""The colours of the report: one list, for charts, lanes and page, by light and by dark.

Charts carry the light colours as they are, so that a chart shown in a notebook or saved as PNG is
right. In the page each of them becomes a CSS variable: the toggle then changes every chart at once,
also the ones that were drawn without JavaScript.
"""

from __future__ import annotations

import colorsys
import re

#: Name: (light, dark). No two light colours are alike, because that is how they are found again.
COLOURS = {
    "ink": ("#1d2733", "#e6ebf0"),
    "muted": ("#5a6775", "#9fabb8"),
    "grid": ("#e4e8ec", "#2f3944"),
    "paper": ("#fefefe", "#171d24"),
    "blue": ("#1f6fb2", "#5fa8e6"),
    "orange": ("#d9661f", "#f0894a"),
    "green": ("#17936a", "#35c495"),
    "amber": ("#d99a00", "#edb83d"),
    "pink": ("#b8618f", "#dd8fb8"),
    "sky": ("#3fa6d6", "#78c6ee"),
    "brown": ("#8a6a4a", "#ba9874"),
    "violet": ("#6c58b0", "#a08fe0"),
    "red": ("#c22f3d", "#ff6b76"),
    "grey": ("#8b96a1", "#8391a0"),
    "pale": ("#cdd4da", "#4a5663"),
}
LIGHT = {name: light for name, (light, _) in COLOURS.items()}

#: For things without an order, told apart also without colour vision as far as eight can be.
CATEGORIES = [
    LIGHT[name]
    for name in ("blue", "orange", "green", "violet", "amber", "sky", "pink", "brown", "red", "grey")
]
#: Beyond those: hues that lie far apart one after another, by turns darker and lighter.
_GOLDEN = 0.61803398875
_TURNS = ((0.42, 0.62), (0.56, 0.50), (0.34, 0.75), (0.62, 0.72))
#: For steps of a quantity, small to large; mid tones that stand out from white and from black.
STEPS = ["#7a4fa3", "#4a68b8", "#2a8fb0", "#2f9f78", "#83a03a", "#cc8f22", "#cd5a3c"]

#: What an attempt, or a lane, spends its time on: the label for people and the colour's name.
PHASES = {
    "disk": ("disk and checksum", "brown"),
    "connect": ("connect", "pink"),
    "send": ("send", "blue"),
    "wait": ("wait for the answer", "amber"),
    "receive": ("receive", "green"),
    "commit": ("commit or write", "violet"),
    "failed": ("failed attempt", "red"),
}

#: The categories of the ledger in its order, with the colours' names; one bar holds all, so no two share one.
LEDGER = {
    "send": "blue",
    "server wait": "amber",
    "receive": "green",
    "commit": "violet",
    "connect": "pink",
    "disk": "brown",
    "hash": "sky",
    "pacing": "orange",
    "throttled": "red",
    "ordering": "ink",
    "no work": "grey",
    "idle": "pale",
}

_BY_LIGHT = {light: name for name, light in LIGHT.items()}
_ANY = re.compile("|".join(map(re.escape, _BY_LIGHT)))


def themed(text: str) -> str:
    """Return SVG or a specification with CSS variables in place of the colours."""
    return _ANY.sub(lambda match: f"var(--{_BY_LIGHT[match[0]]})", text)


def distinct(n: int) -> list[str]:
    """Return ``n`` colours for names without an order, no two alike."""
    found = CATEGORIES[:n]
    number = 0
    while len(found) < n:
        lightness, saturation = _TURNS[number % len(_TURNS)]
        red, green, blue = colorsys.hls_to_rgb(number * _GOLDEN % 1, lightness, saturation)
        made = "#{:02x}{:02x}{:02x}".format(*(round(part * 255) for part in (red, green, blue)))
        number += 1
        if made not in found and made not in _BY_LIGHT:
            found.append(made)
    return found


def steps(n: int) -> list[str]:
    """Return ``n`` colours for the levels of a quantity, from small to large."""
    if n <= 1:
        return STEPS[2 : 2 + n]
    return [_between(index * (len(STEPS) - 1) / (n - 1)) for index in range(n)]


def _between(place: float) -> str:
    low = min(int(place), len(STEPS) - 2)
    share = place - low
    pair = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in STEPS[low : low + 2]]
    mixed = [round(a + (b - a) * share) for a, b in zip(*pair, strict=True)]
    return "#{:02x}{:02x}{:02x}".format(*mixed)
