"""Token vectors in a few bits: the same everywhere, and near enough to what they were."""

from hashlib import sha256
from itertools import pairwise
from math import erf, exp, pi, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from corpus.embedders import colbert
from corpus.embedders.colbert import TokenCodec

DIMENSIONS = [384, 128, 96, 64, 13, 10, 2, 1]
BITS = [1, 2, 4]
# Root mean square of the error of an inner product of unit vectors of 384 numbers, and some more.
ERROR = {1: 0.042, 2: 0.020, 4: 0.0055}
# Of what is packed: were one to change, what databases hold would be compared with another thing.
DIGESTS = ["16db82d3", "59edfe0e", "7b6632da"]


def unit_vectors(count: int, dimension: int, seed: int = 0) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    unit: NDArray[np.float32] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_the_rotation_keeps_inner_products(dimension: int) -> None:
    vectors = unit_vectors(20, dimension)
    turned = TokenCodec(dimension, 2).rotate(vectors)
    np.testing.assert_allclose(turned @ turned.T, vectors @ vectors.T, atol=2e-6)


def test_a_vector_of_one_number_is_spread_over_all() -> None:
    turned = TokenCodec(384, 2).rotate(np.eye(384, dtype=np.float32))
    # Of 384 numbers of one size each would be .051.
    assert np.abs(turned).max() < 0.06
    assert np.abs(turned).min() > 0.02


def test_what_is_packed_is_the_same_on_every_machine() -> None:
    # No number is near an edge between two levels, where machines may round differently.
    vectors = np.eye(384, dtype=np.float32)[:5]
    digests = [sha256(TokenCodec(384, bits).pack(vectors)).hexdigest()[:8] for bits in BITS]
    assert digests == DIGESTS


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_any_dimension_is_packed_in_whole_bytes(dimension: int, bits: int) -> None:
    codec = TokenCodec(dimension, bits)
    packed = codec.pack(unit_vectors(7, dimension))
    assert len(packed) == 7 * codec.token_bytes
    assert codec.token_bytes == (dimension * bits + 7) // 8
    assert codec.unpack(packed).shape == (7, dimension)
    assert codec.unpack(packed).dtype == np.float32


@pytest.mark.parametrize("bits", BITS)
def test_every_token_is_unpacked_by_itself(bits: int) -> None:
    codec = TokenCodec(384, bits)
    vectors = unit_vectors(5, 384)
    packed = codec.pack(vectors)
    alone = b"".join(codec.pack(vectors[i : i + 1]) for i in range(5))
    assert packed == alone
    np.testing.assert_array_equal(codec.unpack(packed)[2:3], codec.unpack(codec.pack(vectors[2:3])))


@pytest.mark.parametrize("bits", BITS)
def test_inner_products_are_right_in_the_mean_and_near(bits: int) -> None:
    codec = TokenCodec(384, bits)
    texts, noise = unit_vectors(2_000, 384), unit_vectors(2_000, 384, seed=1)
    asked = texts * 0.6 + noise * 0.8
    exact = np.einsum("nd,nd->n", asked, texts)
    found = np.einsum("nd,nd->n", codec.rotate(asked), codec.unpack(codec.pack(texts)))
    errors = found - exact
    assert np.sqrt((errors**2).mean()) < ERROR[bits]
    assert abs(errors.mean()) < ERROR[bits] / 10


@pytest.mark.parametrize("bits", BITS)
def test_levels_are_those_of_least_error_for_a_gaussian(bits: int) -> None:
    """Lloyd and Max: an edge lies between two levels, a level is the mean of what is near it."""
    positive = np.array(colbert._LEVELS[bits])
    edges = [0.0, *((positive[1:] + positive[:-1]) / 2), np.inf]

    def density(x: float) -> float:
        return exp(-x * x / 2) / sqrt(2 * pi)

    def below(x: float) -> float:
        return erf(x / sqrt(2)) / 2

    shares = [below(b) - below(a) for a, b in pairwise(edges)]
    means = [
        (density(a) - density(b)) / share
        for (a, b), share in zip(pairwise(edges), shares, strict=True)
    ]
    np.testing.assert_allclose(positive, means, atol=2e-3)
    kept = sqrt(2 * sum(share * level**2 for share, level in zip(shares, positive, strict=True)))
    assert abs(kept - colbert._QUANTIZED_COSINE[bits]) < 1e-3


@pytest.mark.parametrize("bits", BITS)
def test_a_text_is_as_good_as_its_best_tokens(bits: int) -> None:
    codec = TokenCodec(64, bits)
    texts = [unit_vectors(count, 64, seed=count) for count in (1, 9, 3, 30)]
    query = unit_vectors(6, 64, seed=99)
    found = codec.mean_best_matches(query, [codec.pack(each) for each in texts])
    unpacked = [codec.unpack(codec.pack(each)) for each in texts]
    expected = [(codec.rotate(query) @ each.T).max(axis=1).mean() for each in unpacked]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert found.dtype == np.float32


def test_more_texts_than_a_block_are_all_judged_and_none_have_no_scores() -> None:
    codec = TokenCodec(64, 2)
    packed = [codec.pack(unit_vectors(2, 64, seed=seed)) for seed in range(70)]
    query = unit_vectors(3, 64, seed=99)
    found = codec.mean_best_matches(query, packed)
    alone = [codec.mean_best_matches(query, [each])[0] for each in packed]
    np.testing.assert_allclose(found, alone, atol=1e-6)
    assert TokenCodec(64, 2).mean_best_matches(unit_vectors(3, 64), []).shape == (0,)
