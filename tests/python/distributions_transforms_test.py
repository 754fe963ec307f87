"""Transforms: round trips, determinants against autograd's Jacobian, shapes, caches; constraints and their registry."""

import math
import pickle

import neura
import pytest
from neura import distributions as D
from neura.distributions import constraints as C
from neura.distributions import utils


def t(value):
    return neura.tensor(value, dtype=neura.float64)


X = t([[0.3, -1.2, 2.0], [0.7, 0.1, -0.4]])
POSITIVE = X.abs() + 0.1
MATRIX = t([[0.3, 0.5, -1.0], [0.2, -0.7, 0.4], [1.1, 0.6, 0.2]])

BIJECTIONS = [  # transform, values
    (D.ExpTransform(), X),
    (D.PowerTransform(t(2.5)), POSITIVE),
    (D.PowerTransform(t([-1.0, 0.5, 3.0])), POSITIVE),
    (D.SigmoidTransform(), X),
    (D.TanhTransform(), X),
    (D.SoftplusTransform(), X),
    (D.AffineTransform(t(1.5), t([-2.0, 0.5, 3.0])), X),
    (D.AffineTransform(1.5, -2.0, event_dim=1), X),
    (D.StickBreakingTransform(), X),
    (D.CorrCholeskyTransform(), X),
    (D.CumulativeDistributionTransform(D.Normal(t(0.5), t(2.0))), X),
    (D.ReshapeTransform((3,), (3, 1)), X),
    (D.IndependentTransform(D.ExpTransform(), 1), X),
    (D.ComposeTransform([D.AffineTransform(0.5, -2.0), D.ExpTransform()]), X),
    (D.ComposeTransform([D.TanhTransform(), D.StickBreakingTransform()]), X),
    (D.CatTransform([D.ExpTransform(), D.SigmoidTransform()], dim=-1, lengths=[2, 1]), X),
    (D.StackTransform([D.ExpTransform(), D.identity_transform, D.TanhTransform()], dim=-1), X),
    (D.ExpTransform().inv, POSITIVE),
    (D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)]).inv, POSITIVE + 1),
    (D.identity_transform, X),
]
OTHERS = [
    (D.AbsTransform(), POSITIVE),
    (D.SoftmaxTransform(), X.log_softmax(-1)),
    (D.LowerCholeskyTransform(), MATRIX.tril()),
    (D.PositiveDefiniteTransform(), MATRIX.tril()),
]


def kind(pair):
    return repr(pair[0]).replace("\n", "")


def test_every_transform_is_tried():
    names = " ".join(map(kind, BIJECTIONS + OTHERS))
    for name in D.transforms.__all__:
        assert name in names or name in ("Transform", "identity_transform"), name


@pytest.mark.parametrize("pair", BIJECTIONS + OTHERS, ids=kind)
def test_round_trips(pair):
    transform, x = pair
    y = transform(x)
    assert ((transform.inv(y) - x).abs() < 1e-9).all()
    assert transform.inv.inv is transform or transform.inv.inv == transform
    assert transform.forward_shape(x.shape) == y.shape and transform.inverse_shape(y.shape) == x.shape
    assert transform.codomain.check(y).all() and transform.domain.check(x).all()
    assert transform == transform and transform != D.AffineTransform(17.0, 3.0)


def jacobian_log_det(transform, x):
    """log |det| of the Jacobian between as many free numbers as x has, by autograd."""
    matrix = neura.autograd.functional.jacobian(lambda v: free(transform(v)), x)
    return neura.linalg.slogdet(matrix.reshape((x.numel(), x.numel())))[1]


def free(y):
    """The elements that are free: all but the last of probabilities, those below the diagonal of a correlation."""
    if y.dim() == 2 and y.shape[0] == y.shape[1] == 3:
        return utils.tril_matrix_to_vec(y, diag=-1)
    return y[..., :3]


