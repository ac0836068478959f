"""A decision tree over the lengths of a flow's first packets, learnt from made-up flows."""

import collections
import random

CLASSES = ['web', 'voice', 'video', 'bulk']
PACKETS = 4  # of which the features are
DEPTH = 5
FEATURES = ['mean', 'variance', 'first']  # of lengths: the mean in thousandths, the variance
# What may be asked: feature, and more than what. As many as a table has conditions.
TESTS = [('mean', 250_000), ('mean', 700_000), ('mean', 1_150_000), ('variance', 2_000),
         ('variance', 60_000), ('variance', 200_000), ('first', 200), ('first', 700)]


def flow(choice):
    """A class, and the lengths of a flow's first packets."""
    name = choice.choice(CLASSES)
    lengths = {
        'web': [choice.randint(80, 700)] + [choice.choice([80, 600, 1500]) for _ in range(3)],
        'voice': [choice.randint(100, 320) for _ in range(PACKETS)],
        'video': [choice.randint(500, 1400) for _ in range(PACKETS)],
        'bulk': [choice.choice([80, 1500])] + [1500] * 3,
    }
    return name, lengths[name]


def features(lengths):
    """The features as the switch computes them, in whole numbers."""
    mean = variance = 0
    for count, length in enumerate(lengths):
        before, mean = mean, (mean * count + length * 1000) // (count + 1)
        if count:
            off = (length - before // 1000) * (length - mean // 1000)
            variance = (variance * count + off) % 2**32 // (count + 1)
    return {'mean': mean, 'variance': variance, 'first': lengths[0]}


def answers(lengths):
    """The answers to all tests."""
    values = features(lengths)
    return [values[name] > threshold for name, threshold in TESTS]


def impurity(names):
    """Gini's."""
    shares = [count / len(names) for count in collections.Counter(names).values()]
    return 1 - sum(share ** 2 for share in shares)


def grow(samples, depth=DEPTH):
    """A class, or (test, tree if not, tree if so), that parts samples of (class, answers) best."""
    names = [name for name, _ in samples]
    best, gain = None, 1e-9
    for test in range(len(TESTS) if depth else 0):
        sides = [[name for name, found in samples if found[test] == side] for side in (False, True)]
        if all(sides):
            parted = sum(len(side) * impurity(side) for side in sides) / len(names)
            if impurity(names) - parted > gain:
                best, gain = test, impurity(names) - parted
    if best is None:
        return collections.Counter(names).most_common(1)[0][0]
    sides = [[one for one in samples if one[1][best] == side] for side in (False, True)]
    return (best, *(grow(side, depth - 1) for side in sides))


def decide(tree, found):
    """The class of a flow with these answers."""
    while not isinstance(tree, str):
        tree = tree[1 + found[tree[0]]]
    return tree


def leaves(tree, path=()):
    """Each leaf: the answers on its path as (test, answer), and its class."""
    if isinstance(tree, str):
        yield dict(path), tree
    else:
        for answer in (0, 1):
            yield from leaves(tree[1 + answer], (*path, (tree[0], answer)))


def learn(count=2000, seed=1):
    """The tree of made-up flows."""
    choice = random.Random(seed)
    flows = [flow(choice) for _ in range(count)]
    return grow([(name, answers(lengths)) for name, lengths in flows])


def depth(tree):
    """Tests on the longest path."""
    return 0 if isinstance(tree, str) else 1 + max(map(depth, tree[1:]))
