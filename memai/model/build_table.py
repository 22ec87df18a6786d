"""The numbers of building a model: weights, the map from the teacher, training, int8."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]

FREQUENCY_SCALE = 1e-3
"""The a of smooth inverse frequency, a / (a + p), as in Arora et al. 2017."""

BATCH = 1024
TEMPERATURE = 0.05
"""What cosines are divided by before a softmax, as is usual for MiniLM's family."""

LOSS_WEIGHTS = (4.0, 1.0, 0.3)
"""Of the distance from the teacher, of the similarities in a batch, of the pairs."""

LEFT_OUT = 0.1
"""Share of a text's tokens left out at each step, so that no one token carries it."""

VECTOR_RATE = 1.5
"""Rate of plain SGD for the vectors: a rare token moves in proportion to what is said of it, where
Adam would move it as far as a common one."""

WEIGHT_RATE = 1e-2
WARM_UP = 50
"""Steps until the weights' rate is reached."""

REPORT_EVERY = 50


class Bags:
    """Texts as the ids of their tokens, end to end: text i is tokens[starts[i]:starts[i + 1]]."""

    def __init__(self, texts: Sequence[Sequence[int]]) -> None:
        self.sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])
        ids = (token for text in texts for token in text)
        self.tokens = np.fromiter(ids, np.int64, int(self.starts[-1]))

    def take(self, texts: Ids) -> tuple[Ids, Ids]:
        """Return the tokens of some texts, end to end, and where each text starts in them."""
        sizes = self.sizes[texts]
        starts = np.cumsum(sizes) - sizes
        shifts = np.repeat(self.starts[texts] - starts, sizes)
        return self.tokens[np.arange(len(shifts)) + shifts], starts

    def sums(self, vectors: Floats) -> Floats:
        """Return for each text the sum of its tokens' vectors, (texts, dim). No text is empty."""
        total = np.empty((len(self.sizes), vectors.shape[1]), np.float32)
        for start in range(0, len(total), BATCH):
            tokens, starts = self.take(np.arange(start, min(start + BATCH, len(total))))
            total[start : start + BATCH] = np.add.reduceat(vectors[tokens], starts)
        return total


class Paired(NamedTuple):
    """The two sides of one source's pairs: text i of `a` belongs to text i of `b`."""

    a: Bags
    b: Bags


def unit(vectors: Floats) -> Floats:
    """Return vectors at unit length."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Floats = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
    return units


def inverse_frequency(counts: NDArray[np.int64]) -> Floats:
    """Return the smooth inverse frequency of each token, in (0, 1), one added to each count."""
    share = (counts + 1) / (counts + 1).sum()
    weights: Floats = (FREQUENCY_SCALE / (FREQUENCY_SCALE + share)).astype(np.float32)
    return weights


def principal_axes(vectors: Floats, dim: int) -> Floats:
    """Return the `dim` directions that keep most of some vectors, (width, dim), orthonormal."""
    _, axes = np.linalg.eigh((vectors.T @ vectors).astype(np.float64))
    return axes[:, : -dim - 1 : -1].astype(np.float32)


def ridge(inputs: Floats, targets: Floats) -> Floats:
    """Return the matrix that takes inputs (n, width) nearest to targets (n, dim).

    A hundredth of the inputs' mean square along an axis holds it back where they say little.
    """
    width = inputs.shape[1]
    strength = 0.01 * len(inputs) / width
    squares: Floats = inputs.T @ inputs + strength * np.eye(width, dtype=np.float32)
    solution: Floats = np.linalg.solve(squares, inputs.T @ targets)
    return solution


def quantise(rows: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return rows as int8, each by its own largest number, and the scales that undo it.

    The scales are brought to a mean of 1: only their proportions matter to a unit vector.
    """
    scales = np.abs(rows).max(axis=1) / 127
    scales[scales == 0] = 1
    return np.rint(rows / scales[:, None]).astype(np.int8), scales / scales.mean()


class Lessons(NamedTuple):
    """What a model is trained on."""

    texts: Bags
    targets: Floats
    """The teacher's vectors of the texts, (texts, width), unit length."""

    axes: Floats
    """The teacher's principal axes, (width, dim): what the model's vectors should be on."""

    pairs: Sequence[Paired]