@pytest.mark.parametrize("pair", BIJECTIONS, ids=kind)
def test_determinants_are_those_of_the_jacobian(pair):
    transform, x = pair
    got = transform.log_abs_det_jacobian(x, transform(x))
    for row in range(2):
        each = got[row].sum() if got.dim() > 1 else got[row]
        assert (each - jacobian_log_det(transform, x[row])).abs() < 1e-9
    back = transform.inv.log_abs_det_jacobian(transform(x), x)
    assert (back + got).abs().max() < 1e-12


@pytest.mark.parametrize("pair", OTHERS, ids=kind)
def test_what_is_no_bijection_has_no_determinant(pair):
    transform, x = pair
    assert not transform.bijective
    with pytest.raises(neura.errors.NotImplementedError, match="has no log_abs_det_jacobian"):
        transform.log_abs_det_jacobian(x, transform(x))


def test_signs():
    assert D.ExpTransform().sign == 1 and D.AffineTransform(0.0, -2.0).sign == -1
    assert D.AffineTransform(0.0, t([-2.0, 3.0])).sign.tolist() == [-1.0, 1.0]
    assert D.PowerTransform(t(-2.0)).sign == -1
    assert D.ComposeTransform([D.AffineTransform(0.0, -2.0), D.ExpTransform(), D.AffineTransform(1.0, -1.0)]).sign == 1
    with pytest.raises(NotImplementedError, match="SoftmaxTransform: has no sign"):
        D.SoftmaxTransform().sign


def test_a_cache_gives_back_the_value_itself():
    far = t([50.0, 800.0])  # tanh and sigmoid cannot be inverted there
    for plain in (D.SigmoidTransform(), D.TanhTransform(), D.AffineTransform(t(0.0), t(1.0))):
        cached = plain.with_cache()
        assert cached.inv(cached(far)) is far and cached(far) is cached(far)
        assert plain.inv(plain(far)) is not far and plain.with_cache(0) is plain
    both = D.ComposeTransform([D.AffineTransform(0.0, 1.0), D.TanhTransform()], cache_size=1)
    assert both.inv(both(far)) is far
    assert both.with_cache(0)._cache_size == 0 and both.inv is both.inv
    with pytest.raises(ValueError, match="expected cache_size 0 or 1, got 2"):
        D.ExpTransform(cache_size=2)


def test_equality():
    assert D.ExpTransform() == D.ExpTransform() != D.SigmoidTransform()
    assert D.AffineTransform(1.0, t([2.0])) == D.AffineTransform(t(1.0), 2.0) != D.AffineTransform(1.0, 3.0)
    assert D.PowerTransform(t(2.0)) == D.PowerTransform(2.0) and D.ExpTransform().inv == D.ExpTransform().inv
    assert D.ComposeTransform([D.ExpTransform()]) == D.ComposeTransform([D.ExpTransform()])


def test_transforms_are_pickled():
    transform = D.ComposeTransform([D.AffineTransform(t(1.0), t(2.0)), D.ExpTransform().inv.inv], cache_size=1)
    transform(X)
    again = pickle.loads(pickle.dumps(transform))
    assert again == transform and (again(X) == transform(X)).all()


def test_cat_and_stack_take_other_dimensions():
    cat = D.CatTransform([D.ExpTransform(), D.identity_transform], dim=0, lengths=[1, 1])
    assert (cat(X)[0] == X[0].exp()).all() and (cat(X)[1] == X[1]).all()
    assert cat.log_abs_det_jacobian(X, cat(X)).shape == X.shape
    stack = D.StackTransform([D.ExpTransform(), D.TanhTransform()])
    assert (stack(X)[1] == X[1].tanh()).all()
    with pytest.raises(
        neura.errors.ShapeError, match=r"StackTransform: expected size 2 in dimension 0, got shape \[3\]"
    ):
        stack(t([1.0, 2.0, 3.0]))
    with pytest.raises(neura.errors.ShapeError, match=r"CatTransform: expected size 2 in dimension 0, got shape \[3\]"):
        cat(t([1.0, 2.0, 3.0]))


