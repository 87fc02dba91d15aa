"""Terms of a table as rules write them: names of columns, or of features where a column has more than one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from quadric.estimators.constraints import Vocabulary
from quadric.geometry.terms import quoted_factors, quoted_term, term_factors, term_index, term_name
from quadric.tables import TableEncoder


def expanded(encoder: TableEncoder, terms: Iterable[str]) -> list[str]:
    """Terms with columns of categories replaced by each of their features: "home", "home*" and "home*age".

    Parameters
    ----------
    encoder : fitted TableEncoder
    terms : iterable of str
    """
    features = set(encoder.get_feature_names_out().tolist())
    blocks = {
        name: [feature.name for feature in encoder.features_ if feature.input == i]
        for i, name in enumerate(encoder.input_names_)
        if name not in features
    }
    out: list[str] = []
    for term in terms:
        quoted = quoted_factors(term)
        if quoted is not None and {*quoted} <= {"", *features, *blocks}:
            out += map(quoted_term, product(*(blocks.get(factor, [factor]) for factor in quoted)))
            continue
        first, star, second = term.partition("*")
        firsts, seconds = blocks.get(first, [first]), blocks.get(second, [second])
        out += [f"{a}{star}{b}" for a in firsts for b in seconds]
    return out


class TermTexts:
    """One text for each term of a table, which rules read as that term and no other.

    Parameters
    ----------
    encoder : fitted TableEncoder
    """

    def __init__(self, encoder: TableEncoder) -> None:
        self._encoder = encoder
        self._names = [feature.name for feature in encoder.features_]
        self._vocabulary = Vocabulary(self._names)
        # most names can hardly be taken for something else
        self._is_clear = not any("*" in name or '"' in name or name.endswith("^2") for name in self._names)

    def text(self, term: int) -> str:
        """As people read it, but with its features in double quotes where that could mean something else.

        Parameters
        ----------
        term : int
            Its position in z.

        Returns
        -------
        str
        """
        left, right = (int(factor[term]) for factor in term_factors(len(self._names)))
        plain = term_name(self._names, left, right)
        if self._is_clear or self._terms(plain) == {term}:
            return plain
        return quoted_term([self._names[left], *([self._names[right]] if right >= 0 else [])])

    def alone(self, feature: int) -> str:
        """The text of a feature's linear term."""
        return self.text(term_index(feature, None, len(self._names)))

    def square(self, feature: int) -> str:
        """The text of a feature's square."""
        return self.text(term_index(feature, feature, len(self._names)))

    def products(self, feature: int) -> str:
        """The text for all products of a feature with others."""
        name = self._names[feature]
        return f"{name}*" if self._is_clear else quoted_term([name, ""])

    def settled(self, text: str) -> str:
        """The one text of the term that a text means; the same text where it means several terms or none.

        Parameters
        ----------
        text : str

        Returns
        -------
        str
        """
        terms = self._terms(text)
        return self.text(*terms) if len(terms) == 1 else text

    def _terms(self, text: str) -> set[int]:
        return {term for each in expanded(self._encoder, [text]) for term in self._vocabulary.meanings(each)}