class Training:
    """A table of token vectors and weights in gradient descent.

    Three losses are added up: how far a text's vector is from the teacher's; how far the
    similarities in a batch diverge from the teacher's (Passalis and Tefas 2018); and how badly the
    two sides of a pair find one another in a batch (InfoNCE, van den Oord et al. 2018).
    """

    def __init__(self, vectors: Floats, weights: Floats, lessons: Lessons, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        self._random = np.random.default_rng(seed)
        self._lessons = lessons
        self._axes = torch.tensor(lessons.axes)
        self._vectors = torch.tensor(vectors, requires_grad=True)
        self._log_weights = torch.tensor(np.log(weights), requires_grad=True)

    def run(self, steps: int) -> Floats:
        """Return each token's vector times its weight after some steps."""
        import torch
        from torch.optim.lr_scheduler import LambdaLR

        def fall(step: int) -> float:
            return max(0.02, 1 - step / steps)

        of_vectors = torch.optim.SGD([self._vectors], lr=VECTOR_RATE, momentum=0.9)
        of_weights = torch.optim.Adam([self._log_weights], lr=WEIGHT_RATE, betas=(0.9, 0.99))
        schedules = [
            LambdaLR(of_vectors, fall),
            LambdaLR(of_weights, lambda step: min(1, (step + 1) / WARM_UP) * fall(step)),
        ]
        seen, since = np.zeros(len(LOSS_WEIGHTS)), time.monotonic()
        for step in range(1, steps + 1):
            losses = torch.stack(self._losses())
            for optimiser in (of_vectors, of_weights):
                optimiser.zero_grad()
            (losses @ torch.tensor(LOSS_WEIGHTS)).backward()
            for part in (of_vectors, of_weights, *schedules):
                part.step()
            seen += losses.detach().numpy()
            if step % REPORT_EVERY == 0:
                means = " ".join(f"{mean:.4f}" for mean in seen / REPORT_EVERY)
                each = (time.monotonic() - since) / REPORT_EVERY
                print(f"  step {step}: losses {means}, {each:.2f} s a step", flush=True)
                seen[:], since = 0, time.monotonic()
        with torch.no_grad():
            rows: Floats = (self._vectors * self._log_weights.exp()[:, None]).numpy()
        return rows

    def _losses(self) -> list[Any]:
        import torch
        from torch.nn.functional import cosine_similarity, kl_div

        texts, targets, _, pairs = self._lessons
        chosen = self._random.choice(len(targets), min(BATCH, len(targets)), replace=False)
        ours, teachers = self._embed(texts, chosen), torch.from_numpy(targets[chosen])
        half = len(chosen) // 2  # the cost of comparing grows with the square
        return [
            1 - cosine_similarity(ours, teachers @ self._axes).mean(),
            kl_div(
                _similarities(ours[:half]),
                _similarities(teachers[:half]),
                log_target=True,
                reduction="batchmean",
            ),
            self._pair_loss(pairs) if pairs else torch.zeros(()),
        ]

    def _pair_loss(self, pairs: Sequence[Paired]) -> Any:
        import torch
        from torch.nn.functional import cross_entropy

        batch = choose_pairs(self._random, [len(source.a.sizes) for source in pairs])
        a = torch.cat([self._embed(pairs[source].a, chosen) for source, chosen in batch])
        b = torch.cat([self._embed(pairs[source].b, chosen) for source, chosen in batch])
        scores, own = a @ b.T / TEMPERATURE, torch.arange(len(a))
        return (cross_entropy(scores, own) + cross_entropy(scores.T, own)) / 2

    def _embed(self, bags: Bags, chosen: Ids) -> Any:
        import torch
        from torch.nn.functional import embedding_bag, normalize

        tokens, starts = map(torch.from_numpy, bags.take(chosen))
        kept = (torch.rand(len(tokens)) > LEFT_OUT).float()
        shares = self._log_weights[tokens].exp() * kept
        total = embedding_bag(tokens, self._vectors, starts, mode="sum", per_sample_weights=shares)
        return normalize(total, eps=1e-6)


def _similarities(units: Any) -> Any:
    import torch
    from torch.nn.functional import log_softmax

    # A text's similarity to itself would drown all others.
    itself = torch.eye(len(units), dtype=torch.bool)
    return log_softmax((units @ units.T / TEMPERATURE).masked_fill(itself, -1e4), dim=1)


def choose_pairs(random: np.random.Generator, sizes: Sequence[int]) -> list[tuple[int, Ids]]:
    """Return a batch of pairs: sources by their number, each with the pairs chosen of it.

    Half of the batches are of one source alone, where the wrong answers are near. A source's share
    is by the square root of its size, so that a large one does not drown the others.
    """
    shares = np.sqrt(sizes) / np.sqrt(sizes).sum()
    if random.random() < 0.5:
        counts = random.multinomial(1, shares) * BATCH
    else:
        counts = random.multinomial(BATCH, shares)
    return [
        (source, random.choice(size, min(count, size), replace=False))
        for source, (size, count) in enumerate(zip(sizes, counts.tolist(), strict=True))
        if count
    ]