def test_errors_of_shapes():
    with pytest.raises(neura.errors.ValueError, match="ReshapeTransform: expected shapes of as many elements"):
        D.ReshapeTransform((2, 3), (5,))
    with pytest.raises(neura.errors.ShapeError, match=r"expected a shape that ends in \[4\], got \[2, 3\]"):
        D.ReshapeTransform((4,), (2, 2))(X)
    with pytest.raises(neura.errors.ShapeError, match=r"expected n \* \(n - 1\) / 2 numbers, got 4"):
        D.CorrCholeskyTransform().forward_shape((4,))
    with pytest.raises(neura.errors.ShapeError, match="StickBreakingTransform: expected at least 1 dimensions"):
        D.StickBreakingTransform().forward_shape(())
    with pytest.raises(neura.errors.ShapeError, match="IndependentTransform: expected at least 1 dimensions"):
        D.IndependentTransform(D.ExpTransform(), 1)(t(1.0))


CHECKS = [  # constraint, values, which of them are in it
    (C.boolean, t([0.0, 1.0, 0.5]), [True, True, False]),
    (C.one_hot, t([[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]), [True, False, False]),
    (C.nonnegative_integer, t([0.0, 3.0, -1.0, 1.5]), [True, True, False, False]),
    (C.positive_integer, t([0.0, 3.0, 1.5]), [False, True, False]),
    (C.integer_interval(1, 3), t([0.0, 1.0, 3.0, 4.0, 2.5]), [False, True, True, False, False]),
    (C.multinomial(3), t([[1.0, 2.0], [2.0, 2.0], [-1.0, 2.0]]), [True, False, False]),
    (C.real, t([1.0, math.inf, math.nan]), [True, True, False]),
    (C.real_vector, t([[1.0, 2.0], [math.nan, 1.0]]), [True, False]),
    (C.positive, t([0.0, 1.0]), [False, True]),
    (C.nonnegative, t([0.0, -1.0, math.nan]), [True, False, False]),
    (C.greater_than(t([1.0, 2.0])), t([2.0, 2.0]), [True, False]),
    (C.greater_than_eq(2.0), t([1.0, 2.0]), [False, True]),
    (C.less_than(2.0), t([1.0, 2.0]), [True, False]),
    (C.unit_interval, t([-0.1, 0.0, 1.0, 1.1]), [False, True, True, False]),
    (C.interval(1.0, 2.0), t([0.0, 2.0]), [False, True]),
    (C.half_open_interval(1.0, 2.0), t([1.0, 2.0]), [True, False]),
    (C.simplex, t([[0.3, 0.7], [0.3, 0.8], [-0.5, 1.5]]), [True, False, False]),
    (C.lower_triangular, t([[[1.0, 0.0], [2.0, 0.0]], [[1.0, 1.0], [0.0, 1.0]]]), [True, False]),
    (C.lower_cholesky, t([[[1.0, 0.0], [2.0, 0.5]], [[1.0, 0.0], [2.0, 0.0]]]), [True, False]),
    (C.corr_cholesky, t([[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.9]]]), [True, False]),
    (C.square, t([[[1.0, 0.0], [0.6, 0.8]]]), [True]),
    (C.square, X, False),
    (C.symmetric, t([[[1.0, 0.5], [0.5, 1.0]], [[1.0, 0.5], [0.6, 1.0]]]), [True, False]),
    (C.positive_semidefinite, t([[[1.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]]]), [True, False]),
    (C.positive_definite, t([[[1.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]]]), [True, False]),
    (C.independent(C.positive, 1), t([[1.0, 2.0], [1.0, -2.0]]), [True, False]),
    (C.cat([C.positive, C.less_than(0.0)], 0, [2, 1]), t([1.0, -1.0, -1.0]), [True, False, True]),
    (C.stack([C.positive, C.less_than(0.0)], -1), t([[1.0, -1.0], [-1.0, 1.0]]), [[True, True], [False, False]]),
    (C.MixtureSameFamilyConstraint(C.interval(t([0.0, 3.0]), t([1.0, 4.0]))), t([0.5, 2.0, 3.5]), [True, False, True]),
]


