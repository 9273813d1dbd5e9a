"""Hooks and embeddings, with dense and with sparse gradients."""

import paddle
from paddle import nn

from . import NO_PROGRAM, Case, Scenario, converted


class _Embedded(nn.Layer):
    def __init__(self, sparse, hooked):
        super().__init__()
        constant = nn.initializer.Constant(0.5)
        self.embedding = nn.Embedding(4, 2, sparse=sparse, weight_attr=constant)
        self.hooked = hooked

    def forward(self, tokens):
        """Hook what the embedding returns; one token comes twice."""
        rows = self.embedding(tokens)
        if self.hooked:
            rows.register_hook(lambda g: g * g)
        return rows * rows


class Dense(_Embedded):
    """The embedding's gradient is dense."""

    def __init__(self):
        super().__init__(sparse=False, hooked=True)


class Sparse(_Embedded):
    """The embedding's gradient is a list of rows."""

    def __init__(self):
        super().__init__(sparse=True, hooked=True)


class SparseUnhooked(_Embedded):
    """Sparse, without a hook."""

    def __init__(self):
        super().__init__(sparse=True, hooked=False)


def on_the_embedding_matrix(mode):
    """A hook on the matrix itself, which gets its dense gradient."""
    seen = []
    embedding = nn.Embedding(3, 1, weight_attr=nn.initializer.Constant(0.5))
    embedding.weight.register_hook(lambda g: seen.append(g.numpy().tolist()))
    embedding.weight.register_hook(lambda g: g * g)
    run = converted(embedding, mode)
    (3 * run(paddle.to_tensor([1, 1, 2]))).sum().backward()
    return [seen, embedding.weight.grad.tolist()]


TOKENS = [1, 1, 2]
ROWS = {"embedding.weight": [[0.0, 0.0], [2.0, 2.0], [1.0, 1.0], [0.0, 0.0]]}
ENTRIES = [
    Case(Dense, (TOKENS,), ROWS, not_applicable=NO_PROGRAM),
    Case(Sparse, (TOKENS,), ROWS, control=SparseUnhooked, not_applicable=NO_PROGRAM),
    Scenario(on_the_embedding_matrix, [[[[0.0], [6.0], [3.0]]], [[0.0], [36.0], [9.0]]]),
]
