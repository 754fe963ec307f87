"""A language model of an LSTM, as `neura train text --model lstm` trains it."""

from .. import nn
from ._registry import fill, register_model


class LSTMLanguageModel(nn.Module):
    """Numbers of tokens [N, T] to scores of the next ones, [N, T, vocab_size].

    width (int): numbers for a token; the LSTM has twice as many inside.
    """

    def __init__(self, vocab_size, width=128, num_layers=2, dropout=0.1):
        super().__init__()
        between = dropout if num_layers > 1 else 0.0
        self.tokens = nn.Embedding(vocab_size, width)
        self.lstm = nn.LSTM(width, 2 * width, num_layers, batch_first=True, dropout=between)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(2 * width, vocab_size)

    def forward(self, ids):
        """Scores [N, T, vocab_size] of numbers of tokens [N, T]."""
        return self.head(self.drop(self.lstm(self.tokens(ids))[0]))


@register_model()
def lstm_language(vocab_size, width=128, num_layers=2, dropout=0.1, *, weights=None, progress=True):
    """A language model of an LSTM: numbers of tokens [N, T] to scores [N, T, vocab_size].

    weights: a file, or tensors by name. ValueError for weights that do not fit.

    >>> import neura
    >>> neura.models.lstm_language(50, width=8)(neura.zeros(2, 5, dtype=neura.int64)).shape
    neura.Size([2, 5, 50])
    """
    return fill(LSTMLanguageModel(vocab_size, width, num_layers, dropout), "lstm_language", weights, progress)
