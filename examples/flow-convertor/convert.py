"""Rules for one pipeline as rules for another that does the same: what packets undergo from end to
end, written down once, and divided again."""

from typing import Dict, List, NamedTuple, Optional, Tuple

WIDTH = {'ipv4_src': 32, 'ipv4_dst': 32, 'udp_dst': 16}
Match = Dict[str, Tuple[int, int]]  # value and mask by field


class Rule(NamedTuple):
    """What matches, what is set, and the port; without a port and a next table, a drop."""
    match: Match
    sets: Dict[str, int]
    port: Optional[int] = None
    following: Optional[int] = None


def both(one: Match, other: Match) -> Optional[Match]:
    """What two matches match, or None if there is nothing."""
    found = dict(one)
    for field, (value, mask) in other.items():
        before, bits = found.get(field, (0, 0))
        if (before ^ value) & bits & mask:
            return None
        found[field] = (before | value, bits | mask)
    return found


def behind(match: Match, sets: Dict[str, int]) -> Optional[Match]:
    """What a match asks of the packet as it arrived, if fields have been set; None if it fails."""
    asked = {}
    for field, (value, mask) in match.items():
        if field not in sets:
            asked[field] = (value, mask)
        elif (sets[field] ^ value) & mask:
            return None
    return asked


def end_to_end(tables: List[List[Rule]], table: int = 0, sets: Optional[Dict[str, int]] = None,
               match: Optional[Match] = None) -> List[Rule]:
    """All paths through tables, the most important first: each as one rule. The rules of a table
    are in the order of their priority."""
    found = []
    for rule in tables[table]:
        asked = behind(rule.match, sets or {})
        whole = None if asked is None else both(match or {}, asked)
        if whole is None:
            continue
        changed = {**(sets or {}), **rule.sets}
        if rule.following is None:
            found.append(Rule(whole, changed, rule.port))
        else:
            found += end_to_end(tables, rule.following, changed, whole)
    # What no rule matches is dropped.
    return found + [Rule(match or {}, {})]


def part(match: Match, fields) -> Match:
    """The part of a match that is about some fields."""
    return {field: value for field, value in match.items() if field in fields}


def divide(rules: List[Rule], first_fields) -> Tuple[List[Match], List[List[Rule]]]:
    """Classes of packets by some fields, the most specific first, and the rules of each class by
    the other fields. Classes are all intersections of what rules ask of the first fields: so the
    first that matches is that of all rules that may."""
    classes: List[Match] = []
    for rule in rules:
        one = part(rule.match, first_fields)
        for new in [one, *(both(one, other) for other in classes)]:
            if new is not None and new not in classes:
                classes.append(new)
    classes.sort(key=lambda one: -sum(bin(mask).count('1') for _, mask in one.values()))
    rest = [field for field in WIDTH if field not in first_fields]
    return classes, [[rule._replace(match=part(rule.match, rest)) for rule in rules
                     if both(part(rule.match, first_fields), one) == one] for one in classes]
