"""What the experiments that plans follow found from 2009 to 2011, beside which a page puts its own answer."""

from __future__ import annotations

#: By the code of the experiment.
FOUND = {
    "E1": "blocks in parallel were 10 to 24 times as fast as one stream (1 GB in 1.86 minutes, not 46.37);"
    " 1 MB was the best fixed size, and files below 1 MB gained nothing.",
    "E2": "the rate rose with the size of the node; uploads in blocks won on every size, and downloads in"
    " pieces lost, as half of their time went into joining the pieces.",
    "E3": "several whole files at once moved 86 % more than one after another, though each was 40 % slower;"
    " downloads in pieces had 77 % less.",
    "E4": "20 nodes moved 500 GB in about 10 minutes; against 20 times one node, uploads lost 25 to 45 % and"
    " downloads 18 to 39 %.",
    "E5": "puts of 50 to 500 KB took 31 to 95 ms whatever they were made from, and a write stream 222 to"
    " 278 ms.",
    "E6": "the rate fell from 2.74 to 0.15 Mbit/s in one step, a fault and no drift, and every block of 4 MB"
    " was lost until a person chose smaller ones.",
    "E8": "rows as JSON in one answer took 14.4 s and by page 18.6 s; a proxy before the store cost almost"
    " nothing.",
}
