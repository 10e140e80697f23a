"""Why a vector exists: each flag names a kind of mistake that it catches."""

from types import MappingProxyType
from typing import Final

FLAGS: Final = MappingProxyType(
    {
        "aa": "both sides are the same plan: whoever promotes it, promotes noise",
        "bans": "a ban or exclusion must last exactly as long as stated, and no longer",
        "boundary": "a value exactly at a limit, or one step to either side",
        "clock": "clocks that stand still, jump, or disagree between machines",
        "concurrency": "more than one request under way; none may wait for another",
        "device": "a device in doubt takes its whole environment out",
        "empty": "nothing given: no sample, no name, no candidate",
        "even-count": "the median of an even count is the exact mean of the middle two",
        "eviction": "what leaves when memory is full, and what leaves with it",
        "exact": "a result that floating-point arithmetic would round",
        "large": "sizes or counts near the largest that are allowed",
        "noise": "blocks that disagree, outliers, unlucky orders",
        "order": "the result must not depend on an order that means nothing",
        "peeking": "a test that is looked at after every step",
        "policy": "a field of the policy at its edge",
        "protocol": "an event that answers nothing, or the wrong thing",
        "store-fault": "a store that fails, lies, is damaged or is not understood",
        "ties": "equal values: the stated tie-break decides, never chance",
        "trust": "a record or a check that must not be believed",
        "types": "a value of the wrong type or out of its range",
        "unicode": "names and keys outside ASCII",
        "usual": "the ordinary case, which must work before the others mean anything",
        "verification": "checks that fail, cannot be made, or were made on synthetic feeds",
        "workspace": "limits on extra memory, and needs that nobody knows",
    }
)
"""Flag and reason."""