@pytest.mark.parametrize("case", CHECKS, ids=lambda case: repr(case[0])[:40])
def test_constraints_know_their_values(case):
    constraint, values, within = case
    assert constraint.check(values).tolist() == within
    assert repr(constraint).endswith(")")


def test_every_constraint_is_tried():
    assert set(C.__all__) - {"Constraint", "dependent", "dependent_property", "is_dependent"} <= {
        *(name for name in C.__all__ for case in CHECKS if case[0] is getattr(C, name)),
        *(name for name in C.__all__ for case in CHECKS if type(case[0]) is getattr(C, name)),
    }


def test_constraints_that_depend():
    assert C.is_dependent(C.dependent) and C.is_dependent(D.Uniform.support) and not C.is_dependent(C.positive)
    assert not C.is_dependent(D.Uniform(0.0, 1.0).support)
    assert D.Uniform.support.event_dim == 0 and not D.Uniform.support.is_discrete
    with pytest.raises(neura.errors.NotImplementedError, match="event_dim is not known"):
        D.Independent.support.event_dim
    with pytest.raises(neura.errors.ValueError, match="expected a set that is known"):
        C.dependent.check(X)
    with pytest.raises(neura.errors.ValueError, match="independent: expected 0 dimensions or more, got -1"):
        C.independent(C.real, -1)
    with pytest.raises(neura.errors.ValueError, match="cat: expected constraints and as many lengths, got 1 and 2"):
        C.cat([C.real], 0, [1, 2])


TARGETS = [
    C.real,
    C.positive,
    C.nonnegative,
    C.greater_than(t(-2.0)),
    C.less_than(3.0),
    C.unit_interval,
    C.interval(-1.0, 3.0),
    C.half_open_interval(0.5, 0.75),
    C.simplex,
    C.corr_cholesky,
    C.independent(C.positive, 1),
    C.stack([C.positive, C.real, C.unit_interval], -1),
    C.cat([C.positive, C.unit_interval], -1, [1, 2]),
]
MATRICES = [C.lower_cholesky, C.positive_definite, C.positive_semidefinite]


@pytest.mark.parametrize("constraint", TARGETS + MATRICES, ids=repr)
def test_registries_lead_to_the_constraint(constraint):
    x = MATRIX if constraint in MATRICES else X
    for registry in (D.biject_to, D.transform_to):
        if registry is D.biject_to and constraint in MATRICES:
            with pytest.raises(neura.errors.NotImplementedError, match="has no transform to it"):
                registry(constraint)
            continue
        transform = registry(constraint)
        y = transform(x)
        assert constraint.check(y).all()
        assert ((transform(transform.inv(y)) - y).abs() < 1e-9).all()
        assert transform.bijective or registry is D.transform_to


def test_registries_take_more():
    class Even(C.Constraint):
        pass

    @D.biject_to.register(Even)
    def to_even(constraint):
        return D.AffineTransform(0.0, 2.0)

    assert D.biject_to(Even())(t(3.0)) == 6.0
    with pytest.raises(TypeError, match="register: expected a constraint or its class, got 3"):
        D.transform_to.register(3, to_even)


def test_triangles_as_vectors():
    for diag in (-2, -1, 0, 1, 2):
        vector = utils.tril_matrix_to_vec(MATRIX, diag)
        assert vector.tolist() == [MATRIX[i, j].item() for i in range(3) for j in range(3) if j - i <= diag]
    for diag in (-1, 0):
        again = utils.vec_to_tril_matrix(utils.tril_matrix_to_vec(neura.stack([MATRIX, MATRIX + 1]), diag), diag)
        assert (again == neura.stack([MATRIX, MATRIX + 1]).tril(diag)).all()
    with pytest.raises(neura.errors.ShapeError, match="expected as many elements as a triangle has, got 4"):
        utils.vec_to_tril_matrix(t([1.0, 2.0, 3.0, 4.0]))
