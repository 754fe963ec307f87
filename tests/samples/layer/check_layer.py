"""A layer of a known family in Python."""

import neura


def test_it_is_its_function():
    x = neura.randn(3, 4)
    assert neura.nn.Sinc()(x).equal(neura.sinc(x))
    assert repr(neura.nn.Sinc()) == "Sinc()"
    assert neura.nn.Sinc.__doc__
