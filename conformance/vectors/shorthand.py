"""Long texts and long lists in a few characters, so that limits of megabytes fit into a file.

Two forms may stand anywhere in a vector: `{"$repeat": "x", "$times": 5000}` is the text of so many
x, and `{"$each": item, "$times": 4097}` is the array of so many items, in whose strings `{n}` is
the place from 0 on. `expanded` puts the meant value in their place; it is what gets compared and
sent.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from spec.canonical_json import Json

REPEAT: Final = "$repeat"
EACH: Final = "$each"
TIMES: Final = "$times"
PLACE: Final = "{n}"
LONG_TEXT: Final = 256
LONG_LIST: Final = 128


def expanded(json: Json) -> Json:
    """Return the JSON that is meant."""
    if isinstance(json, Mapping):
        times = json.get(TIMES)
        if isinstance(times, int):
            text = json.get(REPEAT)
            if isinstance(text, str):
                return text * times
            return [_placed(json[EACH], place) for place in range(times)]
        return {name: expanded(one) for name, one in json.items()}
    if isinstance(json, Sequence) and not isinstance(json, str):
        return [expanded(one) for one in json]
    return json


def shortened(json: Json) -> Json:
    """Return JSON that means the same and is short. `expanded` undoes it."""
    if isinstance(json, str):
        if len(json) > LONG_TEXT and json == json[0] * len(json):
            return {REPEAT: json[0], TIMES: len(json)}
        return json
    if isinstance(json, Mapping):
        return {name: shortened(one) for name, one in json.items()}
    if isinstance(json, Sequence):
        if len(json) > LONG_LIST:
            last = len(json) - 1
            item = _unplaced(json[last], last)
            if all(_placed(item, place) == one for place, one in enumerate(json)):
                return {EACH: item, TIMES: len(json)}
        return [shortened(one) for one in json]
    return json


def _placed(item: Json, place: int) -> Json:
    if isinstance(item, str):
        return item.replace(PLACE, str(place))
    if isinstance(item, Mapping):
        return {name: _placed(one, place) for name, one in item.items()}
    if isinstance(item, Sequence):
        return [_placed(one, place) for one in item]
    return item


def _unplaced(item: Json, place: int) -> Json:
    if isinstance(item, str):
        return item.replace(str(place), PLACE)
    if isinstance(item, Mapping):
        return {name: _unplaced(one, place) for name, one in item.items()}
    if isinstance(item, Sequence):
        return [_unplaced(one, place) for one in item]
    return item
