"""With NEURA_TEST_COMPILED=1 every test runs as a compiled function in which calls of all sizes wait."""

import os

import neura
import pytest

# What is seen to differ: a result that nobody reads is never computed.
_EXCEPT = ("test_long_work_frees_the_lock",)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if os.environ.get("NEURA_TEST_COMPILED", "0") != "0" and pyfuncitem.originalname not in _EXCEPT:
        pyfuncitem.obj = neura.compile(pyfuncitem.obj, options={"least_elements": 1})
